/**
 * How a search engine is opened: the port between what registries ask for and the stores of `opensearch/` and
 * `elasticsearch/`.
 */
import type { BackendStore } from './backend-store.ts'

export type EngineKind = 'opensearch' | 'elasticsearch'

/** As in the Secret of a registry. Never logged, never part of a message. */
export interface EngineCredentials {
  readonly username?: string
  readonly password?: string
  readonly apiKey?: string
  /** PEM; besides the system's authorities. */
  readonly ca?: string
}

/** Where an engine is and who we are there. */
export interface EngineEndpoint {
  readonly kind: EngineKind
  /** Of one engine, without credentials in them; at least one. */
  readonly addresses: readonly string[]
  readonly credentials: EngineCredentials
}

export interface EngineStoreOptions extends EngineEndpoint {
  /** Whose indices they are: several installations may write to one engine. `INSTALLATION` of search-engine/index-names.ts. */
  readonly installation: string
}

/**
 * Asks the engine who it is and makes what it lacks (templates, aliases); two that do so at once are no fault. Rejects with
 * `BackendStoreError` where it does not answer or is another one. Documents are written by the one who leads.
 */
export type OpenEngineStore = (options: EngineStoreOptions) => Promise<BackendStore>

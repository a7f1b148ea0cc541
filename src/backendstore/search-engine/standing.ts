/** What stands where a change was refused for its version, and whether the change is late. */
import { LRUCache } from 'lru-cache'
import type { Change } from '../backend-store.ts'
import type { Guard, Operation } from './bulk.ts'
import type { EngineClient } from './engine-client.ts'

/**
 * Deletes whose version is remembered, for as long as the engine knows that something stood there (`GC_DELETES`): an engine
 * does not tell the version of what is gone. About 150 B each.
 */
const DELETED = 50_000
const DELETED_MS = 5 * 60_000

interface StandingDocument {
  readonly found: boolean
  readonly _seq_no?: number
  readonly _primary_term?: number
  readonly _source?: { readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string } }
}

export class Standing {
  readonly #client: EngineClient
  readonly #deleted = new LRUCache<string, string>({ max: DELETED, ttl: DELETED_MS })

  constructor(client: EngineClient) {
    this.#client = client
  }

  deleted(id: string, { resourceVersion }: Change): void {
    if (resourceVersion === undefined) this.#deleted.delete(id)
    else this.#deleted.set(id, resourceVersion)
  }

  forget(): void {
    this.#deleted.clear()
  }

  /** What each is to be tried against; undefined for one that is late. */
  async guards(operations: readonly Operation[]): Promise<(Guard | undefined)[]> {
    if (operations.length === 0) return []
    const { docs } = await this.#client.request<{ docs: readonly StandingDocument[] }>({
      method: 'POST',
      path: '/_mget',
      query: { _source_includes: 'metadata.uid,metadata.resourceVersion' },
      body: { docs: operations.map(({ index, id }) => ({ _index: index, _id: id })) },
    })
    return operations.map((operation, i) => this.#guard(operation, docs[i] ?? { found: false }))
  }

  #guard({ change, id }: Operation, standing: StandingDocument): Guard | undefined {
    if (!standing.found) {
      if (change.type === 'delete') return undefined
      return isNewer(this.#deleted.get(id), change.resourceVersion) ? undefined : { type: 'absent' }
    }
    const { uid, resourceVersion } = standing._source?.metadata ?? {}
    const same = change.type === 'delete' || change.uid === uid
    if (same && isNewer(resourceVersion, change.resourceVersion)) return undefined
    return { type: 'state', seqNo: standing._seq_no ?? 0, primaryTerm: standing._primary_term ?? 0 }
  }
}

/** Engines hold versions up to 2^63. */
const MAX_DIGITS = 18

/** A version that engines can compare: digits, as etcd counts. Undefined for any other. */
export function versionDigits(resourceVersion: string | undefined): string | undefined {
  if (resourceVersion === undefined || resourceVersion.length > MAX_DIGITS) return undefined
  return /^(?:0|[1-9][0-9]*)$/.test(resourceVersion) ? resourceVersion : undefined
}

export function isNewer(standing: string | undefined, version: string | undefined): boolean {
  const [a, b] = [versionDigits(standing), versionDigits(version)]
  return a !== undefined && b !== undefined && BigInt(a) > BigInt(b)
}

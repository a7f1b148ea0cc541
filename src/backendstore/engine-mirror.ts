/**
 * One engine and the writer that keeps it equal to what registries ask for. Nothing here waits for anything else: an engine
 * that is slow or dead holds up neither others nor the cache.
 */
import type { BackendStore } from './backend-store.ts'
import { ENGINE_BULK_LIMITS, type BulkWriterOptions, type BulkWriterStatus } from './bulk-options.ts'
import { BulkWriter } from './bulk-writer.ts'
import { placeOf, readAddresses } from './engine-address.ts'
import type { EngineCredentials, EngineKind, OpenEngineStore } from './engine-store.ts'
import { BackendStoreError } from './errors.ts'
import { ReopeningStore } from './reopening-store.ts'
import { EVERYTHING, scopeOf, type ScopedShard, type StoreScope } from './store-scope.ts'

export interface SecretRef {
  readonly namespace: string
  readonly name: string
}

export interface WantedStore {
  readonly kind: EngineKind
  /** At least one; may hold credentials. */
  readonly addresses: readonly string[]
  /** Undefined: those in the addresses, or none. */
  readonly secretRef: SecretRef | undefined
  /** Who asks for it; sorted. */
  readonly registries: readonly string[]
  readonly shards: readonly ScopedShard[] | 'all'
}

export type Place = Pick<WantedStore, 'kind' | 'addresses'>

export function isSameEngine(a: Place, b: Place): boolean {
  if (a.kind !== b.kind) return false
  const places = new Set(a.addresses.map(placeOf))
  return b.addresses.some((address) => places.has(placeOf(address)))
}

export interface MirrorParts extends Pick<
  BulkWriterOptions,
  'cache' | 'clock' | 'random' | 'logger' | 'metrics' | 'letters' | 'known'
> {
  readonly open: OpenEngineStore
  /** `EngineStoreOptions.installation`; rejects with `BackendStoreError` while that is not known. */
  readonly installation: () => Promise<string>
  /** Runs the task anew in each term that this replica leads, until the signal aborts. */
  readonly whileLeading: (task: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) => Promise<void>
  /** What is in a Secret, or why it cannot be told. */
  readonly credentials: (ref: SecretRef | undefined) => EngineCredentials | string
}

export class EngineMirror {
  readonly name: string
  readonly store: ReopeningStore
  readonly writer: BulkWriter
  readonly #parts: MirrorParts
  #wanted: WantedStore
  /** How it was last opened, to see whether that changed. In memory only. */
  #opening: string
  readonly #stopping = new AbortController()
  readonly #ended: Promise<void>
  #writing = false

  constructor(name: string, wanted: WantedStore, parts: MirrorParts) {
    this.name = name
    this.#parts = parts
    this.#wanted = wanted
    this.#opening = this.#howToOpen()
    this.store = new ReopeningStore({
      name,
      capabilities: { atomicBatches: false, shared: true },
      engine: true,
      open: () => this.#open(),
    })
    this.writer = new BulkWriter({ ...parts, store: this.store, scope: scopeFor(wanted), limits: ENGINE_BULK_LIMITS })
    this.#ended = parts.whileLeading((term) => this.#write(term), this.#stopping.signal)
  }

  get wanted(): WantedStore {
    return this.#wanted
  }

  /** False where another replica writes to it. */
  get writing(): boolean {
    return this.#writing
  }

  status(): BulkWriterStatus {
    return this.writer.status()
  }

  isEngineOf(other: Place): boolean {
    return isSameEngine(this.#wanted, other)
  }

  update(wanted: WantedStore): void {
    const before = this.#wanted
    this.#wanted = wanted
    if (wanted.shards !== before.shards) this.writer.rescope(scopeFor(wanted))
    this.reopenIfChanged()
  }

  /** Addresses or credentials may be others now. A Secret that goes with the last registry is as good as before. */
  reopenIfChanged(): void {
    const { registries, secretRef } = this.#wanted
    if (registries.length === 0 && typeof this.#parts.credentials(secretRef) === 'string') return
    const opening = this.#howToOpen()
    if (opening === this.#opening) return
    this.#opening = opening
    this.store.reopenWith(() => this.#open())
    this.writer.retryNow()
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('no longer written to'))
    await this.#ended
    await this.store.close()
    this.#parts.metrics.remove(this.name)
  }

  /** Whoever leads anew compares everything. */
  async #write(term: AbortSignal): Promise<void> {
    this.#writing = true
    await this.writer.run(term)
    this.#writing = false
  }

  #howToOpen(): string {
    const { kind, addresses, secretRef } = this.#wanted
    return JSON.stringify([kind, addresses, this.#parts.credentials(secretRef)])
  }

  async #open(): Promise<BackendStore> {
    const { kind, addresses, secretRef } = this.#wanted
    const secret = this.#parts.credentials(secretRef)
    if (typeof secret === 'string') throw new BackendStoreError('unauthorized', secret)
    const { urls, credentials } = readAddresses(addresses)
    const installation = await this.#parts.installation()
    return this.#parts.open({ kind, addresses: urls, credentials: { ...credentials, ...secret }, installation })
  }
}

function scopeFor({ shards }: WantedStore): StoreScope {
  return shards === 'all' ? EVERYTHING : scopeOf(shards)
}

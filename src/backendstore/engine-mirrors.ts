/**
 * The engines that registries name, as they are named now: mirrors that come, change and go. An engine that nobody names
 * any more is emptied, for a while as long as it does not answer, then left as it is.
 */
import { sleep } from '../util/sleep.ts'
import { EngineMirror, type MirrorParts, type SecretRef, type WantedStore } from './engine-mirror.ts'
import { placeOf } from './engine-address.ts'
import type { BulkWriterStatus } from './bulk-options.ts'

export interface StoreHealth extends BulkWriterStatus {
  readonly store: string
  /** False where another replica writes to it. */
  readonly writing: boolean
  readonly deadLetters: number
  /** Changes that wait to be written, by cluster. */
  readonly waiting: ReadonlyMap<string, number>
}

/** An engine that is to be emptied and does not answer for so long keeps what it has. */
const EMPTY_WITHIN_MS = 10 * 60_000

export class EngineMirrors {
  readonly #options: MirrorParts
  readonly #mirrors = new Set<EngineMirror>()
  readonly #leaving = new Map<EngineMirror, AbortController>()
  readonly #ending = new Set<Promise<void>>()
  #closed = false

  constructor(options: MirrorParts) {
    this.#options = options
  }

  /** In no particular order. */
  mirrors(): Iterable<EngineMirror> {
    return this.#mirrors
  }

  /** Secrets that are needed: also those of engines that are yet to be emptied. */
  secretRefs(): readonly SecretRef[] {
    const all = [...this.#mirrors, ...this.#leaving.keys()].map(({ wanted }) => wanted.secretRef)
    return all.filter((ref) => ref !== undefined)
  }

  /** From now on these are written to, and no others. */
  apply(wanted: readonly WantedStore[]): void {
    if (this.#closed) return
    const kept = new Set<EngineMirror>()
    for (const store of wanted) {
      const mirror = this.#existing(store, kept) ?? this.#create(store)
      kept.add(mirror)
      mirror.update(store)
    }
    for (const mirror of this.#mirrors) if (!kept.has(mirror)) this.#retire(mirror)
  }

  /** Secrets changed. */
  credentialsChanged(): void {
    for (const mirror of [...this.#mirrors, ...this.#leaving.keys()]) mirror.reopenIfChanged()
  }

  /** Of the engines that a registry names. */
  healthOf(registry: string): readonly StoreHealth[] {
    return [...this.#mirrors]
      .filter(({ wanted }) => wanted.registries.includes(registry))
      .map((mirror) => ({
        ...mirror.status(),
        waiting: mirror.writer.waiting(),
        store: mirror.name,
        writing: mirror.writing,
        deadLetters: this.#options.letters.count(mirror.name),
      }))
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const giveUp of this.#leaving.values()) giveUp.abort(new Error('shutting down'))
    await Promise.all([...this.#mirrors].map((mirror) => mirror.stop()))
    await Promise.all(this.#ending)
  }

  /** The mirror of that engine, also one that was about to leave. */
  #existing(store: WantedStore, taken: ReadonlySet<EngineMirror>): EngineMirror | undefined {
    for (const mirror of this.#mirrors) if (!taken.has(mirror) && mirror.isEngineOf(store)) return mirror
    for (const [mirror, giveUp] of this.#leaving) {
      if (!mirror.isEngineOf(store)) continue
      this.#leaving.delete(mirror)
      giveUp.abort(new Error('named again'))
      this.#mirrors.add(mirror)
      return mirror
    }
    return undefined
  }

  #create(store: WantedStore): EngineMirror {
    const mirror = new EngineMirror(this.#nameOf(store), store, this.#options)
    this.#mirrors.add(mirror)
    this.#options.logger.info({ store: mirror.name, registries: store.registries }, 'writing to another search engine')
    return mirror
  }

  /** Stays the same while the mirror lives. */
  #nameOf({ kind, addresses }: WantedStore): string {
    const taken = new Set([...this.#mirrors, ...this.#leaving.keys()].map(({ name }) => name))
    const name = `${kind}/${placeOf(addresses[0] ?? '')}`
    let unique = name
    for (let i = 2; taken.has(unique); i++) unique = `${name}#${i}`
    return unique
  }

  #retire(mirror: EngineMirror): void {
    const giveUp = new AbortController()
    this.#mirrors.delete(mirror)
    this.#leaving.set(mirror, giveUp)
    mirror.update({ ...mirror.wanted, registries: [], shards: [] })
    const end = this.#emptyAndStop(mirror, giveUp).finally(() => this.#ending.delete(end))
    this.#ending.add(end)
  }

  async #emptyAndStop(mirror: EngineMirror, giveUp: AbortController): Promise<void> {
    const { clock, logger, letters } = this.#options
    let emptied = false
    if (mirror.writing) {
      mirror.writer.empty()
      const late = sleep(EMPTY_WITHIN_MS, clock, giveUp.signal).catch(() => undefined)
      emptied = await Promise.race([mirror.writer.caughtUp().then(() => true), late.then(() => false)])
    }
    if (this.#leaving.get(mirror) !== giveUp) return // named again meanwhile
    this.#leaving.delete(mirror)
    giveUp.abort(new Error('no longer needed'))
    await mirror.stop()
    letters.removeStore(mirror.name)
    logger.info({ store: mirror.name, emptied }, 'a search engine that no registry names is no longer written to')
    // It may have been one of the others under another name.
    for (const other of this.#mirrors)
      if (emptied && other.wanted.kind === mirror.wanted.kind) other.writer.compareAll()
  }
}

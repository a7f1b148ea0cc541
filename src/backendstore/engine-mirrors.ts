/**
 * The engines that registries name, as they are named now: mirrors that come, change and go. An engine that nobody names
 * any more is emptied, tried for a day where it does not answer, then left as it is; by whoever leads, also where it lost
 * its last registry while nobody did (`engine-ledger.ts`).
 */
import { sleep } from '../util/sleep.ts'
import { EngineLedger, type NotedEngine, type Notes } from './engine-ledger.ts'
import {
  EngineMirror,
  isSameEngine,
  type MirrorParts,
  type Place,
  type SecretRef,
  type WantedStore,
} from './engine-mirror.ts'
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
const EMPTY_WITHIN_MS = 24 * 3_600_000

/** To be emptied at once; beyond, the one that waits longest is given up. */
const MAX_LEAVING = 8

export interface EngineMirrorsOptions extends MirrorParts {
  readonly notes: Notes
}

interface Leaving {
  readonly sinceMs: number
  readonly giveUp: AbortController
}

export class EngineMirrors {
  readonly #options: EngineMirrorsOptions
  readonly #ledger: EngineLedger
  readonly #mirrors = new Set<EngineMirror>()
  readonly #leaving = new Map<EngineMirror, Leaving>()
  /** Noted in an earlier term, until it is known what registries name. */
  readonly #noted = new Map<string, NotedEngine>()
  readonly #ending = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  readonly #noting: Promise<void>
  #leading = false
  /** What registries name; undefined: not known yet. */
  #named: readonly Place[] | undefined

  constructor(options: EngineMirrorsOptions) {
    this.#options = options
    const { notes, clock, logger } = options
    this.#ledger = new EngineLedger({ notes, clock, logger, onNoted: (name, engine) => this.#found(name, engine) })
    this.#noting = options.whileLeading((term) => this.#lead(term), this.#stop.signal)
  }

  /** In no particular order. */
  mirrors(): Iterable<EngineMirror> {
    return this.#mirrors
  }

  /** Secrets that are needed: also those of engines that are yet to be emptied. */
  secretRefs(): readonly SecretRef[] {
    const all = this.#mirrorsAndLeaving().map(({ wanted }) => wanted.secretRef)
    return all.filter((ref) => ref !== undefined)
  }

  /**
   * From now on these are written to, and no others. `named`: all that registries name, also what is not written to;
   * undefined: they have not been read yet.
   */
  apply(wanted: readonly WantedStore[], named: readonly Place[] | undefined): void {
    if (this.#stop.signal.aborted) return
    const kept = new Set<EngineMirror>()
    for (const store of wanted) {
      const mirror = this.#existing(store, kept) ?? this.#create(store)
      kept.add(mirror)
      if (this.#leading) this.#ledger.put(mirror.name, store)
      mirror.update(store)
    }
    for (const mirror of this.#mirrors) if (!kept.has(mirror)) this.#retire(mirror)
    this.#named = named
    this.#emptyForgotten()
  }

  /** Secrets changed. */
  credentialsChanged(): void {
    for (const mirror of this.#mirrorsAndLeaving()) mirror.reopenIfChanged()
  }

  /** Of the engines that a registry names, and of one more. */
  healthOf(registry: string, also?: EngineMirror): readonly StoreHealth[] {
    return [...this.#mirrors]
      .filter((mirror) => mirror === also || mirror.wanted.registries.includes(registry))
      .map((mirror) => ({
        ...mirror.status(),
        waiting: mirror.writer.waiting(),
        store: mirror.name,
        writing: mirror.writing,
        deadLetters: this.#options.letters.count(mirror.name),
      }))
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('shutting down'))
    for (const { giveUp } of this.#leaving.values()) giveUp.abort(new Error('shutting down'))
    await Promise.all([...this.#mirrors].map((mirror) => mirror.stop()))
    await Promise.all(this.#ending)
    await this.#noting
  }

  async #lead(term: AbortSignal): Promise<void> {
    this.#leading = true
    for (const { name, wanted } of this.#mirrors) this.#ledger.put(name, wanted)
    await this.#ledger.run(term)
    this.#leading = false
  }

  #found(name: string, engine: NotedEngine): void {
    this.#noted.set(name, engine)
    this.#emptyForgotten()
  }

  /** Of the engines noted in an earlier term: those that no registry names. */
  #emptyForgotten(): void {
    if (this.#named === undefined) return
    for (const [name, engine] of this.#noted) {
      this.#noted.delete(name)
      const named = [...this.#named, ...this.#mirrorsAndLeaving().map(({ wanted }) => wanted)]
      if (this.#isLate(engine)) this.#ledger.remove(name)
      else if (named.some((place) => isSameEngine(place, engine))) this.#renamed(name, engine)
      else this.#emptyNoted(name, engine)
    }
  }

  #emptyNoted(name: string, { kind, addresses, secretRef, leftMs }: NotedEngine): void {
    const mirror = this.#create({ kind, addresses, secretRef, registries: [], shards: [] })
    if (mirror.name !== name) this.#ledger.remove(name)
    this.#retire(mirror, leftMs)
  }

  #isLate({ leftMs }: NotedEngine): boolean {
    return leftMs !== undefined && this.#options.clock.nowMs() - leftMs > EMPTY_WITHIN_MS
  }

  /** A mirror of that engine may have another name by now, and a note of its own. */
  #renamed(name: string, engine: NotedEngine): void {
    const mirror = this.#mirrorsAndLeaving().find((each) => each.isEngineOf(engine))
    if (mirror !== undefined && mirror.name !== name) this.#ledger.remove(name)
  }

  #mirrorsAndLeaving(): EngineMirror[] {
    return [...this.#mirrors, ...this.#leaving.keys()]
  }

  /** The mirror of that engine, also one that was about to leave. */
  #existing(store: WantedStore, taken: ReadonlySet<EngineMirror>): EngineMirror | undefined {
    for (const mirror of this.#mirrors) if (!taken.has(mirror) && mirror.isEngineOf(store)) return mirror
    for (const [mirror, { giveUp }] of this.#leaving) {
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
    const { registries } = store
    if (registries.length > 0) {
      this.#options.logger.info({ store: mirror.name, registries }, 'writing to another search engine')
    }
    return mirror
  }

  /** Stays the same while the mirror lives. */
  #nameOf({ kind, addresses }: WantedStore): string {
    const taken = new Set(this.#mirrorsAndLeaving().map(({ name }) => name))
    const name = `${kind}/${placeOf(addresses[0] ?? '')}`
    let unique = name
    for (let i = 2; taken.has(unique); i++) unique = `${name}#${i}`
    return unique
  }

  #retire(mirror: EngineMirror, leftMs = this.#options.clock.nowMs()): void {
    const [longest] = this.#leaving
    if (longest !== undefined && this.#leaving.size >= MAX_LEAVING) longest[1].giveUp.abort(new Error('too many'))
    const leaving = { sinceMs: leftMs, giveUp: new AbortController() }
    this.#mirrors.delete(mirror)
    this.#leaving.set(mirror, leaving)
    if (this.#leading) this.#ledger.put(mirror.name, { ...mirror.wanted, leftMs })
    mirror.update({ ...mirror.wanted, registries: [], shards: [] })
    const end = this.#emptyAndStop(mirror, leaving).finally(() => this.#ending.delete(end))
    this.#ending.add(end)
  }

  async #emptyAndStop(mirror: EngineMirror, leaving: Leaving): Promise<void> {
    const { clock, logger, letters } = this.#options
    const { giveUp, sinceMs } = leaving
    const leftMs = Math.max(0, sinceMs + EMPTY_WITHIN_MS - clock.nowMs())
    const late = sleep(leftMs, clock, giveUp.signal).catch(() => undefined)
    if (this.#leading) {
      mirror.writer.empty()
      await Promise.race([mirror.writer.caughtUp(), late]) // also where another replica leads from now on
    }
    if (this.#leaving.get(mirror) !== leaving) return // named again meanwhile
    const emptied = mirror.writer.isEmpty
    this.#leaving.delete(mirror)
    giveUp.abort(new Error('no longer needed'))
    await mirror.stop()
    letters.removeStore(mirror.name)
    logger.info({ store: mirror.name, emptied }, 'a search engine that no registry names is no longer written to')
    if (!emptied) return
    this.#ledger.remove(mirror.name)
    // It may have been one of the others under another name.
    for (const other of this.#mirrors) if (other.wanted.kind === mirror.wanted.kind) other.writer.compareAll()
  }
}

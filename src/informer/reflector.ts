/**
 * Reflector: keeps one store equal to one resource of one member cluster (LIST, then WATCH from the list's version).
 *
 * - A watch that ends is resumed from the last version seen; only a version that the member no longer knows (410), or one
 *   it does not know yet (its history was replaced), leads to another LIST.
 * - One request at a time, so one live watch for each (cluster, resource).
 * - The member's faults are reported and retried for ever, more and more slowly; what only an administrator can mend
 *   (401, 403, no such kind, no credentials) soon only every five minutes. `run` rejects for faults of ours alone.
 *
 * Source: client-go tools/cache/reflector.go, `ListAndWatchWithContext`. Left out: resync, streaming lists.
 */
import { MalformedError } from '../kube/malformed-error.ts'
import { compareResourceVersions, type ResourceVersion } from '../kube/names.ts'
import type { Clock, Random } from '../util/clock.ts'
import { Backoff, RETRY, SLOW_RETRY } from './backoff.ts'
import type { ListerWatcher, WatchBatchEvent } from './lister-watcher.ts'
import { pause } from './pause.ts'
import { ReflectorError, faultCode, type ReflectorPhase } from './reflector-error.ts'
import type { ReflectorStore } from './reflector-store.ts'
import { policyOf } from './retry-policy.ts'

export interface ReflectorOptions {
  readonly clock: Clock
  readonly random: Random
  /** Sees every failure before the wait of `waitMs`, and (0) every malformed object that was left out. Must not throw. */
  readonly onError: (error: unknown, waitMs: number) => void
  /** After each list that the store took over. Must not throw. */
  readonly onListed?: () => void
}

const VERY_SHORT_WATCH_MS = 1_000 // a shorter watch that brought nothing is a failure; same value as client-go
const STEADY_WATCH_MS = 10_000 // a watch that lived so long was sound: the next failure waits the shortest time again
const FRUITLESS_WATCHES = 5 // so many failures in a row without one event: LIST, in case the version itself is the trouble

/** Runs until `signal` aborts, then resolves. */
export async function runReflector(
  source: ListerWatcher,
  store: ReflectorStore,
  options: ReflectorOptions,
  signal: AbortSignal,
): Promise<void> {
  await new Reflector(source, store, options).run(signal)
}

class Reflector {
  readonly #source: ListerWatcher
  readonly #store: ReflectorStore
  readonly #options: ReflectorOptions
  readonly #backoff: Backoff
  readonly #slowBackoff: Backoff
  #version = '' as ResourceVersion
  #fruitless = 0
  /** Since the last list. */
  #leftOut = 0

  constructor(source: ListerWatcher, store: ReflectorStore, options: ReflectorOptions) {
    this.#source = source
    this.#store = store
    this.#options = options
    this.#backoff = new Backoff(RETRY, options.clock, options.random)
    this.#slowBackoff = new Backoff(SLOW_RETRY, options.clock, options.random)
  }

  async run(signal: AbortSignal): Promise<void> {
    let phase: ReflectorPhase = 'list'
    while (!signal.aborted) {
      try {
        phase = await this.#step(phase, signal)
      } catch (error) {
        if (signal.aborted) return
        phase = await this.#failed(phase, error, signal)
      }
    }
  }

  /** Does one phase to its end and says which comes next. */
  async #step(phase: ReflectorPhase, signal: AbortSignal): Promise<ReflectorPhase> {
    switch (phase) {
      case 'list':
        await this.#list(signal)
        return 'watch'
      case 'verify':
        await this.#verify(signal)
        return 'watch'
      case 'watch':
        await this.#watch(signal)
        return 'watch'
      default:
        return phase satisfies never
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#store.report({ phase: 'listing' })
    let replacement = this.#store.beginReplace()
    this.#leftOut = 0
    try {
      const version = await this.#source.list(
        {
          add: (object) => {
            this.#tolerating(() => {
              replacement.add(object)
            })
          },
          restart: () => {
            replacement.discard()
            this.#leftOut = 0
            replacement = this.#store.beginReplace()
          },
        },
        signal,
      )
      signal.throwIfAborted()
      replacement.commit(version)
      this.#version = version
      this.#fruitless = 0
      this.#options.onListed?.()
    } catch (error) {
      replacement.discard()
      throw error
    }
  }

  /** After a broken connection the member may be another one (restored, rebuilt): a watch from its future would just wait. */
  async #verify(signal: AbortSignal): Promise<void> {
    const current = await this.#source.currentVersion(signal)
    this.#backoff.reset() // the member answers: what it had made us wait for is over
    if ((compareResourceVersions(current, this.#version) ?? 0) >= 0) return
    throw new ReflectorError(
      'regressed',
      'verify',
      `${this.#source.name}: stands at ${current}, below ${this.#version} that it had reached`,
    )
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const startedMs = clock.monotonicMs()
    let delivered = 0
    try {
      const batches = await this.#source.watch(this.#version, signal)
      this.#reportWatching()
      for await (const batch of batches) {
        signal.throwIfAborted()
        for (const event of batch) this.#apply(event)
        delivered += batch.length
      }
    } finally {
      if (delivered > 0) this.#fruitless = 0
      if (clock.monotonicMs() - startedMs >= STEADY_WATCH_MS) this.#backoff.reset()
    }
    if (delivered === 0 && clock.monotonicMs() - startedMs < VERY_SHORT_WATCH_MS) {
      throw new ReflectorError('shortWatch', 'watch', `${this.#source.name}: a watch ended at once without any event`)
    }
  }

  #apply(event: WatchBatchEvent): void {
    if (event.type === 'BOOKMARK') {
      const version = event.resourceVersion as ResourceVersion
      if ((compareResourceVersions(version, this.#version) ?? 0) >= 0) this.#version = version
      this.#store.bookmark(this.#version)
      return
    }
    const before = this.#leftOut
    this.#tolerating(() => {
      this.#version = this.#store.apply(event.type, event.object)
    })
    if (this.#leftOut !== before) this.#reportWatching()
  }

  #reportWatching(): void {
    this.#store.report({ phase: 'watching', ...(this.#leftOut === 0 ? {} : { leftOut: this.#leftOut }) })
  }

  /** One object that is none must not take the others with it: it is reported and left out. */
  #tolerating(write: () => void): void {
    try {
      write()
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.#leftOut += 1
      this.#options.onError(error, 0)
    }
  }

  /** Reports, waits, and says where to go on. Rethrows what is no fault of the member. */
  async #failed(phase: ReflectorPhase, error: unknown, signal: AbortSignal): Promise<ReflectorPhase> {
    const code = faultCode(error)
    if (code === undefined) throw error
    const policy = policyOf(code)
    const askedMs = error instanceof ReflectorError ? (error.retryAfterMs ?? 0) : 0
    const waitMs = Math.max(askedMs, policy.slow ? this.#slowBackoff.nextMs() : this.#backoff.nextMs())
    this.#store.report({ phase: 'failing', code, message: (error as Error).message })
    this.#options.onError(error, waitMs)
    await pause(waitMs, this.#options, policy.wakes ? this.#source : undefined, signal)
    if (phase === 'list' || policy.next === 'list') return 'list'
    this.#fruitless += policy.next === 'watch' ? 1 : 0
    return this.#fruitless >= FRUITLESS_WATCHES ? 'list' : policy.next
  }
}

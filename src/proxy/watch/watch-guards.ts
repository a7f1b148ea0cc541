/**
 * Watches whose rights are kept an eye on. One that sees a cluster which its caller may not see any more ends with ERROR 410:
 * the client lists again and is told which cluster is missing. One whose caller may see more than it shows ends cleanly: the
 * resume, whose map lacks the new cluster, delivers that cluster's objects.
 */
import type { CacheReader, WatchItem, WatchOptions } from '../../cache/reader.ts'
import type { Admission } from '../../http/admission.ts'
import { weigh } from '../../http/admission.ts'
import type { Rights } from '../../http/rights.ts'
import type { ClusterName } from '../../kube/names.ts'
import type { Clock } from '../../util/clock.ts'
import type { WatchSource } from './serve-watch.ts'

export interface WatchGuardsOptions {
  readonly rights: Rights
  readonly cache: Pick<CacheReader, 'onChange'>
  readonly clock: Clock
  /** A check failed by a fault of ours: the watch has been ended. */
  readonly onFault: (error: unknown) => void
}

type Verdict = 'revoked' | 'widened'

interface Guard {
  check(): Promise<void>
}

/** Checks between two turns of the event loop. */
const CHECKS_PER_TURN = 50

/** While nobody can tell whether the caller still may (a member that is asked does not answer), a watch goes on so long. */
const DOUBT_MS = 30_000

const REVOKED = 'too old resource version: your rights have changed, list again'

export class WatchGuards {
  readonly #options: WatchGuardsOptions
  readonly #guards = new Set<Guard>()
  #unlisten: (() => void) | undefined
  #checking = false
  #again = false

  constructor(options: WatchGuardsOptions) {
    this.#options = options
  }

  /** `clusters`: those that the request is about, as they are at that moment. */
  guard(source: WatchSource, admission: Admission, clusters: () => readonly ClusterName[]): WatchSource {
    return {
      ...delegate(source),
      watch: (options) => this.#watch(source, admission, clusters, options),
    }
  }

  async *#watch(
    source: WatchSource,
    admission: Admission,
    clusters: () => readonly ClusterName[],
    options: WatchOptions,
  ): AsyncGenerator<readonly WatchItem[], void, void> {
    const inner = new AbortController()
    const guarded = new GuardedWatch(this.#options, admission, clusters, inner.signal)
    guarded.onVerdict = (verdict) => {
      inner.abort(new Error(`the rights of the watch are ${verdict}`))
      if (verdict === 'revoked') options.onExpired?.(REVOKED)
    }
    const stop = (): void => inner.abort(options.signal.reason)
    options.signal.addEventListener('abort', stop, { once: true })
    if (options.signal.aborted) stop()
    this.#add(guarded)
    try {
      for await (const batch of source.watch({ ...options, signal: inner.signal })) {
        if (guarded.verdict !== undefined) break
        const known = guarded.admitted(batch)
        if (known.length > 0) yield known
        if (known.length < batch.length) return
      }
      if (guarded.verdict === 'revoked') yield [{ type: 'EXPIRED', message: REVOKED }]
    } finally {
      this.#remove(guarded)
      options.signal.removeEventListener('abort', stop)
      inner.abort(new Error('the watch has ended'))
    }
  }

  #add(guard: Guard): void {
    this.#guards.add(guard)
    if (this.#unlisten !== undefined) return
    const check = (): void => void this.#checkAll()
    const unlisten = [this.#options.rights.onChange(check), this.#options.cache.onChange({ synced: check })]
    this.#unlisten = () => unlisten.forEach((each) => each())
  }

  #remove(guard: Guard): void {
    this.#guards.delete(guard)
    if (this.#guards.size > 0) return
    this.#unlisten?.()
    this.#unlisten = undefined
  }

  /** Changes that come while checks are under way lead to one more round. */
  async #checkAll(): Promise<void> {
    this.#again = true
    if (this.#checking) return
    this.#checking = true
    while (this.#again) {
      this.#again = false
      let checked = 0
      for (const guard of [...this.#guards]) {
        void guard.check()
        checked += 1
        if (checked % CHECKS_PER_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve))
      }
    }
    this.#checking = false
  }
}

class GuardedWatch implements Guard {
  verdict: Verdict | undefined
  onVerdict: ((verdict: Verdict) => void) | undefined
  readonly #options: WatchGuardsOptions
  readonly #admission: Admission
  readonly #clusters: () => readonly ClusterName[]
  readonly #signal: AbortSignal
  #doubtfulSinceMs: number | undefined

  constructor(
    options: WatchGuardsOptions,
    admission: Admission,
    clusters: () => readonly ClusterName[],
    signal: AbortSignal,
  ) {
    this.#options = options
    this.#admission = admission
    this.#clusters = clusters
    this.#signal = signal
  }

  /** The items up to the first of a cluster that nobody has looked at yet: it joined since. */
  admitted(batch: readonly WatchItem[]): readonly WatchItem[] {
    const stranger = batch.findIndex((item) => {
      const object = item.type === 'EVENT' ? item.event.object : item.type === 'INITIAL' ? item.object : undefined
      return object !== undefined && !this.#admission.scopes.has(object.cluster)
    })
    return stranger === -1 ? batch : batch.slice(0, stranger)
  }

  async check(): Promise<void> {
    try {
      const verdict = await this.#weigh()
      if (verdict !== undefined && this.verdict === undefined && !this.#signal.aborted) this.#decide(verdict)
    } catch (error) {
      if (this.#signal.aborted) return
      this.#options.onFault(error)
      this.#decide('revoked')
    }
  }

  #decide(verdict: Verdict): void {
    this.verdict = verdict
    this.onVerdict?.(verdict)
  }

  async #weigh(): Promise<Verdict | undefined> {
    const { rights, clock } = this.#options
    const { question, scopes: before } = this.#admission
    const { scopes, refused } = await weigh(rights, question, this.#clusters(), this.#signal)
    const lost = refused.filter(({ cluster }) => before.has(cluster))
    if (lost.some(({ undetermined }) => undetermined === undefined)) return 'revoked'
    if (lost.length > 0) {
      const nowMs = clock.monotonicMs()
      this.#doubtfulSinceMs ??= nowMs
      return nowMs - this.#doubtfulSinceMs > DOUBT_MS ? 'revoked' : undefined
    }
    this.#doubtfulSinceMs = undefined
    return [...scopes.keys()].some((cluster) => !before.has(cluster)) ? 'widened' : undefined
  }
}

/** Everything of a source but its watch; its members may be getters of a class. */
function delegate(source: WatchSource): Omit<WatchSource, 'watch'> {
  return {
    gvr: source.gvr,
    kind: source.kind,
    shards: () => source.shards(),
    versions: () => source.versions(),
    ...(source.covers === undefined ? {} : { covers: (versions) => source.covers?.(versions) ?? true }),
    ...(source.presentVersions === undefined
      ? {}
      : { presentVersions: (signal) => source.presentVersions?.(signal) ?? Promise.resolve(source.versions()) }),
  }
}

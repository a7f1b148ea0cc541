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
    const { openWatch } = source
    return {
      ...delegate(source),
      watch: (options) => {
        const guarded = this.#begin(admission, clusters, options)
        return this.#follow(guarded, source.watch({ ...options, signal: guarded.signal }), options)
      },
      ...(openWatch === undefined
        ? {}
        : {
            openWatch: async (options) => {
              const guarded = this.#begin(admission, clusters, options)
              try {
                const batches = await openWatch({ ...options, signal: guarded.signal })
                return this.#follow(guarded, batches, options)
              } catch (error) {
                guarded.end()
                throw error
              }
            },
          }),
    }
  }

  #begin(admission: Admission, clusters: () => readonly ClusterName[], options: WatchOptions): GuardedWatch {
    return new GuardedWatch(this.#options, admission, clusters, options)
  }

  async *#follow(
    guarded: GuardedWatch,
    batches: AsyncIterable<readonly WatchItem[]>,
    options: WatchOptions,
  ): AsyncGenerator<readonly WatchItem[], void, void> {
    guarded.onVerdict = (verdict) => {
      guarded.end()
      if (verdict === 'revoked') options.onExpired?.(REVOKED)
    }
    this.#add(guarded)
    try {
      for await (const batch of batches) {
        if (guarded.verdict !== undefined) break
        const known = guarded.admitted(batch)
        if (known.length > 0) yield known
        if (known.length < batch.length) return
      }
      if (guarded.verdict === 'revoked') yield [{ type: 'EXPIRED', message: REVOKED }]
    } finally {
      this.#remove(guarded)
      guarded.end()
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
  readonly #parent: AbortSignal
  readonly #inner = new AbortController()
  readonly #stop = (): void => this.#inner.abort(this.#parent.reason)
  #doubtfulSinceMs: number | undefined

  constructor(
    options: WatchGuardsOptions,
    admission: Admission,
    clusters: () => readonly ClusterName[],
    { signal }: Pick<WatchOptions, 'signal'>,
  ) {
    this.#options = options
    this.#admission = admission
    this.#clusters = clusters
    this.#parent = signal
    signal.addEventListener('abort', this.#stop, { once: true })
    if (signal.aborted) this.#stop()
  }

  /** Aborts with the client's own, or when the watch is over by a verdict. */
  get signal(): AbortSignal {
    return this.#inner.signal
  }

  end(): void {
    this.#parent.removeEventListener('abort', this.#stop)
    this.#inner.abort(new Error('the watch has ended'))
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
      if (verdict !== undefined && this.verdict === undefined && !this.signal.aborted) this.#decide(verdict)
    } catch (error) {
      if (this.signal.aborted) return
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
    const { scopes, refused } = await weigh(rights, question, this.#clusters(), this.signal)
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

/** Everything of a source but its watches; its members may be getters of a class. */
function delegate(source: WatchSource): Omit<WatchSource, 'watch' | 'openWatch'> {
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

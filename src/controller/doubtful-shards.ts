/**
 * Shards whose member says that it does not serve the resource (404), although its discovery said so. Either the resource
 * is gone, then discovery is asked ahead of its time and the shard goes; or it came back meanwhile (a CRD deleted and
 * made again), then its reflector, which would wait for minutes, begins again. At most three times, more and more slowly;
 * then the reflector's own slow retries have to do.
 */
import type { Clock } from '../util/clock.ts'
import type { ActiveShard } from './active-shard.ts'
import type { DiscoveryTracker } from './discovery-tracker.ts'

const CHECK_AFTER_MS = [0, 10_000, 30_000]

interface Doubt {
  checks: number
  /** Set while a check is under way. */
  cancel: (() => void) | undefined
}

export class DoubtfulShards {
  readonly #clock: Clock
  readonly #discovery: Pick<DiscoveryTracker, 'refresh'>
  readonly #doubts = new Map<ActiveShard, Doubt>()

  constructor({ clock, discovery }: { readonly clock: Clock; readonly discovery: Pick<DiscoveryTracker, 'refresh'> }) {
    this.#clock = clock
    this.#discovery = discovery
  }

  /** To be told of each change of the shard's state. */
  observe(shard: ActiveShard): void {
    if (shard.state.phase === 'watching') return this.forget(shard)
    if (shard.state.phase !== 'failing' || shard.state.code !== 'notFound') return
    const doubt = this.#doubts.get(shard) ?? { checks: 0, cancel: undefined }
    const afterMs = CHECK_AFTER_MS[doubt.checks]
    if (doubt.cancel !== undefined || afterMs === undefined) return
    doubt.checks += 1
    doubt.cancel = this.#clock.setTimeout(() => {
      this.#discovery.refresh(shard.planned.cluster, () => {
        this.#answered(shard, doubt)
      })
    }, afterMs)
    this.#doubts.set(shard, doubt)
  }

  forget(shard: ActiveShard): void {
    this.#doubts.get(shard)?.cancel?.()
    this.#doubts.delete(shard)
  }

  /** Discovery has been asked; had it dropped the resource, the shard would be forgotten by its plan or the next. */
  #answered(shard: ActiveShard, doubt: Doubt): void {
    if (this.#doubts.get(shard) !== doubt) return
    doubt.cancel = undefined
    if (shard.state.phase === 'failing') shard.restart()
  }
}

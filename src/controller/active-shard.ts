/**
 * One shard and what feeds it: no reflector while the member is not known to serve the resource, one over all namespaces
 * or over the only one registered, or one for each where the member forbids the list over all.
 */
import type { Member } from '../fleet/member.ts'
import { leftOutOf, type ReflectorState } from '../informer/reflector-store.ts'
import { gvrKey } from '../kube/group-version.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'
import { FeedGate } from './feed-gate.ts'
import { NamespaceMerge } from './namespace-merge.ts'
import type { PlannedShard } from './plan.ts'
import type { Cache, RunReflector, Shard } from './ports.ts'
import { isWider, sameNamespaces } from './namespaces.ts'

export interface ActiveShardOptions {
  readonly cache: Cache
  readonly run: RunReflector
  readonly clock: Clock
  readonly logger: Logger
  /** Its `state` or `synced` changed. */
  readonly onChange: (shard: ActiveShard) => void
}

export type ShardFailure = Extract<ReflectorState, { phase: 'failing' }>

/** What a shard is to be now; all but `planned` may change without the plan changing. */
export interface ShardGoal {
  readonly planned: PlannedShard
  readonly member: Member
  /** Grows when the resource came back at the member: what a reflector knows of it is void. */
  readonly returns: number
}

const RESTART_MS = 60_000 // after a fault of ours in a reflector: not a loop, and not the end of the shard either

export class ActiveShard {
  readonly name: string
  readonly #options: ActiveShardOptions
  readonly #shard: Shard
  readonly #running = new Set<Promise<void>>()
  #goal: ShardGoal
  #feed: { readonly abort: AbortController; readonly gate: FeedGate } | undefined
  /** The member forbade the list over all namespaces. */
  #splits = false
  #state: ReflectorState = { phase: 'listing' }
  #failure: ShardFailure | undefined
  #synced = false
  #cancelRestart: (() => void) | undefined

  constructor(goal: ShardGoal, options: ActiveShardOptions) {
    const { cluster, clusterUid, gvr, kind, namespaced, redaction, namespaces } = goal.planned
    this.name = `${cluster}/${gvrKey(gvr)}`
    this.#goal = goal
    this.#options = options
    const scope = namespaces === undefined ? {} : { namespaces }
    this.#shard = options.cache.openShard({ cluster, clusterUid, gvr, kind, namespaced, redaction, ...scope })
    if (goal.planned.served) this.#start()
  }

  get planned(): PlannedShard {
    return this.#goal.planned
  }

  get member(): Member {
    return this.#goal.member
  }

  /** Of the last attempt that came to an end: stays while it is tried again. */
  get failure(): ShardFailure | undefined {
    return this.#failure
  }

  get state(): ReflectorState {
    return this.#state
  }

  /** Objects of the member that could not be read and are missing. */
  get leftOut(): number {
    return leftOutOf(this.#state)
  }

  /** Has been listed at least once. */
  get synced(): boolean {
    return this.#synced
  }

  /** Takes the shard where it is to be, with the least disturbance: most changes need no list. */
  update(goal: ShardGoal): void {
    const { planned: before, member, returns } = this.#goal
    const { planned } = goal
    const feeds = this.#feeds()
    this.#goal = goal
    const isReachedAnew = member.signal !== goal.member.signal
    if (isReachedAnew) this.#splits = false
    if (!sameNamespaces(before.namespaces, planned.namespaces)) this.#shard.setNamespaces(planned.namespaces)
    const isFed = this.#feed !== undefined
    const needsList =
      isReachedAnew ||
      returns !== goal.returns ||
      isWider(planned.namespaces, before.namespaces) ||
      this.#feeds().join() !== feeds.join()
    if (planned.isBeyond) this.pause()
    else if (planned.served && (!isFed || needsList)) this.restart()
  }

  /** Begins again with a list; what is shown stays until it is there. */
  restart(): void {
    this.pause()
    this.#start()
  }

  /** Stops feeding; what is shown stays. */
  pause(): void {
    this.#cancelRestart?.()
    this.#cancelRestart = undefined
    this.#feed?.gate.close()
    this.#feed?.abort.abort(new Error(`${this.name}: stopped`))
    this.#feed = undefined
  }

  /** While nothing feeds it: why. */
  wait(state: ReflectorState): void {
    if (this.#feed !== undefined || JSON.stringify(state) === JSON.stringify(this.#state)) return
    this.#shard.report(state)
    this.#reported(state)
  }

  /** Stops, and takes the shard with all its objects out of the cache. */
  drop(): void {
    this.pause()
    this.#shard.drop()
  }

  /** Resolves when every reflector that was stopped has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** The namespace of each reflector; undefined: all of them. */
  #feeds(): readonly (string | undefined)[] {
    const { namespaces } = this.#goal.planned
    if (namespaces === undefined) return [undefined]
    return namespaces.size === 1 || this.#splits ? [...namespaces] : [undefined]
  }

  #start(): void {
    if (this.planned.isBeyond) return
    const abort = new AbortController()
    const gate = new FeedGate(this.#shard, {
      reported: (state) => {
        this.#reported(state)
        this.#splitWhenForbidden(gate)
      },
      listed: () => {
        if (this.#synced) return
        this.#synced = true
        this.#options.onChange(this)
      },
    })
    this.#feed = { abort, gate }
    const feeds = this.#feeds()
    const stores =
      feeds.length === 1
        ? [{ namespace: feeds[0], store: gate }]
        : new NamespaceMerge(gate, this.#goal.planned.namespaces ?? [], !this.#synced).stores()
    for (const { namespace, store } of stores) {
      const target = { gvr: this.planned.gvr, ...(namespace === undefined ? {} : { namespace }) }
      this.#track(this.#options.run(this.#goal.member, target, store, abort.signal), abort.signal)
    }
  }

  #track(run: Promise<void>, signal: AbortSignal): void {
    const ended = run
      .catch((err: unknown) => {
        if (!signal.aborted) this.#broke(err)
      })
      .finally(() => this.#running.delete(ended))
    this.#running.add(ended)
  }

  /** A fault of ours: the others of this shard stop too, and all begin again after a while. */
  #broke(err: unknown): void {
    this.#options.logger.error({ err, shard: this.name }, 'a reflector broke; it starts again')
    this.pause()
    this.wait({ phase: 'failing', code: 'internal', message: 'a fault inside this program; see its log' })
    this.#cancelRestart = this.#options.clock.setTimeout(() => {
      this.restart()
    }, RESTART_MS)
  }

  /** Not within the report itself: the reflector that is speaking is about to be stopped. */
  #splitWhenForbidden(gate: FeedGate): void {
    const { namespaces } = this.#goal.planned
    if (this.#state.phase !== 'failing' || this.#state.code !== 'forbidden') return
    if (this.#splits || namespaces === undefined || namespaces.size < 2) return
    queueMicrotask(() => {
      if (this.#feed?.gate !== gate || this.#splits) return
      const { logger } = this.#options
      logger.info({ shard: this.name }, 'the member forbids the list over all namespaces; listing each by itself')
      this.#splits = true
      this.restart()
    })
  }

  #reported(state: ReflectorState): void {
    const before = this.#state
    this.#state = state
    if (state.phase === 'failing') this.#failure = state
    else if (state.phase === 'watching') this.#failure = undefined
    if (JSON.stringify(before) !== JSON.stringify(state)) this.#options.onChange(this)
  }
}

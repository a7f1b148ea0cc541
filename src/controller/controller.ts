/**
 * Makes the cache hold what registries, clusters and their discovery ask for: registers resources, opens and drops shards,
 * starts and stops their reflectors. Every change of registries and clusters leads to one `reconcile` in the same turn
 * of the event loop, one of discovery soon after, which compares a plan with what is there and touches only what differs.
 *
 * Contract:
 * - A cluster that leaves is gone from the cache in the turn in which the fleet says so. One that is reached anew under
 *   its uid (other endpoint, other credentials) keeps what is shown, and is listed again.
 * - `run` resolves when everything it started has ended, at the latest 5 s after the signal aborts. What is cached then
 *   stays readable.
 */
import type { FleetReader } from '../fleet/fleet.ts'
import type { ClusterName } from '../kube/names.ts'
import { groupResourceKey, gvrKey } from '../kube/group-version.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { ActiveShard, type ShardGoal } from './active-shard.ts'
import { DoubtfulShards } from './doubtful-shards.ts'
import type { DiscoveryTracker } from './discovery-tracker.ts'
import { planShards, type Plan, type PlannedShard } from './plan.ts'
import type { PlannedResource, PlanProblem } from './plan-parts.ts'
import type { Cache, RegistrySource, RunReflector } from './ports.ts'
import { progressOf, type Progress } from './progress.ts'

export interface ControllerOptions {
  readonly registries: RegistrySource
  readonly fleet: FleetReader
  readonly discovery: DiscoveryTracker
  readonly cache: Cache
  readonly run: RunReflector
  /** Resources cached of one cluster at most; default: as many as are asked for. */
  readonly maxResources?: number
  readonly clock: Clock
  readonly logger: Logger
}

const STOP_MS = 5_000 // longest wait for reflectors that were told to stop

const SOON_MS = 50 // a plan for 100 clusters of 80 kinds takes about 20 ms

const BEYOND = {
  phase: 'failing',
  code: 'tooMany',
  message: 'more resources of this cluster are asked for than are cached of one',
} as const

const NOTHING: Plan = { resources: [], shards: [], problems: [], targets: new Map() }

export class Controller {
  readonly #options: ControllerOptions
  readonly #doubtful: DoubtfulShards
  readonly #resources = new Map<string, PlannedResource>()
  readonly #shards = new Map<string, ActiveShard>()
  readonly #listeners = new Set<() => void>()
  readonly #ending = new Set<Promise<void>>()
  #plan: Plan = NOTHING
  #told: ReadonlySet<string> = new Set()
  #scheduled = false
  #cancelSoon: (() => void) | undefined
  #stopped = true

  constructor(options: ControllerOptions) {
    this.#options = options
    this.#doubtful = new DoubtfulShards(options)
  }

  /** What was last planned. */
  get plan(): Plan {
    return this.#plan
  }

  /** In no particular order. */
  shards(): Iterable<ActiveShard> {
    return this.#shards.values()
  }

  progress(): Progress {
    const { registries, fleet, discovery } = this.#options
    return progressOf({
      registriesSynced: registries.synced,
      planPending: this.#scheduled || this.#cancelSoon !== undefined,
      members: fleet.members().map(({ facts }) => ({
        name: facts.name,
        discovered: discovery.resources(facts) !== undefined,
        failed: discovery.failure(facts) !== undefined,
      })),
      shards: this.#shards.values(),
    })
  }

  /** Called when the plan or any shard's state changed; may be often. Returns how to stop listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { registries, fleet, discovery } = this.#options
    const schedule = (): void => {
      this.#schedule()
    }
    const unlisten = [
      registries.onChange(schedule),
      discovery.onChange(() => {
        this.#scheduleSoon()
      }),
      fleet.onChange(({ type, member }) => {
        if (type === 'disengaged') this.#pause(member.facts.name)
        this.#schedule()
      }),
    ]
    this.#stopped = false
    this.#schedule()
    await aborted(signal)
    this.#stopped = true
    for (const stop of unlisten) stop()
    await this.#stop()
  }

  /** Once at the end of this turn, however many changes it brings: a re-engaged cluster leaves and joins in one. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      if (!this.#stopped && this.#options.registries.synced) this.#reconcile()
    })
  }

  /** At a start every member tells what it serves within the same second: a plan for each would be many. */
  #scheduleSoon(): void {
    this.#cancelSoon ??= this.#options.clock.setTimeout(() => {
      this.#cancelSoon = undefined
      this.#schedule()
    }, SOON_MS)
  }

  #reconcile(): void {
    const { registries, fleet, discovery, maxResources } = this.#options
    const members = fleet.members()
    const plan = planShards({
      registries: registries.current(),
      members: members.map(({ facts }) => ({ facts, resources: discovery.resources(facts) })),
      known: discovery.known,
      cached: this.#resources,
      ...(maxResources === undefined ? {} : { maxResources }),
    })
    this.#logNews(plan, members.length === 0)
    this.#plan = plan
    const wanted = new Map(plan.shards.map((shard) => [shardKey(shard), shard]))
    for (const [key, shard] of this.#shards) {
      const planned = wanted.get(key)
      if (planned === undefined || !isSameShard(planned, shard.planned)) this.#drop(key, shard)
    }
    this.#registerOnly(plan.resources)
    for (const [key, planned] of wanted) this.#bring(key, planned)
    this.#changed()
  }

  /** Each problem is told once, not at every reconcile; that no cluster matches, not before there is any. */
  #logNews(plan: Plan, nobodyYet: boolean): void {
    const { logger } = this.#options
    const problems = plan.problems.filter(({ reason }) => !(nobodyYet && reason === 'NoClusterMatches'))
    const told = this.#told
    this.#told = new Set(problems.map(problemKey))
    for (const problem of problems) {
      if (told.has(problemKey(problem))) continue
      const { registry, reason, message } = problem
      logger.warn({ registry, reason, problem: message }, 'a registry asks for what cannot be cached')
    }
    if (plan.shards.length !== this.#plan.shards.length) {
      logger.info(
        { resources: plan.resources.length, shards: plan.shards.length },
        'the set of cached resources has changed',
      )
    }
  }

  /** After the shards that go are gone, before those that come are there. */
  #registerOnly(resources: readonly PlannedResource[]): void {
    const wanted = new Map(resources.map((resource) => [groupResourceKey(resource.gvr), resource]))
    for (const [key, resource] of this.#resources) {
      const next = wanted.get(key)
      if (next !== undefined && isSameResource(next, resource)) continue
      for (const [shardKey, shard] of this.#shards) {
        if (groupResourceKey(shard.planned.gvr) === key) this.#drop(shardKey, shard)
      }
      this.#options.cache.unregister(resource.gvr)
      this.#resources.delete(key)
    }
    for (const [key, resource] of wanted) {
      if (this.#resources.has(key)) continue
      this.#options.cache.register(resource.gvr, resource.kind, resource.namespaced, resource.redaction)
      this.#resources.set(key, resource)
    }
  }

  #bring(key: string, planned: PlannedShard): void {
    const { cache, run, clock, logger, fleet, discovery } = this.#options
    const member = fleet.member(planned.cluster)
    if (member === undefined) return
    const goal: ShardGoal = { planned, member, returns: discovery.returns(member.facts, planned.gvr) }
    let shard = this.#shards.get(key)
    if (shard === undefined) {
      const onChange = (changed: ActiveShard): void => {
        this.#doubtful.observe(changed)
        this.#changed()
      }
      shard = new ActiveShard(goal, { cache, run, clock, logger, onChange })
      this.#shards.set(key, shard)
    } else {
      shard.update(goal)
    }
    if (planned.isBeyond) return shard.wait(BEYOND)
    if (planned.served) return
    const failure = discovery.failure(member.facts)
    shard.wait(failure === undefined ? { phase: 'listing' } : { phase: 'failing', ...failure })
  }

  #drop(key: string, shard: ActiveShard): void {
    this.#shards.delete(key)
    this.#doubtful.forget(shard)
    shard.drop()
    this.#awaitEnd(shard)
  }

  /** The way to the cluster is gone; whether its shards go too, the plan of this turn says. */
  #pause(cluster: ClusterName): void {
    for (const shard of this.#shards.values()) if (shard.planned.cluster === cluster) shard.pause()
  }

  async #stop(): Promise<void> {
    this.#cancelSoon?.()
    this.#cancelSoon = undefined
    for (const shard of this.#shards.values()) {
      this.#doubtful.forget(shard)
      shard.pause()
      this.#awaitEnd(shard)
    }
    const giveUp = new AbortController()
    const late = sleep(STOP_MS, this.#options.clock, giveUp.signal).then(
      () => {
        this.#options.logger.warn({ shards: this.#ending.size }, 'reflectors did not stop in time')
      },
      () => undefined,
    )
    await Promise.race([Promise.all(this.#ending), late])
    giveUp.abort()
  }

  #awaitEnd(shard: ActiveShard): void {
    const end = shard.idle().finally(() => this.#ending.delete(end))
    this.#ending.add(end)
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

function problemKey({ registry, reason, message }: PlanProblem): string {
  return `${registry} ${reason} ${message}`
}

function shardKey({ cluster, gvr }: PlannedShard): string {
  return `${cluster}/${gvrKey(gvr)}`
}

/** Another uid is another cluster; another kind or scope under the same name is another CRD; another redaction another list. */
function isSameShard(a: PlannedShard, b: PlannedShard): boolean {
  const isSameType = a.kind === b.kind && a.namespaced === b.namespaced
  return a.clusterUid === b.clusterUid && isSameType && a.redaction === b.redaction
}

function isSameResource(a: PlannedResource, b: PlannedResource): boolean {
  const isSameType = gvrKey(a.gvr) === gvrKey(b.gvr) && a.kind === b.kind && a.namespaced === b.namespaced
  return isSameType && a.redaction === b.redaction
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else
      signal.addEventListener(
        'abort',
        () => {
          resolve()
        },
        { once: true },
      )
  })
}

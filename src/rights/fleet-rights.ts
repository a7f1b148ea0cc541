/** Mode `member`: callers see of each member what that member would show them. */
import type { FleetReader } from '../fleet/fleet.ts'
import type { Member } from '../fleet/member.ts'
import type { ClusterRights, Rights, RightsQuestion } from '../http/rights.ts'
import type { ClusterName } from '../kube/names.ts'
import { NOTHING } from '../kube/object-scope.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Registry } from '../telemetry/metrics.ts'
import type { Clock, Random } from '../util/clock.ts'
import { AccessReviews } from './access-reviews.ts'
import { ChangeNotifier } from './change-notifier.ts'
import { memberIdentity } from './member-identity.ts'
import { MemberRights, type MemberRightsState } from './member-rights.ts'
import { addRightsMetrics } from './rights-metrics.ts'

export interface FleetRightsOptions {
  readonly fleet: FleetReader
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics?: Registry
  /** RBAC objects kept of one member; default 50,000. */
  readonly maxObjects?: number
}

/** How long a member's own word is taken, where it is asked: as a webhook authorizer's caches are set by default. */
const REVIEW_TTL_MS = 10_000
/** Watches whose rights nobody tells changes of are looked at so often. */
const TICK_MS = 5_000

const LEFT: ClusterRights = { scope: NOTHING, undetermined: 'it is no cluster of the fleet' }

interface Followed {
  readonly member: Member
  readonly rights: MemberRights
  readonly controller: AbortController
  ended: Promise<void>
}

export class FleetRights implements Rights {
  readonly #options: FleetRightsOptions
  readonly #reviews: AccessReviews
  readonly #members = new Map<ClusterName, Followed>()
  readonly #notifier: ChangeNotifier

  constructor(options: FleetRightsOptions) {
    const { clock, metrics } = options
    const counted = metrics === undefined ? undefined : addRightsMetrics(metrics, () => this.states())
    this.#options = options
    this.#reviews = new AccessReviews({
      clock,
      allowedTtlMs: REVIEW_TTL_MS,
      deniedTtlMs: REVIEW_TTL_MS,
      ...(counted === undefined ? {} : { counted }),
    })
    this.#notifier = new ChangeNotifier(clock, TICK_MS, () => this.#doubtful())
  }

  /** Follows the RBAC objects of every member until the signal aborts. Rejects for faults of ours alone. */
  async run(signal: AbortSignal): Promise<void> {
    const { fleet } = this.#options
    const fault = Promise.withResolvers<never>()
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    const unlisten = fleet.onChange(({ type, member }) => {
      if (type === 'engaged') this.#engage(member, fault.reject)
      if (type === 'disengaged') this.#disengage(member.facts.name)
    })
    for (const member of fleet.members()) this.#engage(member, fault.reject)
    try {
      await Promise.race([stopped, fault.promise])
    } finally {
      unlisten()
      this.#notifier.stop()
      const followed = [...this.#members.values()]
      for (const { member } of followed) this.#disengage(member.facts.name)
      await Promise.all(followed.map(({ ended }) => ended))
    }
  }

  async of(
    question: RightsQuestion,
    clusters: readonly ClusterName[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ClusterName, ClusterRights>> {
    const identity = memberIdentity(question.user)
    const answers = new Map<ClusterName, ClusterRights>()
    const open: Promise<void>[] = []
    for (const cluster of clusters) {
      const rights = this.#members.get(cluster)?.rights
      const known = rights === undefined ? LEFT : rights.known(question, identity)
      if (known !== undefined) answers.set(cluster, known)
      else if (rights !== undefined) {
        open.push(rights.ask(question, identity, signal).then((answer) => void answers.set(cluster, answer)))
      }
    }
    if (open.length > 0) await Promise.all(open)
    return answers
  }

  onChange(listener: () => void): () => void {
    return this.#notifier.listen(listener)
  }

  /** How each member's rights are decided. */
  states(): ReadonlyMap<ClusterName, MemberRightsState> {
    return new Map([...this.#members].map(([name, { rights }]) => [name, rights.state]))
  }

  #engage(member: Member, onFault: (error: unknown) => void): void {
    const { name } = member.facts
    if (this.#members.get(name)?.member.client === member.client) return
    this.#disengage(name)
    const { clock, random, logger, maxObjects } = this.#options
    const rights = new MemberRights(member, {
      reviews: this.#reviews,
      clock,
      random,
      logger,
      ...(maxObjects === undefined ? {} : { maxObjects }),
      changed: () => this.#notifier.changed(),
    })
    const controller = new AbortController()
    const ended = rights.run(controller.signal).catch((error: unknown) => {
      if (!controller.signal.aborted) onFault(error)
    })
    this.#members.set(name, { member, rights, controller, ended })
    this.#notifier.changed()
  }

  #disengage(name: ClusterName): void {
    const followed = this.#members.get(name)
    if (followed === undefined) return
    this.#members.delete(name)
    followed.controller.abort(new Error(`cluster ${name} has left`))
    this.#notifier.changed()
  }

  /** Some member's rights may change without its saying so. */
  #doubtful(): boolean {
    return [...this.#members.values()].some(({ rights: { state } }) => {
      return state.decides === 'reviews' || state.rbac.state !== 'known'
    })
  }
}

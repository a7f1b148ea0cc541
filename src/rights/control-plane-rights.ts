/**
 * Mode `control-plane`: callers see of every member what the control plane allows them on that resource, by
 * SubjectAccessReview. One answer for all clusters; namespaces are asked for where the request names them.
 */
import type { MemberClient } from '../fleet/member.ts'
import type { UserInfo } from '../http/api-request.ts'
import type { ClusterRights, Rights, RightsQuestion } from '../http/rights.ts'
import type { ClusterName } from '../kube/names.ts'
import { EVERYTHING, NOTHING } from '../kube/object-scope.ts'
import type { Clock } from '../util/clock.ts'
import { AccessReviews, type ReviewServer, type ReviewSubject } from './access-reviews.ts'
import { ChangeNotifier } from './change-notifier.ts'
import { MASTERS } from './member-identity.ts'
import { reviewedRights } from './reviewed-scope.ts'

export interface ControlPlaneRightsOptions {
  readonly client: Pick<MemberClient, 'request'>
  readonly clock: Clock
  readonly allowedTtlMs: number
  readonly deniedTtlMs: number
  /** The server stops: reviews end. */
  readonly signal: AbortSignal
}

/** Nobody tells of changes, so that watches are looked at so often. */
const TICK_MS = 5_000

export class ControlPlaneRights implements Rights {
  readonly #reviews: AccessReviews
  readonly #server: ReviewServer
  readonly #notifier: ChangeNotifier

  constructor({ client, clock, allowedTtlMs, deniedTtlMs, signal }: ControlPlaneRightsOptions) {
    this.#reviews = new AccessReviews({ clock, allowedTtlMs, deniedTtlMs })
    this.#server = { key: 'control-plane', client, signal }
    this.#notifier = new ChangeNotifier(clock, TICK_MS, () => true)
    signal.addEventListener('abort', () => this.#notifier.stop(), { once: true })
  }

  async of(
    question: RightsQuestion,
    clusters: readonly ClusterName[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ClusterName, ClusterRights>> {
    if (clusters.length === 0) return new Map()
    const answer = await this.#answer(question, signal)
    return new Map(clusters.map((cluster) => [cluster, answer]))
  }

  onChange(listener: () => void): () => void {
    return this.#notifier.listen(listener)
  }

  async #answer(question: RightsQuestion, signal: AbortSignal): Promise<ClusterRights> {
    const { user } = question
    if (user.name === '') return { scope: NOTHING }
    if (user.groups.includes(MASTERS)) return { scope: EVERYTHING }
    return reviewedRights(this.#reviews, this.#server, subjectOf(user), question, undefined, signal)
  }
}

/** The caller's identity is the control plane's own: nothing of it is left out. */
function subjectOf({ name, uid, groups, extra }: UserInfo): ReviewSubject & { readonly key: string } {
  const subject = {
    user: name,
    groups,
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
  return { ...subject, key: JSON.stringify(subject) }
}

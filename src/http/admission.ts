/**
 * Which clusters answer a read for this caller. A cluster that does not allow it is left out and named as missing; where
 * none allows it, the read is refused as a member would refuse it.
 */
import { groupResourceKey } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import { EVERYTHING, NOTHING, type ObjectScope } from '../kube/object-scope.ts'
import { StatusError } from '../kube/status-error.ts'
import { forbidden } from './forbidden.ts'
import type { ClusterFreshness } from './freshness.ts'
import type { ClusterRights, Rights, RightsQuestion } from './rights.ts'

export interface Refusal {
  readonly cluster: ClusterName
  /** Why nobody can tell; undefined: the caller may not. */
  readonly undetermined: string | undefined
}

export interface Admission {
  readonly question: RightsQuestion
  /** What may be seen of what the question is about, in each cluster that answers. */
  readonly scopes: ReadonlyMap<ClusterName, ObjectScope>
  readonly refused: readonly Refusal[]
}

/** Rejects with `forbidden` where all clusters refuse, with `serviceUnavailable` where it cannot be told for some of them. */
export async function admit(
  rights: Rights,
  question: RightsQuestion,
  clusters: readonly ClusterName[],
  signal: AbortSignal,
): Promise<Admission> {
  const admission = await weigh(rights, question, clusters, signal)
  if (clusters.length > 0 && admission.scopes.size === 0) throw refusalOf(admission)
  return admission
}

/** As `admit`, and resolves also where all clusters refuse. */
export async function weigh(
  rights: Rights,
  question: RightsQuestion,
  clusters: readonly ClusterName[],
  signal: AbortSignal,
): Promise<Admission> {
  const answers = await rights.of(question, clusters, signal)
  const scopes = new Map<ClusterName, ObjectScope>()
  const refused: Refusal[] = []
  for (const cluster of clusters) {
    const answer = answers.get(cluster)
    const scope = answer === undefined ? NOTHING : visibleScope(answer, question)
    if (!scope.nothing) scopes.set(cluster, scope)
    else refused.push({ cluster, undetermined: answer === undefined ? 'not known yet' : answer.undetermined })
  }
  return { question, scopes, refused }
}

function visibleScope({ scope }: ClusterRights, question: RightsQuestion): ObjectScope {
  const { namespace, name, byObject, namespaced } = question
  if (scope.allows(namespace, name)) return EVERYTHING
  if (!byObject) return NOTHING
  const shown = namespaced ? scope.shown : scope.shown.withoutNamespaces
  return shown.reaches(namespace, name) ? shown : NOTHING
}

/** The error of a read that no cluster allows, or whose object may be in a cluster that does not. */
export function refusalOf({ question, refused }: Admission): StatusError {
  const doubtful = refused.filter(({ undetermined }) => undetermined !== undefined)
  if (doubtful.length === 0) return forbidden(question.user, question)
  const reasons = doubtful.slice(0, 8).map(({ cluster, undetermined }) => `${cluster}: ${undetermined ?? ''}`)
  return new StatusError('serviceUnavailable', `your rights cannot be determined: ${reasons.join('; ')}`, {
    details: { retryAfterSeconds: 1 },
  })
}

/** For the answer's headers. */
export function refusedClusters({ question, refused }: Admission): ClusterFreshness[] {
  const { verb, subresource } = question
  const what = groupResourceKey(question) + (subresource === '' ? '' : `/${subresource}`)
  return refused.map(({ cluster, undetermined }) => {
    const reason = undetermined === undefined ? `you may not ${verb} ${what}` : `your rights: ${undetermined}`
    return { cluster, state: 'missing', reason }
  })
}

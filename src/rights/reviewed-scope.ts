/** A scope out of single reviews, for where RBAC's objects alone do not tell. */
import type { ClusterRights, RightsQuestion } from '../http/rights.ts'
import { EVERYTHING, NOTHING, ObjectScopeBuilder, type ObjectScope } from '../kube/object-scope.ts'
import { ReviewError, type AccessReviews, type ReviewServer, type ReviewSubject } from './access-reviews.ts'

export type AskPoint = (namespace: string, name: string) => Promise<boolean>

/** Namespaces and names that are tried one by one for one question. */
const MAX_CANDIDATES = 64

/**
 * Exact for what the question is about. A question that filters objects and is not allowed as a whole is asked again for the
 * namespaces and names that `candidates` (what RBAC alone would say) holds; without any it finds nothing.
 */
export async function reviewedScope(
  question: Pick<RightsQuestion, 'namespace' | 'name' | 'byObject'>,
  ask: AskPoint,
  candidates: ObjectScope | undefined,
): Promise<ObjectScope> {
  const { namespace, name, byObject } = question
  if (await ask(namespace, name)) return pointScope(namespace, name)
  if (!byObject || candidates === undefined) return NOTHING
  const points = pointsOf(candidates, namespace, name).slice(0, MAX_CANDIDATES)
  const allowed = await Promise.all(points.map(([ns, each]) => ask(ns, each)))
  const scope = new ObjectScopeBuilder()
  points.forEach(([ns, each], i) => {
    if (allowed[i] === true) scope.grant(ns, each === '' ? [] : [each])
  })
  return scope.build()
}

function pointScope(namespace: string, name: string): ObjectScope {
  if (namespace === '' && name === '') return EVERYTHING
  const scope = new ObjectScopeBuilder()
  scope.grant(namespace, name === '' ? [] : [name])
  return scope.build()
}

/** What of the candidates lies within the question. */
function pointsOf(scope: ObjectScope, namespace: string, name: string): (readonly [string, string])[] {
  const within = (ns: string): boolean => namespace === '' || ns === namespace
  const named = (each: string): boolean => each !== '' && (name === '' || each === name)
  return [
    ...[...scope.namespaces].filter(within).map((ns) => [ns, name] as const),
    ...[...scope.names].filter(([ns]) => within(ns)).flatMap(([ns, names]) => pairs(ns, [...names].filter(named))),
    ...pairs(namespace, [...scope.anywhere].filter(named)),
  ]
}

function pairs(namespace: string, names: readonly string[]): (readonly [string, string])[] {
  return names.map((name) => [namespace, name] as const)
}

/** As `reviewedScope`, by the server's own reviews; what it does not answer is undetermined. */
export async function reviewedRights(
  reviews: AccessReviews,
  server: ReviewServer,
  { key, ...subject }: ReviewSubject & { readonly key: string },
  question: RightsQuestion,
  candidates: ObjectScope | undefined,
  signal: AbortSignal,
): Promise<ClusterRights> {
  const { verb, group, resource, subresource } = question
  const ask: AskPoint = (namespace, name) =>
    reviews.allowed(server, subject, key, { verb, group, resource, subresource, namespace, name }, signal)
  try {
    return { scope: await reviewedScope(question, ask, candidates) }
  } catch (error) {
    if (!(error instanceof ReviewError)) throw error
    return { scope: NOTHING, undetermined: error.message }
  }
}

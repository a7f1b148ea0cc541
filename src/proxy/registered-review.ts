/**
 * Self reviews of registered kinds, answered by what the members allow the caller: allowed is what one of them allows, as
 * lists show what some cluster shows. The reason names the clusters that do and those that do not.
 */
import type { CacheReader } from '../cache/reader.ts'
import type { Rights, RightsQuestion } from '../http/rights.ts'
import type { UserInfo } from '../http/api-request.ts'
import type { ClusterName } from '../kube/names.ts'
import type { MergedGroup } from './discovery/merged-resources.ts'
import { subresourceShapes } from './discovery/subresources.ts'
import type { ResourceAttributes } from '../kube/self-review.ts'

export interface RegisteredReview {
  readonly cache: Pick<CacheReader, 'resource'>
  readonly rights: Rights
  readonly user: UserInfo
  readonly signal: AbortSignal
}

export interface ReviewStatus {
  readonly allowed: boolean
  readonly reason?: string
  readonly evaluationError?: string
}

type Verdict = 'allowing' | 'others' | 'unclear'

/** Clusters that a reason names. */
const NAMED = 8

/** Undefined where the review is about no registered kind (a wildcard is about none). */
export async function reviewRegistered(
  review: RegisteredReview,
  attributes: ResourceAttributes,
): Promise<ReviewStatus | undefined> {
  const { group = '', resource = '', subresource = '', verb = '', namespace = '', name = '' } = attributes
  const reader = review.cache.resource({ group, resource })
  if (reader === undefined || verb === '*' || subresource === '*') return undefined
  const clusters = reader.shards().map(({ cluster }) => cluster)
  const question = questionOf(review, { group, resource, subresource, verb, namespace, name }, reader.namespaced)
  const answers = await review.rights.of(question, clusters, review.signal)
  const allowing = clusters.filter((cluster) => answers.get(cluster)?.scope.allows(namespace, name) === true)
  const others = clusters.filter((cluster) => !allowing.includes(cluster))
  const unclear = others.filter((cluster) => answers.get(cluster)?.undetermined !== undefined)
  return reviewStatus({ allowing, others, unclear })
}

/** Allowed is what one cluster allows; the reason says which. */
export function reviewStatus({
  allowing,
  others,
  unclear,
}: Readonly<Record<Verdict, readonly ClusterName[]>>): ReviewStatus {
  const parts = [...named('allowed in', allowing), ...named('not in', others)]
  return {
    allowed: allowing.length > 0,
    ...(parts.length === 0 ? {} : { reason: parts.join(', ') }),
    ...(unclear.length === 0 ? {} : { evaluationError: named('cannot be told for', unclear).join('') }),
  }
}

function questionOf(
  { user }: RegisteredReview,
  asked: Omit<RightsQuestion, 'user' | 'byObject' | 'namespaced'>,
  namespaced: boolean,
): RightsQuestion {
  return { ...asked, user, byObject: false, namespaced }
}

function named(what: string, clusters: readonly ClusterName[]): string[] {
  if (clusters.length === 0) return []
  const more = clusters.length > NAMED ? ` and ${clusters.length - NAMED} more` : ''
  return [`${what} ${clusters.slice(0, NAMED).join(', ')}${more}`]
}

export interface ResourceRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

/** What the caller may do with registered kinds in a namespace, in one cluster at least: one rule for each set of verbs. */
export async function registeredRules(
  review: RegisteredReview,
  groups: readonly MergedGroup[],
  namespace: string,
): Promise<ResourceRule[]> {
  const rules = new Map<string, { verbs: readonly string[]; group: string; resources: string[] }>()
  for (const { group, resource, subresource, verbs } of reviewed(review, groups)) {
    const allowed: string[] = []
    for (const verb of verbs) {
      const status = await reviewRegistered(review, { group, resource, subresource, verb, namespace })
      if (status?.allowed === true) allowed.push(verb)
    }
    if (allowed.length === 0) continue
    const key = `${group} ${allowed.join()}`
    const rule = rules.get(key) ?? { verbs: allowed, group, resources: [] }
    rule.resources.push(subresource === '' ? resource : `${resource}/${subresource}`)
    rules.set(key, rule)
  }
  return [...rules.values()].map(({ verbs, group, resources }) => ({ verbs, apiGroups: [group], resources }))
}

/** The registered resources and their subresources, each once, with the verbs that they have. */
function* reviewed(
  { cache }: RegisteredReview,
  groups: readonly MergedGroup[],
): Generator<{ group: string; resource: string; subresource: string; verbs: readonly string[] }> {
  for (const { group, versions } of groups) {
    for (const found of versions.flatMap(({ resources }) => resources)) {
      const { resource, version } = found
      if (cache.resource({ group, resource })?.gvr.version !== version) continue
      yield { group, resource, subresource: '', verbs: VERBS.filter((verb) => found.verbs.includes(verb)) }
      for (const { name, verbs } of subresourceShapes(found)) yield { group, resource, subresource: name, verbs }
    }
  }
}

/** The control plane's rules without what they say of registered kinds; what names everything stays. */
export function withoutRegistered(
  rules: readonly ResourceRule[],
  cache: Pick<CacheReader, 'resource'>,
): ResourceRule[] {
  return rules.flatMap((rule) => {
    const { apiGroups = [], resources = [] } = rule
    const kept = resources.filter((text) => {
      const [resource = ''] = text.split('/')
      return !apiGroups.every((group) => cache.resource({ group, resource }) !== undefined)
    })
    if (kept.length === resources.length) return [rule]
    return kept.length === 0 ? [] : [{ ...rule, resources: kept }]
  })
}

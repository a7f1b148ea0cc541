/** What a registry's status says of it. Pure; the same input gives the same conditions, so that nothing is written twice. */
import type { Condition, ResourceRegistry } from '../api/resource-registry.ts'
import { gvrKey } from '../kube/group-version.ts'
import type { ActiveShard } from './active-shard.ts'
import type { Verdict } from './backend-condition.ts'
import { clusterLags, lagText, type CachedLook } from './cluster-lag.ts'
import { bounded, objectsText } from './condition-text.ts'
import type { Plan } from './plan.ts'

export interface ConditionsInput {
  readonly registry: ResourceRegistry
  readonly plan: Pick<Plan, 'targets' | 'problems'>
  /** Those that this registry asks for. */
  readonly shards: readonly Pick<ActiveShard, 'planned' | 'synced' | 'failure' | 'leftOut'>[]
  /** Of the stores that mirror it; default: that is somebody else's to say. */
  readonly backend?: Verdict | undefined
  readonly cached: CachedLook
  /** Monotonic. */
  readonly nowMs: number
  /** RFC 3339, for conditions whose status changes. */
  readonly now: string
}

/**
 * `Ready`: everything that is asked for has been listed. `Synced`: and is being followed, so that answers are current.
 * `BackendHealthy`: the stores that mirror it take what they are given.
 * Conditions of other types are kept as they are.
 */
export function registryConditions(input: ConditionsInput): readonly Condition[] {
  const verdicts = new Map([
    ['Ready', readyOf(input)],
    ['Synced', syncedOf(input)],
    ...(input.backend === undefined ? [] : [['BackendHealthy', input.backend] as const]),
  ])
  const { conditions = [] } = input.registry.status ?? {}
  const others = conditions.filter(({ type }) => !verdicts.has(type))
  const { generation } = input.registry.metadata
  const ours = [...verdicts].map(([type, verdict]): Condition => {
    const before = conditions.find((condition) => condition.type === type)
    const since = before?.status === verdict.status ? before.lastTransitionTime : input.now
    const observed = generation === undefined ? {} : { observedGeneration: generation }
    return {
      type,
      status: verdict.status,
      ...observed,
      lastTransitionTime: since,
      reason: verdict.reason,
      message: verdict.message,
    }
  })
  return [...others, ...ours]
}

function readyOf({ registry, plan, shards, cached }: ConditionsInput): Verdict {
  const problems = plan.problems.filter((problem) => problem.registry === registry.metadata.name)
  const [problem] = problems
  if (problem !== undefined) {
    const messages = [...new Set(problems.map(({ message }) => message))]
    return { status: 'False', reason: problem.reason, message: bounded(messages, '; ') }
  }
  const missing = shards.filter(({ synced }) => !synced)
  if (missing.length > 0)
    return { status: 'False', reason: 'Listing', message: `not listed yet: ${clustersOf(missing)}` }
  const clusters = new Set(shards.map(({ planned }) => planned.cluster)).size
  const objects = objectsText(shards.reduce((sum, { planned }) => sum + (cached(planned)?.objects ?? 0), 0))
  const message = `${shards.length} resources in ${clusters} clusters are cached, ${objects}`
  return { status: 'True', reason: 'Listed', message }
}

/** Each cluster with what is cached of it and how far it is behind, the furthest first. */
function syncedOf({ shards, cached, nowMs }: ConditionsInput): Verdict {
  const message = bounded(clusterLags(shards, cached, nowMs).map(lagText), '; ')
  const failing = shards.filter(({ failure }) => failure !== undefined)
  if (failing.length > 0) return { status: 'False', reason: 'ClustersFail', message }
  if (shards.some(({ synced }) => !synced)) return { status: 'False', reason: 'Listing', message }
  if (shards.some(({ leftOut }) => leftOut > 0)) return { status: 'False', reason: 'ObjectsLeftOut', message }
  return { status: 'True', reason: 'Followed', message: message === '' ? 'nothing is cached' : message }
}

/** Says more than the last one did: a status, a reason or a generation, not only a wording. */
export function isNews(conditions: readonly Condition[], before: readonly Condition[] = []): boolean {
  return conditions.some(({ type, status, reason, observedGeneration }) => {
    const old = before.find((condition) => condition.type === type)
    return old?.status !== status || old.reason !== reason || old.observedGeneration !== observedGeneration
  })
}

/** `m1 (v1/pods: refused), m2, and 3 more`: each cluster with the first resource that fails there. */
function clustersOf(shards: ConditionsInput['shards']): string {
  const clusters = new Map<string, string>()
  for (const { planned, failure } of shards) {
    const { cluster, gvr } = planned
    if (clusters.has(cluster)) continue
    clusters.set(cluster, failure === undefined ? cluster : `${cluster} (${gvrKey(gvr)}: ${failure.code})`)
  }
  return bounded([...clusters.values()], ', ')
}

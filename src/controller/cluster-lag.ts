/**
 * How much of each cluster is cached for a registry, and how far it is behind, in words that seldom change: a status is
 * written where they do.
 */
import type { ClusterName } from '../kube/names.ts'
import type { ActiveShard } from './active-shard.ts'
import { gvrKey } from '../kube/group-version.ts'
import { lagStep, objectsText } from './condition-text.ts'
import type { PlannedShard } from './plan.ts'

/** What the cache has of one resource of one cluster. */
export interface CachedShard {
  readonly objects: number
  /** Monotonic ms when the member last said anything about it; undefined before the first list. */
  readonly heardAtMs: number | undefined
}

export type CachedLook = (shard: Pick<PlannedShard, 'cluster' | 'gvr'>) => CachedShard | undefined

export interface ClusterLag {
  readonly cluster: ClusterName
  readonly resources: number
  readonly objects: number
  /** Of the resource that is furthest behind; 0 while all are followed. */
  readonly lagMs: number
  /** Of that resource: `v1/pods: refused`. */
  readonly failure: string | undefined
  /** Resources that have not been listed yet. */
  readonly unlisted: number
  /** Objects that could not be read. */
  readonly leftOut: number
}

type Shard = Pick<ActiveShard, 'planned' | 'synced' | 'failure' | 'leftOut'>

/** The furthest behind first, then by name. */
export function clusterLags(shards: readonly Shard[], cached: CachedLook, nowMs: number): ClusterLag[] {
  const clusters = new Map<ClusterName, ClusterLag>()
  for (const { planned, synced, failure, leftOut } of shards) {
    const { cluster, gvr } = planned
    const { objects = 0, heardAtMs } = cached(planned) ?? {}
    const before = clusters.get(cluster) ?? {
      cluster,
      resources: 0,
      objects: 0,
      lagMs: 0,
      failure: undefined,
      unlisted: 0,
      leftOut: 0,
    }
    // A watch is silent for a minute now and then: only one that fails is behind.
    const lagMs = failure === undefined || heardAtMs === undefined ? 0 : Math.max(0, nowMs - heardAtMs)
    const isWorse = failure !== undefined && (before.failure === undefined || lagMs > before.lagMs)
    clusters.set(cluster, {
      cluster,
      resources: before.resources + 1,
      objects: before.objects + objects,
      lagMs: Math.max(before.lagMs, lagMs),
      failure: isWorse ? `${gvrKey(gvr)}: ${failure.code}` : before.failure,
      unlisted: before.unlisted + (synced ? 0 : 1),
      leftOut: before.leftOut + leftOut,
    })
  }
  return [...clusters.values()].sort((a, b) => rank(b) - rank(a) || (a.cluster < b.cluster ? -1 : 1))
}

/** `m1: 3 resources, about 1200 objects, current` or `…, more than 5 minutes behind (v1/pods: refused)`. */
export function lagText(lag: ClusterLag): string {
  const { cluster, resources, objects, unlisted, leftOut, failure } = lag
  const what = [`${resources} ${resources === 1 ? 'resource' : 'resources'}`, objectsText(objects)]
  if (unlisted > 0) what.push(`${unlisted} not listed yet`)
  if (leftOut > 0) what.push(`${leftOut} left out that could not be read`)
  what.push(failure === undefined ? 'current' : `${behindText(lag.lagMs)} (${failure})`)
  return `${cluster}: ${what.join(', ')}`
}

function behindText(lagMs: number): string {
  const step = lagStep(lagMs)
  return step === undefined ? 'behind' : `more than ${step} behind`
}

function rank({ failure, unlisted, leftOut, lagMs }: ClusterLag): number {
  if (failure !== undefined) return 3 + lagMs
  if (leftOut > 0) return 2
  return unlisted > 0 ? 1 : 0
}

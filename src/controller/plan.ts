/**
 * From registries, clusters and what each cluster serves to the shards that should be there. Pure: the same input gives
 * the same plan, in whatever order registries and members come.
 *
 * Rules:
 * - The namespaces that several registries name for one (cluster, resource) are united; one that names none widens to all.
 * - One version of a resource is cached in the whole fleet: the highest that registries name and a matching cluster
 *   serves; where only wildcards ask, the one cached before as long as it is served, else the one most clusters serve.
 * - What any registry redacts of a kind is taken out of it in all clusters, whoever else asks for it.
 * - A resource that registries name is registered even where no cluster matches or serves it, so that it is answered as
 *   empty and never by somebody else.
 * - A cluster whose discovery is not known has shards for what the others show (`served: false`): it is missing then,
 *   not silently left out.
 */
import type { ResourceRegistry } from '../api/resource-registry.ts'
import { groupResourceKey } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import { REDACT_ANNOTATION, redactionsOf } from '../kube/redaction.ts'
import { compareUtf8 } from '../util/bytes.ts'
import { matchesCluster } from './cluster-affinity.ts'
import { chooseVersion } from './choose-version.ts'
import type { PlanMember, PlannedResource, PlanProblem } from './plan-parts.ts'
import { resolveSelector, type KnownKinds } from './resolve-selector.ts'
import { servedBy } from './served-resources.ts'
import { Wanted } from './wanted.ts'

export interface PlanInput {
  readonly registries: readonly ResourceRegistry[]
  readonly members: readonly PlanMember[]
  /** Whatever any cluster or the control plane ever served. */
  readonly known: KnownKinds
  /** What is cached now, by `groupResourceKey`. */
  readonly cached: ReadonlyMap<string, PlannedResource>
  /** Of one cluster; default: as many as are asked for. */
  readonly maxResources?: number
}

export interface PlannedShard extends PlannedResource {
  readonly cluster: ClusterName
  readonly clusterUid: string
  /** Undefined: all. Never empty. */
  readonly namespaces: ReadonlySet<string> | undefined
  /** The cluster is known to serve it; until then no reflector runs. */
  readonly served: boolean
  /** The cluster has as many as may be cached without it: it is said to be missing. */
  readonly isBeyond: boolean
  /** Names of the registries that ask for it. */
  readonly registries: readonly string[]
  /** The namespaces that each of them asks for; undefined: all. */
  readonly claims: ReadonlyMap<string, ReadonlySet<string> | undefined>
}

export interface Plan {
  /** In the order of their groups and names. */
  readonly resources: readonly PlannedResource[]
  /** In the order of their clusters, then of the resources. */
  readonly shards: readonly PlannedShard[]
  readonly problems: readonly PlanProblem[]
  /** The clusters that each registry matches, in the byte order of their names. */
  readonly targets: ReadonlyMap<string, readonly ClusterName[]>
}

export function planShards({ registries, members, known, cached, maxResources = Infinity }: PlanInput): Plan {
  const ordered = members.toSorted((a, b) => compareUtf8(a.facts.name, b.facts.name))
  const wanted = new Map<string, Wanted>()
  const targets = new Map<string, readonly ClusterName[]>()
  const problems: PlanProblem[] = []
  for (const registry of registries.toSorted((a, b) => compareUtf8(a.metadata.name, b.metadata.name))) {
    const { name } = registry.metadata
    const matching = ordered.filter(({ facts }) => matchesCluster(registry.spec.targetCluster, facts))
    const clusters = matching.map(({ facts }) => facts.name)
    const target = new Set(clusters)
    targets.set(name, clusters)
    if (matching.length === 0) {
      problems.push({ registry: name, reason: 'NoClusterMatches', message: 'no cluster matches spec.targetCluster' })
    }
    for (const selector of registry.spec.resourceSelectors) {
      const resolved = resolveSelector(selector, matching, known, cached.values())
      for (const wish of resolved.wishes) {
        const key = groupResourceKey(wish)
        const all = wanted.get(key) ?? new Wanted(wish)
        wanted.set(key, all)
        all.add(name, wish, selector.namespace, target)
      }
      problems.push(...resolved.problems.map((problem) => ({ registry: name, ...problem })))
    }
  }
  const redactionOf = redactionsOf(
    registries.flatMap(({ metadata }) => metadata.annotations?.[REDACT_ANNOTATION] ?? []),
  )
  return { targets, ...assemble(ordered, wanted, problems, cached, redactionOf, maxResources) }
}

function assemble(
  members: readonly PlanMember[],
  wanted: ReadonlyMap<string, Wanted>,
  problems: readonly PlanProblem[],
  cached: PlanInput['cached'],
  redactionOf: ReturnType<typeof redactionsOf>,
  maxResources: number,
): Pick<Plan, 'resources' | 'shards' | 'problems'> {
  const wants = [...wanted.values()]
    .sort((a, b) => compareUtf8(a.key, b.key))
    .map((want) => ({ want, resource: resourceOf(want, members, cached, redactionOf) }))
  const shards = members.flatMap((member) =>
    wants
      .map(({ want, resource }) => shardOf(member, want, resource))
      .filter((shard) => shard !== undefined)
      .map((shard, at) => (at < maxResources ? shard : { ...shard, isBeyond: true })),
  )
  return {
    resources: wants.map(({ resource }) => resource),
    shards,
    problems: [
      ...problems,
      ...wants.flatMap(({ want, resource }) => otherVersions(want, resource.gvr.version)),
      ...tooMany(shards, maxResources),
    ],
  }
}

function resourceOf(
  want: Wanted,
  members: readonly PlanMember[],
  cached: PlanInput['cached'],
  redactionOf: ReturnType<typeof redactionsOf>,
): PlannedResource {
  const version = chooseVersion(want, members, cached.get(want.key)?.gvr.version)
  const { group, resource, kind, namespaced } = want
  const redaction = redactionOf(want)
  return { gvr: { group, version, resource }, kind, namespaced, ...(redaction === '' ? {} : { redaction }) }
}

/**
 * Undefined where no registry wants the resource of this cluster, or the cluster is known not to serve it; one that gives
 * the name to another kind or scope does not.
 */
function shardOf({ facts, resources }: PlanMember, want: Wanted, resource: PlannedResource): PlannedShard | undefined {
  const scope = want.scopeOf(facts.name)
  if (scope === undefined) return undefined
  const { kind, namespaced, gvr } = resource
  if (resources !== undefined) {
    const found = servedBy(resources)
      .versions(want.key)
      .find(({ version }) => version === gvr.version)
    if (found?.kind !== kind || found.namespaced !== namespaced) return undefined
  }
  const served = resources !== undefined
  return { cluster: facts.name, clusterUid: facts.uid, ...resource, served, isBeyond: false, ...scope }
}

/** One for each cluster and registry that it concerns. */
function tooMany(shards: readonly PlannedShard[], limit: number): PlanProblem[] {
  const missing = new Map<string, PlanProblem & { count: number }>()
  for (const { cluster, registries } of shards.filter(({ isBeyond }) => isBeyond)) {
    for (const registry of registries) {
      const key = `${registry} ${cluster}`
      const count = (missing.get(key)?.count ?? 0) + 1
      const message = `${cluster} has ${count} more resources than the ${limit} that are cached of a cluster`
      missing.set(key, { registry, reason: 'TooManyResources', message, count })
    }
  }
  return [...missing.values()].map(({ registry, reason, message }) => ({ registry, reason, message }))
}

function otherVersions(want: Wanted, version: string): PlanProblem[] {
  const message = `${want.key} is cached as ${version} for another registry`
  return want.namedBy
    .filter((named) => named.version !== version)
    .map(({ registry }) => ({ registry, reason: 'OtherVersionCached', message }))
}

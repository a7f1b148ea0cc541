/** What stands in the indices of a shard: compared with a manifest, summed up, removed. */
import { apiVersionOf } from '../../kube/group-version.ts'
import type { ManifestEntry, ObjectName, ShardDigest, ShardIdentity, StoredShard } from '../backend-store.ts'
import { documents } from './counts.ts'
import { pathOf, type EngineClient } from './engine-client.ts'
import { EngineError, failureError, isEngineError } from './engine-errors.ts'
import type { Indices } from './indices.ts'
import { shardKey, splitShardKey, splitTie } from './keys.ts'
import { and, anyOf, not, type Query } from './query.ts'
import { FIELD } from './schema.ts'
import type { Buckets, EngineHit, Searcher } from './searcher.ts'

/** A shard of a hundred thousand documents is removed in about a minute. */
const DROP_TIMEOUT_MS = 30 * 60_000
const MAX_DROP_ROUNDS = 5

/** Shards of a fleet: clusters times kinds. */
const MAX_SHARDS = 60_000

type Shard = Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>

export function shardQuery(shard: Shard): Query {
  return anyOf(FIELD.shard, [shardKey(shard)])
}

/** Documents of the present version of the resource, in an index of the present mapping. */
function presentQuery(shard: ShardIdentity, index: string): Query {
  return and([
    anyOf(FIELD.value('apiversion'), [`=${apiVersionOf(shard)}`]),
    anyOf(FIELD.value('kind'), [`=${shard.kind}`]),
    { term: { _index: index } },
  ])
}

export async function digestOfShard(search: Searcher, indices: Indices, shard: ShardIdentity): Promise<ShardDigest> {
  const current = indices.current(shard.kind)
  const sum = { sum: { sum: { field: FIELD.hash } } }
  const { hits, aggregations } = await search({
    query: shardQuery(shard),
    size: 0,
    track_total_hits: true,
    aggs: { present: { filter: presentQuery(shard, current), aggs: sum } },
  })
  const present = aggregations?.['present'] as { sum: { value: number } } | undefined
  return { objects: hits.total?.value ?? 0, hashSum: present?.sum.value ?? 0 }
}

export async function compareShard(
  client: EngineClient,
  search: Searcher,
  indices: Indices,
  shard: ShardIdentity,
  manifest: AsyncIterable<readonly ManifestEntry[]>,
): Promise<ObjectName[]> {
  await removeOtherKinds(client, search, indices, shard)
  const standing = await entriesOf(search, shard, indices.current(shard.kind))
  const names: ObjectName[] = []
  for await (const entries of manifest) {
    for (const { namespace, name, uid, resourceVersion } of entries) {
      const found = standing.get(`${namespace}/${name}`)
      standing.delete(`${namespace}/${name}`)
      if (found !== `${uid}\n${resourceVersion}`) names.push({ namespace, name })
    }
  }
  await indices.dropEmpty(shard.kind)
  return [...names, ...[...standing.keys()].map(splitName)]
}

/** UID and version by name; what is of another version of the resource or of the mapping is of none. */
async function entriesOf(search: Searcher, shard: ShardIdentity, index: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const fields = [FIELD.resourceVersion, FIELD.value('apiversion')]
  for await (const hits of documents(search, shardQuery(shard), fields)) {
    for (const hit of hits) {
      const { namespace, name, uid } = splitTie(String(hit.sort?.[0]))
      const key = `${namespace}/${name}`
      const present = hit._index === index && valueOf(hit, FIELD.value('apiversion')) === `=${apiVersionOf(shard)}`
      const stale = !present || found.has(key)
      found.set(key, stale ? '' : `${uid}\n${valueOf(hit, FIELD.resourceVersion)}`)
    }
  }
  return found
}

function valueOf({ fields }: EngineHit, field: string): string {
  return String(fields?.[field]?.[0] ?? '')
}

/** Namespaces have no slash; a name may. */
function splitName(key: string): ObjectName {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Of a resource that has another kind now: they stand in the index of the old one, where no change of theirs goes. */
async function removeOtherKinds(
  client: EngineClient,
  search: Searcher,
  { names }: Indices,
  shard: ShardIdentity,
): Promise<void> {
  const query = and([shardQuery(shard), not(anyOf(FIELD.value('kind'), [`=${shard.kind}`]))])
  const { hits } = await search({ query, size: 0, track_total_hits: true })
  if ((hits.total?.value ?? 0) > 0) await removeAll(client, names.all, query)
}

/** Rejects where any document may be left. */
export async function removeAll(client: EngineClient, indices: string, query: Query): Promise<void> {
  for (let round = 0; round < MAX_DROP_ROUNDS; round++) {
    try {
      const { version_conflicts: conflicts, failures = [] } = await client.request<Removal>({
        method: 'POST',
        path: pathOf(indices, '_delete_by_query'),
        query: { conflicts: 'proceed', refresh: true },
        body: { query },
        timeoutMs: DROP_TIMEOUT_MS,
      })
      if (failures.length > 0) throw failureError(200, failures)
      if (conflicts === 0) return
    } catch (error) {
      if (isEngineError(error) && error.status === 404) return // no index yet
      throw error
    }
  }
  throw new EngineError(429, '', 'documents change faster than they can be removed')
}

interface Removal {
  readonly version_conflicts: number
  /** Elasticsearch tells of some under a status of 200. */
  readonly failures?: readonly unknown[]
}

export async function storedShards(search: Searcher, query: Query): Promise<StoredShard[]> {
  const terms = { field: FIELD.shard, size: MAX_SHARDS, shard_size: MAX_SHARDS }
  const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs: { shards: { terms } } })
  const { buckets } = (aggregations?.['shards'] as Buckets | undefined) ?? { buckets: [] }
  return buckets.map(({ key, doc_count: objects }) => ({ ...splitShardKey(key), objects }))
}

/**
 * `search/query`: full-text and structured search over all cached objects.
 *
 *     ?q=image:nginx restarts>0&sort=-restarts&limit=50&continue=…&facets=cluster,namespace&facetLimit=10&fields=name,node
 *
 * Answers a QueryResult: `total` (exact or a bound, see `totalIsExact`), `items` of `{rank, object}` or with `fields` of
 * `{rank, fields}`, `facets` by name, `continue` where there is more, `warnings` of how the query was read, `freshness` of
 * each cluster and of the index. The store finds, the cache shows: an object that is gone since is left out and counted.
 */
import type { CacheReader, CachedObject } from '../cache/reader.ts'
import type { ApiHandler, ApiRequest } from '../http/api-request.ts'
import { BodyWriter } from '../http/body-writer.ts'
import { freshnessHeaders, freshnessOf, type ClusterFreshness } from '../http/freshness.ts'
import type { Rights } from '../http/rights.ts'
import { methodNotAllowed, pathNotFound } from '../http/status-response.ts'
import { columnKinds, columnsOf } from '../kube/columns/index.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import { parseExact } from '../kube/json-exact.ts'
import { isStatusError, StatusError } from '../kube/status-error.ts'
import { fieldValues } from '../query/field-values.ts'
import { FieldCatalog } from '../query/fields.ts'
import type { FacetResult, SearchHit, SearchResult, SearchStore } from '../query/search-request.ts'
import { traceClient } from '../telemetry/tracing.ts'
import type { Clock } from '../util/clock.ts'
import type { ClusterNames } from './known-resources.ts'
import { readQueryOptions, type NamedField, type QueryOptions } from './query-options.ts'
import { encodeQueryToken } from './query-token.ts'
import { documentsVisibleTo, type VisibleToCaller } from './visible-documents.ts'

export interface QueryHandlerOptions {
  /** Undefined: everybody sees everything. */
  readonly rights?: Rights | undefined
  readonly store: SearchStore
  readonly cache: CacheReader
  readonly clock: Clock
  /** The clusters there are, so that one of which nothing is cached is told as missing. */
  readonly clusters?: ClusterNames
  /** How far the store is behind the cache; left out of answers without it. */
  readonly index?: { status(): IndexStatus }
}

export interface IndexStatus {
  readonly pending: number
  readonly lagMs: number
  /** False while the store may lack what the cache has had for a while: totals are then no more than a bound. */
  readonly complete: boolean
}

export function createQueryHandler(options: QueryHandlerOptions): ApiHandler {
  const catalog = new FieldCatalog(columnKinds().map(({ columns }) => columns))
  return async (request, response) => {
    checkRequest(request)
    const query = readQueryOptions(request.query, catalog, options.clock.nowMs())
    const visible = await documentsVisibleTo(options.rights, options.cache, request)
    // Asked before the search: what is written meanwhile may or may not be found.
    const index = options.index?.status()
    const result = await search(options.store, query, visible)
    const totalIsExact = result.totalIsExact && index?.complete !== false
    const freshness = clusterFreshness(options, visible, options.clock.monotonicMs())
    const body = new BodyWriter(request.incoming, response, {
      headers: { 'content-type': 'application/json', ...freshnessHeaders(freshness) },
    })
    const { gone } = await writeItems(body, { ...result, totalIsExact }, query, options.cache)
    body.writeText(`],${JSON.stringify(tailOf(result, query, freshness, gone, index)).slice(1)}`)
    await body.end()
  }
}

const INCOMPLETE = 'not everything that is cached is searchable yet: there may be more'

function checkRequest({ method, path }: ApiRequest): void {
  if (path !== '' && path !== '/') throw pathNotFound()
  if (method !== 'GET' && method !== 'HEAD') {
    throw methodNotAllowed({ group: 'search.karmada.io', resource: 'search' }, method.toLowerCase())
  }
}

/** A store that fails is told as 503; what it finds wrong with the request is not. */
async function search(
  store: SearchStore,
  { request }: QueryOptions,
  { documents }: VisibleToCaller,
): Promise<SearchResult> {
  try {
    const start = { name: 'search store', attributes: { 'db.operation.name': 'search' } }
    return await traceClient(
      () => start,
      () => store.search(documents === undefined ? request : { ...request, visible: documents }),
    )
  } catch (error) {
    if (isStatusError(error)) throw error
    throw new StatusError('serviceUnavailable', 'the search store cannot answer at the moment', { cause: error })
  }
}

async function writeItems(
  body: BodyWriter,
  result: SearchResult,
  query: QueryOptions,
  cache: CacheReader,
): Promise<{ gone: number }> {
  const { total, totalIsExact, hits } = result
  const head = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'QueryResult', total, totalIsExact }
  body.writeText(`${JSON.stringify(head).slice(0, -1)},"items":[`)
  let written = 0
  for (const hit of hits) {
    const object = objectOf(cache, hit)
    if (object === undefined) continue
    body.writeText(`${written++ === 0 ? '' : ','}{"rank":${hit.rank},`)
    if (query.fields === undefined) writeObject(body, object)
    else body.writeText(`"fields":${shownFields(hit, object, query.fields)}}`)
    await body.ready()
  }
  return { gone: hits.length - written }
}

function writeObject(body: BodyWriter, object: CachedObject): void {
  body.writeText('"object":')
  body.write(object.bytes)
  body.writeText('}')
}

/** The object of a hit as it is now; undefined where it is gone, or another took its name. */
function objectOf(cache: CacheReader, hit: SearchHit): CachedObject | undefined {
  const object = cache.resource(hit)?.get(hit.cluster as CachedObject['cluster'], hit.namespace, hit.name)
  return object?.uid === hit.uid ? object : undefined
}

/** One value as it is, several as a list, none as null. */
function shownFields(hit: SearchHit, { bytes, resourceVersion }: CachedObject, fields: readonly NamedField[]): string {
  const object = parseExact(bytes) as JsonObject
  const columns = columnsOf(hit)
  const shown = fields.map(({ name, field }) => {
    const values = fieldValues(field, object, { ...hit, resourceVersion }, columns)
    return [name, values.length > 1 ? values : (values[0] ?? null)] as const
  })
  return JSON.stringify(Object.fromEntries(shown))
}

function tailOf(
  { hits, more, facets }: SearchResult,
  query: QueryOptions,
  freshness: readonly ClusterFreshness[],
  gone: number,
  index: IndexStatus | undefined,
): object {
  const last = hits.at(-1)
  const next =
    more && last !== undefined
      ? encodeQueryToken({ nowMs: query.nowMs, cursor: last.cursor }, query.signature)
      : undefined
  const warnings = index?.complete === false ? [...query.warnings, INCOMPLETE] : query.warnings
  return {
    ...(gone === 0 ? {} : { gone }),
    facets: facetsByName(query.facets, facets),
    ...(next === undefined ? {} : { continue: next }),
    ...(warnings.length === 0 ? {} : { warnings }),
    freshness: freshness.map(shownFreshness),
    ...(index === undefined ? {} : { index: { pending: index.pending, lagSeconds: seconds(index.lagMs) } }),
  }
}

function facetsByName(named: readonly NamedField[], results: readonly FacetResult[]): object {
  return Object.fromEntries(
    named.map(({ name }, i) => [name, { distinct: results[i]?.distinct ?? 0, values: results[i]?.values ?? [] }]),
  )
}

const WORST_FIRST = ['missing', 'syncing', 'stale', 'live'] as const

function shownFreshness({ cluster, state, ageMs, inPart }: ClusterFreshness): object {
  return { cluster, state, ageSeconds: seconds(ageMs), ...(inPart === true ? { inPart } : {}) }
}

/** For each cluster the worst of its resources; a cluster of which the caller may see nothing is missing. */
function clusterFreshness(
  { cache, clusters }: QueryHandlerOptions,
  { hidden, inPart }: VisibleToCaller,
  nowMs: number,
): ClusterFreshness[] {
  const worst = new Map<string, ClusterFreshness>()
  for (const resource of cache.resources()) {
    for (const shard of resource.shards()) {
      const found = freshnessOf(shard, nowMs)
      const known = worst.get(found.cluster)
      if (known === undefined || isWorse(found, known)) worst.set(found.cluster, found)
    }
  }
  for (const cluster of clusters?.names() ?? []) {
    if (!worst.has(cluster)) worst.set(cluster, { cluster, state: 'missing', reason: 'nothing of it is cached' })
  }
  const told = [...worst.values()].map((found): ClusterFreshness => {
    const reason = hidden.get(found.cluster)
    if (reason !== undefined) return { cluster: found.cluster, state: 'missing', reason }
    return inPart.has(found.cluster) ? { ...found, inPart: true } : found
  })
  return told.sort((a, b) => Buffer.compare(Buffer.from(a.cluster), Buffer.from(b.cluster)))
}

function isWorse(a: ClusterFreshness, b: ClusterFreshness): boolean {
  const order = WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state)
  return order !== 0 ? order < 0 : (a.ageMs ?? 0) > (b.ageMs ?? 0)
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1_000)
}

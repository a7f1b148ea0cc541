/**
 * `search/query`: full-text and structured search over all cached objects.
 *
 *     ?q=image:nginx restarts>0&sort=-restarts&limit=50&continue=…&facets=cluster,namespace&facetLimit=10&fields=name,node
 *
 * Answers a QueryResult: `total` (exact or a bound, see `totalIsExact`), `items` of `{rank, object}` or with `fields` of
 * `{rank, fields}`, `facets` by name, `continue` where there is more, `warnings` of how the query was read, `freshness` of
 * each cluster and of the index. As NDJSON or CSV it answers all there is, row by row (`export.ts`). The store finds, the
 * cache shows: an object that is gone since is left out and counted.
 */
import { sendBody } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import type { BodyWriter } from '../http/body-writer.ts'
import { badRequest } from '../kube/status-error.ts'
import { explained } from '../query/explain.ts'
import type { FacetResult, SearchRequest, SearchResult, SearchStore } from '../query/search-request.ts'
import { sendExport } from './export.ts'
import { foundObjects, shownFields, type FoundObjects } from './found-object.ts'
import { highlightsOf } from './highlight.ts'
import { flag, type NamedField } from './parameters.ts'
import { Places } from './places.ts'
import { readQueryOptions, type QueryOptions } from './query-options.ts'
import { encodeQueryToken } from './query-token.ts'
import { serveQueryWatch } from './query-watch.ts'
import { jsonRow } from './row-format.ts'
import { asked, createSearchEndpoint, isComplete, tailOf, userOf, visibleOf, type SearchCall } from './search-call.ts'
import type { SearchParts } from './search-parts.ts'
import type { Used } from './search-usage.ts'
import { withoutTypos, type Expansion } from './typos.ts'
import { isStoreOrder, searchByValues } from './value-order.ts'
import { ValuePlaces } from './value-places.ts'

/**
 * Below `query/proxy` no limit of requests in flight holds, so it has its own: every watch looks at every change of what it
 * is about, every export reads as long as its client does.
 */
const MAX_WATCHES = 200
const MAX_LONG_ANSWERS = 32

export function createQueryHandler(parts: SearchParts): ApiHandler {
  const watches = new Places('watches of queries', MAX_WATCHES, MAX_WATCHES / 2)
  const answers = new Places('answers below query/proxy', MAX_LONG_ANSWERS, MAX_LONG_ANSWERS / 2)
  const values = new ValuePlaces(parts.usage)
  parts.usage?.watch('query_watches', watches)
  parts.usage?.watch('long_answers', answers)
  parts.usage?.watch('snapshots', heldSnapshots(parts.store))
  return createSearchEndpoint(parts, async (call) => {
    if (flag(call.parameters, 'watch')) {
      if (!call.long) throw badRequest('watch: a query is watched at search/query/proxy')
      return watches.run(userOf(call), () => serveQueryWatch(call))
    }
    return call.long ? answers.run(userOf(call), () => sendAnswer(call, values)) : sendAnswer(call, values)
  })
}

function heldSnapshots(store: SearchStore): Used {
  return {
    now: () => store.heldSnapshots?.().now ?? 0,
    get most() {
      return store.heldSnapshots?.().most ?? 0
    },
  }
}

function sendAnswer(call: SearchCall, values: ValuePlaces): Promise<void> {
  const { parameters, fields, format, parts } = call
  const context = { catalog: fields, parts, wallMs: parts.clock.nowMs(), rows: format !== 'json' }
  const read = readQueryOptions(parameters, context)
  return format === 'json' ? sendPage(call, read, values) : sendExport(call, read, values)
}

async function sendPage(call: SearchCall, options: QueryOptions, values: ValuePlaces): Promise<void> {
  const { result, request, expansions } = await searchOf(call, options, values)
  const objects = foundObjects(call.parts)
  const headers = { 'content-type': 'application/json', ...call.headers }
  await sendBody(call.exchange, { headers }, async (body) => {
    const { total, totalIsExact } = result
    const exact = totalIsExact && isComplete(call)
    const head = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'QueryResult', total, totalIsExact: exact }
    body.writeText(`${JSON.stringify(head).slice(0, -1)},"items":[`)
    const { gone } = await writeItems(body, result, { ...options, request }, objects)
    body.writeText(`],${JSON.stringify(pageTail(call, options, result, gone, expansions)).slice(1)}`)
  })
}

/** With what a typing error may have meant where the query as it stands finds nothing. */
async function searchOf(call: SearchCall, options: QueryOptions, { sorts }: ValuePlaces) {
  const request = { ...options.request, ...visibleOf(call) }
  const { store, clock } = call.parts
  const { signal } = call.exchange.request
  const search = (of: SearchRequest): Promise<SearchResult> =>
    isStoreOrder(of)
      ? asked(() => store.search(of))
      : sorts.run(userOf(call), () => searchByValues({ store, objects: foundObjects(call.parts), clock, signal }, of))
  const result = await search(request)
  const isTypo = options.typos && result.total === 0 && request.ranked.length > 0
  const corrected = isTypo ? await asked(() => withoutTypos(store, request)) : undefined
  if (corrected === undefined) return { result, request, expansions: [] }
  return { result: await search(corrected.request), ...corrected }
}

async function writeItems(
  body: BodyWriter,
  { hits }: SearchResult,
  options: QueryOptions,
  objects: FoundObjects,
): Promise<{ gone: number }> {
  let written = 0
  for (const hit of hits) {
    const object = await objects.of(hit)
    if (object === undefined) continue
    body.writeText(`${written++ === 0 ? '' : ','}{"rank":${hit.rank},`)
    if (options.highlight) {
      body.writeText(`"highlights":${JSON.stringify(highlightsOf(options.request, hit, object.bytes))},`)
    }
    if (options.fields === undefined) {
      body.writeText('"object":')
      body.write(object.bytes)
    } else {
      const cells = await shownFields(objects, hit, object, options.fields)
      body.writeText(
        `"fields":${jsonRow(
          options.fields.map(({ name }) => name),
          cells,
        )}`,
      )
    }
    body.writeText('}')
    await body.ready()
  }
  return { gone: hits.length - written }
}

function pageTail(
  call: SearchCall,
  options: QueryOptions,
  { hits, more, facets }: SearchResult,
  gone: number,
  expansions: readonly Expansion[],
): object {
  const last = hits.at(-1)
  const next =
    more && last !== undefined
      ? encodeQueryToken({ nowMs: options.nowMs, cursor: last.cursor }, options.signature)
      : undefined
  const warnings = [...options.query.warnings, ...expansions.map(expansionText)]
  return {
    ...(gone === 0 ? {} : { gone }),
    facets: facetsByName(options.facets, facets),
    ...(next === undefined ? {} : { continue: next }),
    ...(options.explain ? { explain: { ...explained(options.query), expansions } } : {}),
    ...tailOf(call, warnings),
  }
}

function expansionText({ word, terms }: Expansion): string {
  return `nothing has ${JSON.stringify(word)}: searched for ${terms.slice(0, 5).join(', ')}${terms.length > 5 ? ', …' : ''}`
}

function facetsByName(named: readonly NamedField[], results: readonly FacetResult[]): object {
  return Object.fromEntries(
    named.map(({ name }, i) => [name, { distinct: results[i]?.distinct ?? 0, values: results[i]?.values ?? [] }]),
  )
}

/**
 * Everything a query finds, as rows: page by page from the store, with the reader's own pace. Without `snapshot` objects
 * that come and go meanwhile may be there or not, and those that stay are there once; with it the rows are of one moment,
 * as far as the store and the cache's window reach. A body that cannot be finished is cut, never ended as if it were whole.
 */
import { sendBody } from '../http/answer.ts'
import type { BodyWriter } from '../http/body-writer.ts'
import { StatusError } from '../kube/status-error.ts'
import type { SearchHit, SearchRequest, SearchResult, SearchStore } from '../query/search-request.ts'
import { foundObjects, pinnedObjects, shownFields, type FoundObjects } from './found-object.ts'
import type { NamedField } from './parameters.ts'
import type { QueryOptions } from './query-options.ts'
import { CONTENT_TYPES, headRow, row } from './row-format.ts'
import { asked, isComplete, userOf, visibleOf, type SearchCall } from './search-call.ts'
import { StallWatch } from './stall-watch.ts'
import { isStoreOrder, MAX_ORDERED, searchByValues, type ValueSource } from './value-order.ts'
import type { ValuePlaces } from './value-places.ts'

const PAGE = 500

/** What CSV shows where nothing is named. */
const DEFAULT_FIELDS = ['cluster', 'kind', 'namespace', 'name', 'created']

/** `Fleetsearch-Total` says how many there are; `Fleetsearch-Total-Is-Exact` whether that is no bound. */
export function sendExport(call: SearchCall, options: QueryOptions, values: ValuePlaces): Promise<void> {
  if (isStoreOrder(options.request)) return sendAll(call, options, STORE_ORDER)
  return values.exports.run(userOf(call), async () => {
    const { request, response } = call.exchange
    const watch = new StallWatch(call.parts.clock, response)
    try {
      await sendAll(call, options, {
        page: MAX_ORDERED, // what is ordered here is ordered once
        searched: ({ store, pin: objects }) => ({
          search: (asked) => {
            const source = { store, objects, clock: call.parts.clock, signal: request.signal }
            return values.sorts.run(userOf(call), () => orderOnce(source, asked, options))
          },
        }),
        onRow: () => watch.moved(),
      })
    } finally {
      watch.end()
    }
  })
}

/** How rows come by. */
interface Way {
  readonly page: number
  readonly searched: (source: Source) => Pick<SearchStore, 'search'>
  readonly onRow: () => void
}

const STORE_ORDER: Way = { page: PAGE, searched: ({ store }) => store, onRow: () => undefined }

async function sendAll(call: SearchCall, options: QueryOptions, { page, searched, onRow }: Way): Promise<void> {
  const source = await openSource(call, options)
  try {
    const store = searched(source)
    const request = { ...options.request, ...visibleOf(call), facets: [], limit: Math.min(page, options.request.limit) }
    const first = await asked(() => store.search(request))
    const headers = {
      'content-type': CONTENT_TYPES[call.format],
      'fleetsearch-total': String(first.total),
      'fleetsearch-total-is-exact': String(first.totalIsExact && isComplete(call)),
      ...call.headers,
    }
    await sendBody(call.exchange, { headers }, (body) =>
      writeRows(call, options, { store, objects: source.pin, request, first, onRow }, body),
    )
  } finally {
    await source.close()
  }
}

/** Hits without their keys: they are kept while they are sent, and no page comes behind. */
async function orderOnce(source: ValueSource, request: SearchRequest, { request: { limit } }: QueryOptions) {
  const result = await searchByValues(source, request, limit > MAX_ORDERED ? MAX_ORDERED : undefined)
  return { ...result, hits: result.hits.map((hit) => ({ ...hit, cursor: [] })) }
}

const NO_SNAPSHOTS = new StatusError('notImplemented', 'snapshot: the search store of this server cannot hold a state')

interface Source {
  readonly store: Pick<SearchStore, 'search'>
  readonly pin: FoundObjects
  close(): Promise<void>
}

async function openSource({ parts }: SearchCall, { snapshot }: QueryOptions): Promise<Source> {
  if (!snapshot) return { store: parts.store, pin: foundObjects(parts), close: () => Promise.resolve() }
  const { store } = parts
  const held = await asked(() => store.snapshot?.() ?? Promise.reject(NO_SNAPSHOTS))
  return { store: held, pin: pinnedObjects(parts), close: () => held.close() }
}

interface Walk {
  readonly store: Pick<SearchStore, 'search'>
  readonly objects: FoundObjects
  readonly request: SearchRequest
  readonly first: SearchResult
  readonly onRow: () => void
}

async function writeRows(call: SearchCall, options: QueryOptions, walk: Walk, body: BodyWriter): Promise<void> {
  const fields = options.fields ?? (call.format === 'csv' ? defaultFields(call) : undefined)
  body.writeText(headRow(call.format, fields?.map(({ name }) => name) ?? []))
  let left = options.request.limit
  for (let page = walk.first; ;) {
    for (const hit of page.hits.slice(0, left)) {
      await writeRow(call, walk.objects, hit, fields, body)
      await body.ready()
      walk.onRow()
    }
    left -= page.hits.length
    const last = page.hits.at(-1)
    if (!page.more || last === undefined || left <= 0) return
    call.exchange.request.signal.throwIfAborted()
    page = await asked(() => walk.store.search({ ...walk.request, after: last.cursor }))
  }
}

/** Objects stand one on a line; what is gone since it was found is left out. */
async function writeRow(
  call: SearchCall,
  objects: FoundObjects,
  hit: SearchHit,
  fields: readonly NamedField[] | undefined,
  body: BodyWriter,
): Promise<void> {
  const object = await objects.of(hit)
  if (object === undefined) return
  if (fields === undefined) {
    body.write(object.bytes)
    body.writeText('\n')
    return
  }
  const cells = await shownFields(objects, hit, object, fields)
  body.writeText(
    row(
      call.format,
      fields.map(({ name }) => name),
      cells,
    ),
  )
}

function defaultFields({ fields }: SearchCall): NamedField[] {
  return DEFAULT_FIELDS.flatMap((name) => {
    const field = fields.find(name)
    return field === undefined ? [] : [{ name, field }]
  })
}

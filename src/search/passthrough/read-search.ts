/** The body of a search: what of it is let through, and what it becomes. */
import type { NativeRequest } from '../../query/native-search.ts'
import { optional, Piece, type Members } from './piece.ts'
import { readAggregations } from './read-aggregations.ts'
import { readHighlight } from './read-highlight.ts'
import { readNativeQuery } from './read-query.ts'
import { columnFields, shownFields, sourceOf, withDocument } from './read-shown.ts'
import { MAX_SORTS, readSort } from './read-sort.ts'

export type NativeBody = Omit<NativeRequest, 'kinds' | 'visible'>

/** What is not here (scripts, suggest, scroll, points in time, profile, …) is refused by its name. */
export const BODY = [
  'query',
  'size',
  'from',
  'sort',
  'search_after',
  '_source',
  'track_total_hits',
  'aggs',
  'aggregations',
  'highlight',
  'fields',
  'docvalue_fields',
  'stored_fields',
  'script_fields',
  'runtime_mappings',
  'version',
  'timeout',
  'terminate_after',
] as const

const DEFAULT_SIZE = 10
const MAX_SIZE = 1_000
/** The default of `index.max_result_window`; whoever reads further uses `search_after`. */
const MAX_WINDOW = 10_000
/** As engines count where nothing is said. */
const COUNTED_EXACTLY = 10_000

/** `body` as parsed; undefined: none. Throws `badRequest` with the path of what is not allowed. */
export function readNativeSearch(body: unknown): NativeBody {
  const root = new Piece(body ?? {}, '')
  const members = root.object(BODY)
  const size = members.get('size')?.integer(0, MAX_SIZE) ?? DEFAULT_SIZE
  const from = members.get('from')?.integer(0, MAX_WINDOW) ?? 0
  if (from + size > MAX_WINDOW) throw root.refused(`from and size reach beyond ${MAX_WINDOW}: use search_after`)
  const sortPiece = members.get('sort')
  const sort = sortPiece === undefined ? [] : readSort(sortPiece)
  const after = members.get('search_after')
  if (after !== undefined && from > 0) throw after.refused('not together with from')
  const aggregations = members.get('aggs') ?? members.get('aggregations')
  const tracked = members.get('track_total_hits')
  const stored = members.get('stored_fields')
  const source = members.get('_source')
  for (const name of ['script_fields', 'runtime_mappings']) members.get(name)?.object([])
  // An engine's count of how often it wrote a document is nobody's: it is taken, and not answered.
  members.get('version')?.boolean()
  // A search that ends before its end would tell a part for the whole.
  members.get('timeout')?.text()
  members.get('terminate_after')?.integer(0, Number.MAX_SAFE_INTEGER)
  return {
    query: queryOf(members),
    size,
    from,
    sort,
    trackTotalHits: tracked === undefined ? COUNTED_EXACTLY : countedTo(tracked),
    ...(after === undefined ? {} : { searchAfter: cursor(after, sort.length) }),
    ...(aggregations === undefined ? {} : { aggregations: readAggregations(aggregations) }),
    // Who names stored fields gets no document unless he asks for that, too.
    ...(source !== undefined
      ? { source: sourceOf(source) }
      : stored === undefined
        ? {}
        : { source: withDocument(stored) }),
    ...optional(members, 'fields', shownFields),
    ...renamed('docvalueFields', members.get('docvalue_fields'), columnFields),
    ...optional(members, 'highlight', readHighlight),
  }
}

function renamed<T>(name: string, piece: Piece | undefined, read: (piece: Piece) => T): Readonly<Record<string, T>> {
  return piece === undefined ? {} : { [name]: read(piece) }
}

/** The query of a count, which takes nothing else. */
export function readNativeCount(body: unknown): NativeBody {
  const query = queryOf(new Piece(body ?? {}, '').object(['query']))
  return { query, size: 0, from: 0, sort: [], trackTotalHits: true }
}

function queryOf(members: Members): object {
  const query = members.get('query')
  return query === undefined ? { match_all: {} } : readNativeQuery(query)
}

function countedTo(piece: Piece): boolean | number {
  return typeof piece.value === 'number' ? piece.integer(1, Number.MAX_SAFE_INTEGER) : piece.boolean()
}

/** The sort values of the last hit, with the key of ours behind them. */
function cursor(piece: Piece, sorts: number): (string | number | boolean | null)[] {
  const values = piece.list(MAX_SORTS + 1).map((value) => (value.value === null ? null : value.scalar()))
  if (values.length !== sorts + 1) {
    throw piece.refused(`expected ${sorts + 1} values: all of the sort of the last hit, whose last one breaks ties`)
  }
  return values
}

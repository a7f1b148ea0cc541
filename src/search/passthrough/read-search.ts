/** The body of a search: what of it is let through, and what it becomes. */
import type { NativeRequest } from '../../query/native-search.ts'
import { optional, Piece, type Members } from './piece.ts'
import { readAggregations } from './read-aggregations.ts'
import { readNativeQuery } from './read-query.ts'

export type NativeBody = Omit<NativeRequest, 'kinds' | 'visible'>

/** What is not here (scripts, suggest, scroll, points in time, runtime fields, profile, …) is refused by its name. */
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
] as const

const DEFAULT_SIZE = 10
const MAX_SIZE = 1_000
/** The default of `index.max_result_window`; whoever reads further uses `search_after`. */
const MAX_WINDOW = 10_000
const MAX_SORTS = 8
const MAX_SOURCES = 100
/** As engines count where nothing is said. */
const COUNTED_EXACTLY = 10_000

/** `body` as parsed; undefined: none. Throws `badRequest` with the path of what is not allowed. */
export function readNativeSearch(body: unknown): NativeBody {
  const root = new Piece(body ?? {}, '')
  const members = root.object(BODY)
  const size = members.get('size')?.integer(0, MAX_SIZE) ?? DEFAULT_SIZE
  const from = members.get('from')?.integer(0, MAX_WINDOW) ?? 0
  if (from + size > MAX_WINDOW) throw root.refused(`from and size reach beyond ${MAX_WINDOW}: use search_after`)
  const sort = members.get('sort')?.list(MAX_SORTS).map(sortTerm) ?? []
  const after = members.get('search_after')
  if (after !== undefined && from > 0) throw after.refused('not together with from')
  const aggregations = members.get('aggs') ?? members.get('aggregations')
  const tracked = members.get('track_total_hits')
  const source = members.get('_source')
  return {
    query: queryOf(members),
    size,
    from,
    sort,
    trackTotalHits: tracked === undefined ? COUNTED_EXACTLY : countedTo(tracked),
    ...(after === undefined ? {} : { searchAfter: cursor(after, sort.length) }),
    ...(aggregations === undefined ? {} : { aggregations: readAggregations(aggregations) }),
    ...(source === undefined ? {} : { source: sourceOf(source) }),
  }
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

/** `"field"`, `{"field": "desc"}`, `{"field": {"order": "desc", "missing": "_first"}}`. Nothing is scored, so `_score` is refused. */
function sortTerm(piece: Piece): object {
  if (typeof piece.value === 'string') return { [piece.field(['keyword', 'date'])]: { order: 'asc' } }
  const [name, content] = piece.only()
  const field = content.named(name, ['keyword', 'date'])
  if (typeof content.value === 'string') return { [field]: { order: content.oneOf(['asc', 'desc']) } }
  const members = content.object(['order', 'missing', 'unmapped_type'])
  return {
    [field]: {
      order: members.get('order')?.oneOf(['asc', 'desc']) ?? 'asc',
      ...optional(members, 'missing', (missing) => missing.oneOf(['_first', '_last'])),
    },
  }
}

/** The sort values of the last hit, with the key of ours behind them. */
function cursor(piece: Piece, sorts: number): (string | number | boolean | null)[] {
  const values = piece.list(MAX_SORTS + 1).map((value) => (value.value === null ? null : value.scalar()))
  if (values.length !== sorts + 1) {
    throw piece.refused(`expected ${sorts + 1} values: all of the sort of the last hit, whose last one breaks ties`)
  }
  return values
}

function sourceOf(piece: Piece): NonNullable<NativeRequest['source']> {
  if (typeof piece.value === 'boolean') return piece.value
  if (typeof piece.value === 'string' || Array.isArray(piece.value)) return texts(piece)
  const members = piece.object(['includes', 'excludes', 'include', 'exclude'])
  const includes = members.get('includes') ?? members.get('include')
  const excludes = members.get('excludes') ?? members.get('exclude')
  return {
    ...(includes === undefined ? {} : { includes: texts(includes) }),
    ...(excludes === undefined ? {} : { excludes: texts(excludes) }),
  }
}

function texts(piece: Piece): string[] {
  return piece.list(MAX_SOURCES).map((each) => each.text())
}

/**
 * The aggregations that are let through. All of them count the documents found and no others: none that looks at the whole
 * index (global, significant terms, a terms aggregation that shows values of no document) is among them.
 */
import type { FieldType } from './fields.ts'
import { optional, type Members, type Piece } from './piece.ts'
import { readNativeQuery, timeZone } from './read-query.ts'
import { sourceOf } from './read-shown.ts'
import { readSort } from './read-sort.ts'

const MAX_DEPTH = 4
const MAX_AGGREGATIONS = 32
const MAX_BUCKETS = 10_000
const MAX_FILTERS = 100
/** As many buckets as engines let an answer have (`search.max_buckets`). */
const MAX_PRODUCT = 65_536
const MAX_TOP_HITS = 100
/** As many documents as a search shows at most ten times: they are whole objects. */
const MAX_TOP_DOCUMENTS = 10_000

const COUNTED: readonly FieldType[] = ['keyword', 'labels', 'date']

export const AGGREGATIONS: Readonly<Record<string, (piece: Piece) => object>> = {
  terms: (piece) => {
    const members = piece.object([
      'field',
      'size',
      'shard_size',
      'min_doc_count',
      'order',
      'include',
      'exclude',
      'missing',
      'execution_hint',
    ])
    members.get('execution_hint')?.oneOf(['map', 'global_ordinals']) // how is the engine's to know
    return {
      field: fieldOf(piece, members, COUNTED),
      ...optional(members, 'size', (size) => size.integer(1, MAX_BUCKETS)),
      ...optional(members, 'shard_size', (size) => size.integer(1, MAX_BUCKETS)),
      // 0 would show values of documents that are not found.
      ...optional(members, 'min_doc_count', (least) => least.integer(1, Number.MAX_SAFE_INTEGER)),
      ...optional(members, 'order', orders),
      ...optional(members, 'include', (values) =>
        typeof values.value === 'string' ? beginning(values) : valuesAlone(values),
      ),
      ...optional(members, 'exclude', valuesAlone),
      ...optional(members, 'missing', (value) => value.scalar()),
    }
  },
  date_histogram: (piece) => {
    const members = piece.object([
      'field',
      'calendar_interval',
      'fixed_interval',
      'time_zone',
      'format',
      'min_doc_count',
      'order',
      'extended_bounds',
    ])
    // They only add buckets of no document, which there are none of here.
    members.get('extended_bounds')?.object(['min', 'max'])
    return {
      field: fieldOf(piece, members, ['date']),
      ...optional(members, 'calendar_interval', calendarInterval),
      ...optional(members, 'fixed_interval', fixedInterval),
      ...optional(members, 'time_zone', timeZone),
      ...optional(members, 'format', dateFormat),
      // Gaps would be filled with as many buckets as there are seconds, so 0 is taken for 1.
      min_doc_count: Math.max(members.get('min_doc_count')?.integer(0, Number.MAX_SAFE_INTEGER) ?? 1, 1),
      ...optional(members, 'order', orders),
    }
  },
  date_range: (piece) => {
    const members = piece.object(['field', 'ranges', 'format', 'time_zone', 'keyed'])
    const ranges = members.get('ranges')
    if (ranges === undefined) throw piece.refused('ranges are needed')
    return {
      field: fieldOf(piece, members, ['date']),
      ranges: ranges.list(MAX_FILTERS).map((range) => {
        const bounds = range.object(['from', 'to', 'key'])
        return {
          ...optional(bounds, 'from', (from) => from.scalar()),
          ...optional(bounds, 'to', (to) => to.scalar()),
          ...optional(bounds, 'key', (key) => key.text()),
        }
      }),
      ...optional(members, 'format', dateFormat),
      ...optional(members, 'time_zone', timeZone),
      ...optional(members, 'keyed', (keyed) => keyed.boolean()),
    }
  },
  filter: (piece) => readNativeQuery(piece),
  filters: (piece) => {
    const members = piece.object(['filters', 'other_bucket', 'other_bucket_key'])
    const filters = members.get('filters')
    if (filters === undefined) throw piece.refused('filters are needed')
    return {
      filters: Array.isArray(filters.value)
        ? filters.list(MAX_FILTERS).map(readNativeQuery)
        : Object.fromEntries([...bounded(filters, MAX_FILTERS)].map(([name, query]) => [name, readNativeQuery(query)])),
      ...optional(members, 'other_bucket', (other) => other.boolean()),
      ...optional(members, 'other_bucket_key', (key) => key.text()),
    }
  },
  missing: (piece) => ({ field: fieldOf(piece, piece.object(['field']), COUNTED) }),
  cardinality: (piece) => {
    const members = piece.object(['field', 'precision_threshold'])
    return {
      field: fieldOf(piece, members, COUNTED),
      ...optional(members, 'precision_threshold', (threshold) => threshold.integer(0, 40_000)),
    }
  },
  value_count: (piece) => ({ field: fieldOf(piece, piece.object(['field']), COUNTED) }),
  min: (piece) => extreme(piece),
  max: (piece) => extreme(piece),
  top_hits: (piece) => {
    const members = piece.object(['size', 'sort', '_source'])
    return {
      size: members.get('size')?.integer(1, MAX_TOP_HITS) ?? DEFAULT_TOP_HITS,
      ...optional(members, 'sort', readSort),
      ...optional(members, '_source', sourceOf),
    }
  },
  composite: (piece) => {
    const members = piece.object(['sources', 'size', 'after'])
    const sources = members.get('sources')
    if (sources === undefined) throw piece.refused('sources are needed')
    return {
      sources: sources.list(MAX_DEPTH).map(compositeSource),
      ...optional(members, 'size', (size) => size.integer(1, MAX_BUCKETS)),
      ...optional(members, 'after', (after) =>
        Object.fromEntries(
          [...bounded(after, MAX_DEPTH)].map(([name, value]) => [name, value.value === null ? null : value.scalar()]),
        ),
      ),
    }
  },
}

const DEFAULT_TOP_HITS = 3
/** Of `terms` and `composite`, as engines have it. */
const DEFAULT_BUCKETS = 10
/** Of a histogram over time, which has no empty ones; where there are far more engines end it. */
const LIKELY_BUCKETS = 100

/** Throws `badRequest` with the path of what is not allowed. */
export function readAggregations(piece: Piece): Readonly<Record<string, object>> {
  const named = readLevel(piece, { left: MAX_AGGREGATIONS }, 1)
  const { buckets, documents } = sizeOf(named)
  if (buckets > MAX_PRODUCT) throw piece.refused(`up to ${buckets} buckets; at most ${MAX_PRODUCT} in all`)
  if (documents > MAX_TOP_DOCUMENTS) {
    throw piece.refused(`top_hits of up to ${documents} documents; at most ${MAX_TOP_DOCUMENTS} in all`)
  }
  return named
}

function readLevel(piece: Piece, budget: { left: number }, depth: number): Readonly<Record<string, object>> {
  if (depth > MAX_DEPTH) throw piece.refused(`nested deeper than ${MAX_DEPTH}`)
  const named = [...piece.members()].map(([name, aggregation]): [string, object] => {
    budget.left -= 1
    if (budget.left < 0) throw aggregation.refused(`more than ${MAX_AGGREGATIONS} aggregations`)
    if (!/^[^[\]>]{1,100}$/.test(name)) throw aggregation.refused('no name for an aggregation')
    return [name, readOne(aggregation, budget, depth)]
  })
  return Object.fromEntries(named)
}

function readOne(piece: Piece, budget: { left: number }, depth: number): object {
  const members = piece.object([...Object.keys(AGGREGATIONS), 'aggs', 'aggregations', 'meta'])
  const inner = members.get('aggs') ?? members.get('aggregations')
  const types = [...members].filter(([name]) => Object.hasOwn(AGGREGATIONS, name))
  const [type] = types
  if (type === undefined || types.length > 1) throw piece.refused('expected one type of aggregation')
  const [name, content] = type
  return {
    [name]: AGGREGATIONS[name]?.(content),
    ...(inner === undefined ? {} : { aggs: readLevel(inner, budget, depth + 1) }),
  }
}

interface Size {
  readonly buckets: number
  readonly documents: number
}

/** How large an answer can be: buckets inside of buckets multiply. */
function sizeOf(named: Readonly<Record<string, object>>): Size {
  let [buckets, documents] = [0, 0]
  for (const aggregation of Object.values(named)) {
    const { aggs = {}, ...types } = aggregation as Sized
    const own = bucketsOf(types)
    const inner = sizeOf(aggs)
    buckets += own * (1 + inner.buckets)
    documents += (types.top_hits?.size ?? 0) + own * inner.documents
  }
  return { buckets, documents }
}

interface Sized {
  readonly aggs?: Readonly<Record<string, object>>
  readonly terms?: { readonly size?: number }
  readonly composite?: { readonly size?: number }
  readonly filters?: { readonly filters: object }
  readonly date_range?: { readonly ranges: readonly object[] }
  readonly date_histogram?: object
  readonly top_hits?: { readonly size: number }
  readonly filter?: object
  readonly missing?: object
}

function bucketsOf({ terms, composite, filters, date_range: ranges, ...others }: Omit<Sized, 'aggs'>): number {
  if (terms !== undefined) return terms.size ?? DEFAULT_BUCKETS
  if (composite !== undefined) return composite.size ?? DEFAULT_BUCKETS
  if (filters !== undefined) return Object.keys(filters.filters).length + 1
  if (ranges !== undefined) return ranges.ranges.length
  if (others.date_histogram !== undefined) return LIKELY_BUCKETS
  return others.filter !== undefined || others.missing !== undefined ? 1 : 0
}

function extreme(piece: Piece): object {
  const members = piece.object(['field', 'format'])
  return { field: fieldOf(piece, members, ['date']), ...optional(members, 'format', dateFormat) }
}

function compositeSource(piece: Piece): object {
  const [name, source] = piece.only()
  const [type, content] = source.only()
  if (type !== 'terms' && type !== 'date_histogram') throw content.refused('expected terms or date_histogram')
  const members = content.object([
    'field',
    'order',
    'missing_bucket',
    ...(type === 'terms' ? [] : ['calendar_interval', 'fixed_interval', 'time_zone', 'format']),
  ])
  return {
    [name]: {
      [type]: {
        field: fieldOf(content, members, type === 'terms' ? COUNTED : ['date']),
        ...optional(members, 'order', (order) => order.oneOf(['asc', 'desc'])),
        ...optional(members, 'missing_bucket', (missing) => missing.boolean()),
        ...optional(members, 'calendar_interval', calendarInterval),
        ...optional(members, 'fixed_interval', fixedInterval),
        ...optional(members, 'time_zone', timeZone),
        ...optional(members, 'format', dateFormat),
      },
    },
  }
}

function fieldOf(piece: Piece, members: Members, types: readonly FieldType[]): string {
  const field = members.get('field')
  if (field === undefined) throw piece.refused('field is needed')
  return field.field(types)
}

/** `{"_key": "asc"}`, or several. Of an aggregation inside: its name, whose values are of the documents found. */
function orders(piece: Piece): object[] {
  return piece.list(MAX_DEPTH).map((order) => {
    const [name, direction] = order.only()
    return { [name]: direction.oneOf(['asc', 'desc']) }
  })
}

/** `web-.*`, with a backslash in front of what means something: what dashboards ask as one types. No other pattern. */
function beginning(piece: Piece): string {
  const text = piece.text()
  if (text.length > MAX_BEGINNING || !/^(?:[^.?+*|{}[\]()"\\#@&<>~^$]|\\[^\p{L}\p{N}])*\.\*$/u.test(text)) {
    throw piece.refused('expected a list of values, or how they begin: web-.*')
  }
  return text
}

const MAX_BEGINNING = 512

/** Patterns could take an engine long. */
function valuesAlone(piece: Piece): (string | number | boolean)[] {
  if (!Array.isArray(piece.value)) throw piece.refused('expected a list of values')
  return piece.list(MAX_BUCKETS).map((value) => value.scalar())
}

function calendarInterval(piece: Piece): string {
  return piece.oneOf([
    'minute',
    '1m',
    'hour',
    '1h',
    'day',
    '1d',
    'week',
    '1w',
    'month',
    '1M',
    'quarter',
    '1q',
    'year',
    '1y',
  ])
}

function fixedInterval(piece: Piece): string {
  const text = piece.text()
  if (!/^[1-9]\d{0,5}[smhd]$/.test(text)) throw piece.refused('expected a number of s, m, h or d')
  return text
}

function dateFormat(piece: Piece): string {
  return piece.oneOf(['strict_date_optional_time', 'epoch_millis', 'epoch_second', 'yyyy-MM-dd', 'yyyy-MM', 'yyyy'])
}

function bounded(piece: Piece, most: number): Members {
  const members = piece.members()
  if (members.size > most) throw piece.refused(`at most ${most}`)
  return members
}

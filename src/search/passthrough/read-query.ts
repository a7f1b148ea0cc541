/** The queries that are let through, made anew piece by piece: what is not known here never reaches an engine. */
import { FIELDS, type FieldType } from './fields.ts'
import { optional, type Piece } from './piece.ts'

/** Nested so deep at most, and so many in all: an engine's own limit is 1,024 clauses. */
const MAX_DEPTH = 16
const MAX_CLAUSES = 512
const MAX_TERMS = 10_000
const MAX_PATTERN = 256
/** In one pattern: an engine builds an automaton of them. */
const MAX_WILDCARDS = 8

const EXACT: readonly FieldType[] = ['keyword', 'date', 'labels', 'text']
const WORDS: readonly FieldType[] = ['text', 'keyword', 'labels']
const PATTERNS: readonly FieldType[] = ['keyword']
const ORDERED: readonly FieldType[] = ['date', 'keyword']

/** What free text is looked for in. */
const ALL_WORDS = [...FIELDS].filter(([, type]) => type === 'text').map(([name]) => name)

type Reader = (piece: Piece, state: State) => object

class State {
  depth = 0
  clauses = 0
}

export const QUERIES: Readonly<Record<string, Reader>> = {
  match_all: (piece) => ({ match_all: empty(piece) }),
  match_none: (piece) => ({ match_none: empty(piece) }),
  bool,
  constant_score: (piece, state) => {
    const filter = piece.object(['filter', 'boost']).get('filter')
    if (filter === undefined) throw piece.refused('filter is needed')
    return { constant_score: { filter: readBelow(filter, state) } }
  },
  term: (piece) => ofField(piece, EXACT, 'value', (value) => value.scalar(), 'term'),
  terms,
  ids: (piece) => {
    const values = piece.object(['values']).get('values')
    if (values === undefined) throw piece.refused('values are needed')
    return { ids: { values: values.list(MAX_TERMS).map((value) => value.text()) } }
  },
  exists: (piece) => {
    const field = piece.object(['field', 'boost']).get('field')
    if (field === undefined) throw piece.refused('field is needed')
    return { exists: { field: field.field(['text', 'keyword', 'date', 'labels']) } }
  },
  prefix: (piece) => ofField(piece, PATTERNS, 'value', (value) => value.text(), 'prefix'),
  wildcard: (piece) => ofField(piece, PATTERNS, 'value', pattern, 'wildcard'),
  range,
  match: (piece) => matching(piece, 'match', ['operator']),
  // No match_phrase_prefix: an engine tries the first 50 words that begin so, whoever's documents have them.
  match_phrase: (piece) => matching(piece, 'match_phrase', []),
  multi_match: (piece) => {
    const members = piece.object(['query', 'fields', 'type', 'operator', 'lenient', 'boost'])
    const query = members.get('query')
    const fields = members.get('fields')
    if (query === undefined) throw piece.refused('query is needed')
    members.get('lenient')?.boolean() // it is words alone that are looked for
    return {
      multi_match: {
        query: query.scalar(),
        // Without any, engines look at every field that there is, ours among them.
        fields: fields === undefined ? ALL_WORDS : fields.list(MAX_CLAUSES).map((field) => field.field(WORDS)),
        ...optional(members, 'type', (type) => type.oneOf(['best_fields', 'most_fields', 'phrase'])),
        ...optional(members, 'operator', operator),
      },
    }
  },
}

/** Throws `badRequest` with the path of what is not allowed. */
export function readNativeQuery(piece: Piece): object {
  return readBelow(piece, new State())
}

function readBelow(piece: Piece, state: State): object {
  const [name, content] = piece.only()
  const reader = Object.hasOwn(QUERIES, name) ? QUERIES[name] : undefined
  if (reader === undefined)
    throw content.refused(`this query is not allowed; allowed: ${Object.keys(QUERIES).join(', ')}`)
  state.clauses += 1
  if (state.clauses > MAX_CLAUSES) throw content.refused(`more than ${MAX_CLAUSES} clauses`)
  state.depth += 1
  if (state.depth > MAX_DEPTH) throw content.refused(`nested deeper than ${MAX_DEPTH}`)
  const read = reader(content, state)
  state.depth -= 1
  return read
}

function empty(piece: Piece): object {
  piece.object(['boost'])
  return {}
}

function bool(piece: Piece, state: State): object {
  const clauses = ['must', 'filter', 'should', 'must_not'] as const
  const members = piece.object([...clauses, 'minimum_should_match', 'boost', 'adjust_pure_negative'])
  const read = clauses.flatMap((name) => {
    const clause = members.get(name)
    return clause === undefined ? [] : [[name, clause.list(MAX_CLAUSES).map((each) => readBelow(each, state))] as const]
  })
  return {
    bool: {
      ...Object.fromEntries(read),
      ...optional(members, 'minimum_should_match', (least) =>
        typeof least.value === 'string' ? percentage(least) : least.integer(-MAX_CLAUSES, MAX_CLAUSES),
      ),
    },
  }
}

function percentage(piece: Piece): string {
  const text = piece.text()
  if (!/^-?\d{1,3}%?$/.test(text)) throw piece.refused('expected a whole number, or one with %')
  return text
}

function terms(piece: Piece): object {
  const [name, values] = withoutBoost(piece)
  if (!Array.isArray(values.value)) throw values.refused('expected a list of values; a lookup of terms is not allowed')
  return { terms: { [values.named(name, EXACT)]: values.list(MAX_TERMS).map((value) => value.scalar()) } }
}

function range(piece: Piece): object {
  const [name, bounds] = withoutBoost(piece)
  const members = bounds.object(['gt', 'gte', 'lt', 'lte', 'format', 'time_zone', 'boost'])
  return {
    range: {
      [bounds.named(name, ORDERED)]: {
        ...Object.fromEntries(
          ['gt', 'gte', 'lt', 'lte'].flatMap((side) => Object.entries(optional(members, side, bound))),
        ),
        ...optional(members, 'format', (format) =>
          format.oneOf(['strict_date_optional_time', 'epoch_millis', 'epoch_second']),
        ),
        ...optional(members, 'time_zone', timeZone),
      },
    },
  }
}

function bound(piece: Piece): string | number | boolean | null {
  return piece.value === null ? null : piece.scalar()
}

export function timeZone(piece: Piece): string {
  const text = piece.text()
  if (!/^(?:UTC|Z|[+-]\d\d:\d\d|[A-Za-z_]+(?:\/[A-Za-z_+\-0-9]+){1,2})$/.test(text)) throw piece.refused('no time zone')
  return text
}

/** `{"match": {"field": "words"}}`, or with `{"query": "words", …}`. */
function matching(piece: Piece, name: string, options: readonly 'operator'[]): object {
  const [field, content] = withoutBoost(piece)
  const named = content.named(field, WORDS)
  if (typeof content.value !== 'object' || content.value === null)
    return { [name]: { [named]: { query: content.scalar() } } }
  const members = content.object(['query', 'boost', ...options])
  const query = members.get('query')
  if (query === undefined) throw content.refused('query is needed')
  return { [name]: { [named]: { query: query.scalar(), ...optional(members, 'operator', operator) } } }
}

function operator(piece: Piece): string {
  return piece.oneOf(['and', 'or', 'AND', 'OR'])
}

/** `{"term": {"field": "value"}}`, or with `{"value": "value", "case_insensitive": true}`. */
function ofField(
  piece: Piece,
  types: readonly FieldType[],
  key: string,
  read: (value: Piece) => string | number | boolean,
  name: string,
): object {
  const [field, content] = withoutBoost(piece)
  const named = content.named(field, types)
  if (typeof content.value !== 'object' || content.value === null)
    return { [name]: { [named]: { [key]: read(content) } } }
  const members = content.object([key, 'wildcard', 'boost', 'case_insensitive'])
  const value = members.get(key) ?? (name === 'wildcard' ? members.get('wildcard') : undefined)
  if (value === undefined) throw content.refused(`${key} is needed`)
  const folded = optional(members, 'case_insensitive', (flag) => flag.boolean())
  return { [name]: { [named]: { [key]: read(value), ...folded } } }
}

function pattern(piece: Piece): string {
  const text = piece.text()
  if (text.length > MAX_PATTERN) throw piece.refused(`a pattern of more than ${MAX_PATTERN} characters`)
  if (text.replace(/[^*?]/g, '').length > MAX_WILDCARDS) throw piece.refused(`more than ${MAX_WILDCARDS} wildcards`)
  return text
}

/** The one field that a query is about; nothing is scored, so boosts beside it mean nothing. */
function withoutBoost(piece: Piece): readonly [string, Piece] {
  const fields = [...piece.members()].filter(([name]) => name !== 'boost')
  const [first, ...others] = fields
  if (first === undefined || others.length > 0) throw piece.refused('expected one field')
  return first
}

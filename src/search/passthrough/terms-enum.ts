/** `_terms_enum`: which values a field has that begin so, of the documents that the caller sees: by an aggregation. */
import type { NativeAnswer } from '../../query/native-search.ts'
import { Piece } from './piece.ts'
import { readNativeQuery } from './read-query.ts'
import type { NativeBody } from './read-search.ts'

const DEFAULT_SIZE = 10
const MAX_SIZE = 1_000
const MAX_STRING = 256

/** `{"field": "kind.keyword", "string": "Po", "size": 10, "case_insensitive": true, "index_filter": {…}}`. */
export function readTermsEnum(body: unknown): NativeBody {
  const root = new Piece(body ?? {}, '')
  const members = root.object([
    'field',
    'string',
    'size',
    'timeout',
    'case_insensitive',
    'index_filter',
    'search_after',
  ])
  const field = members.get('field')
  if (field === undefined) throw root.refused('field is needed')
  const string = members.get('string')
  const text = string?.text() ?? ''
  if (text.length > MAX_STRING)
    throw string?.refused(`longer than ${MAX_STRING} characters`) ?? root.refused('too long')
  const folded = members.get('case_insensitive')?.boolean() ?? false
  if (members.has('search_after')) throw root.refused('search_after is not allowed here')
  const filter = members.get('index_filter')
  const terms = {
    field: field.field(['keyword']),
    size: members.get('size')?.integer(1, MAX_SIZE) ?? DEFAULT_SIZE,
    order: [{ _key: 'asc' }],
    ...(text === '' ? {} : { include: `${prefixPattern(text, folded)}.*` }),
  }
  return {
    query: filter === undefined ? { match_all: {} } : readNativeQuery(filter),
    size: 0,
    from: 0,
    sort: [],
    trackTotalHits: false,
    aggregations: { values: { terms } },
  }
}

/** In Lucene's language, where all but letters and digits is taken as it stands behind a backslash. */
function prefixPattern(text: string, folded: boolean): string {
  return Array.from(text, (char) => {
    const [lower, upper] = [char.toLowerCase(), char.toUpperCase()]
    if (folded && lower !== upper && Array.from(lower + upper).length === 2) return `[${lower}${upper}]`
    return /^[\p{L}\p{N}]$/u.test(char) ? char : `\\${char}`
  }).join('')
}

export function termsEnumAnswer({ aggregations }: NativeAnswer): object {
  const { buckets = [] } = (aggregations?.['values'] ?? {}) as { buckets?: readonly { key: string }[] }
  const shards = { total: 1, successful: 1, failed: 0 }
  return { _shards: shards, terms: buckets.map(({ key }) => key), complete: true }
}

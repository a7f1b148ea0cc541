/** The values like what was typed that some of the documents found have (`VocabularyRequest`). */
import { likenessOf } from '../../query/likeness.ts'
import {
  MAX_CANDIDATES,
  type Likeness,
  type VocabularyRequest,
  type VocabularyResult,
} from '../../query/search-request.ts'
import { foldCase } from '../../query/tokens.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import { placeOf } from './filter.ts'
import { ANY_END, literalRegex, type Query } from './query.ts'
import { FIELD } from './schema.ts'
import type { Buckets, Searcher } from './searcher.ts'

/** Of which those are picked that really are like it: the pattern lets more through. */
const MAX_LOOKED_AT = 10 * MAX_CANDIDATES

export async function valuesLike(
  search: Searcher,
  query: Query,
  { path, like, limit }: Pick<VocabularyRequest, 'path' | 'like' | 'limit'>,
): Promise<VocabularyResult> {
  const { field, prefix } = path === undefined ? { field: FIELD.words, prefix: '' } : placeOf(path, '=')
  const begin = path === undefined ? '' : `${prefix}=`
  const terms = {
    field,
    include: literalRegex(begin) + pattern(like, path !== undefined),
    size: MAX_LOOKED_AT,
    shard_size: MAX_LOOKED_AT,
    order: { _key: 'asc' },
  }
  const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs: { values: { terms } } })
  const { buckets, sum_other_doc_count: others = 0 } = (aggregations?.['values'] as Buckets | undefined) ?? {
    buckets: [],
  }
  const distanceOf = likenessOf(like)
  const found = buckets
    .map(({ key, doc_count: count }) => {
      const value = key.slice(begin.length)
      return { value, count, distance: distanceOf(foldCase(value)) }
    })
    .filter((each): each is typeof each & { distance: number } => each.distance !== undefined)
    .sort((a, b) => a.distance - b.distance || b.count - a.count || compareUtf8(a.value, b.value))
  const values = found.slice(0, limit).map(({ value, count }) => ({ value, count }))
  return { values, more: others > 0 || found.length > limit }
}

/** Lets everything through that is like the text, and some more. */
function pattern(like: Likeness, anywhere: boolean): string {
  const points = [...foldCase(like.text)]
  if (like.type === 'prefix') return `${anywhere ? '.*' : ''}${points.map(anyCase).join('')}${ANY_END}`
  const [first = ''] = points
  const rest = { least: Math.max(0, points.length - 1 - like.edits), most: like.text.length + like.edits }
  return `${anyCase(first)}.{${rest.least},${rest.most}}`
}

/** Whatever folds to the character; of those beyond ASCII there are too many rules. */
function anyCase(c: string): string {
  if (c === 'k') return '[kK\u212a]'
  if (/^[a-z]$/.test(c)) return `[${c}${c.toUpperCase()}]`
  return c > '\u007f' ? '.' : literalRegex(c)
}

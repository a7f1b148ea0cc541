/** In which order results stand, and what a page begins behind. */
import { badRequest } from '../../kube/status-error.ts'
import type { SearchCursor, SortTerm } from '../../query/search-request.ts'
import { FIELD, NAMED_FIELDS } from './schema.ts'

/** One more than it sorts by: the tie. Texts where `missing` says that there may be none are null in a cursor. */
export interface Order {
  readonly sort: readonly object[]
  /** As the engine wants it. Throws `badRequest` where the cursor is of another order. */
  after(cursor: SearchCursor): readonly (string | number | null)[]
  /** The values of a hit that are ours: an engine may add its own. */
  cursor(sort: readonly (string | number | null)[]): SearchCursor
}

export function orderOf(sort: readonly SortTerm[], ranked: boolean): Order {
  // A field that no document can have sorts nothing.
  const terms = sort.filter(({ path }) => NAMED_FIELDS.has(path))
  const keys: object[] = terms.map(({ path, descending }) => ({
    [FIELD.order(path)]: { order: descending ? 'desc' : 'asc', missing: '_last', unmapped_type: 'keyword' },
  }))
  if (ranked) keys.push({ _score: { order: 'desc' } })
  keys.push({ [FIELD.tie]: { order: 'asc' } })
  const fits = (value: string | number | null, i: number): boolean => {
    if (i < terms.length) return value === null || typeof value === 'string'
    return ranked && i === terms.length ? typeof value === 'number' : typeof value === 'string'
  }
  return {
    sort: keys,
    after(cursor) {
      if (cursor.length !== keys.length || !cursor.every(fits)) {
        throw badRequest('the continue token is of another query')
      }
      return cursor
    },
    cursor: (values) => values.slice(0, keys.length),
  }
}

/** In which order hits stand: by keywords and dates alone. */
import { optional, type Piece } from './piece.ts'
import { DATE_FORMATS } from './read-shown.ts'

export const MAX_SORTS = 8

/** What orders nothing here: nothing is scored, and an engine's own order tells of others' documents. */
const NO_ORDER: ReadonlySet<string> = new Set(['_score', '_doc'])

/** `"field"`, `{"field": "desc"}`, `{"field": {"order": "desc", "missing": "_first"}}`. */
export function readSort(piece: Piece): object[] {
  return piece.list(MAX_SORTS).flatMap(sortTerm)
}

function sortTerm(piece: Piece): object[] {
  if (typeof piece.value === 'string') {
    return NO_ORDER.has(piece.value) ? [] : [{ [piece.field(['keyword', 'date'])]: { order: 'asc' } }]
  }
  const [name, content] = piece.only()
  const order = ['asc', 'desc'] as const
  const members =
    typeof content.value === 'string'
      ? new Map([['order', content]])
      : content.object(['order', 'missing', 'unmapped_type', 'format'])
  // OpenSearch knows none: times stand as milliseconds in the `sort` of hits.
  members.get('format')?.oneOf(DATE_FORMATS)
  const direction = members.get('order')?.oneOf(order) ?? 'asc'
  if (NO_ORDER.has(name)) return []
  const field = content.named(name, ['keyword', 'date'])
  return [
    {
      [field]: {
        order: direction,
        ...optional(members, 'missing', (missing) => missing.oneOf(['_first', '_last'])),
      },
    },
  ]
}

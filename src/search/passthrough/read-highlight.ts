/** What of a search's `highlight` is let through: marks in texts of the documents that are shown anyway. */
import { FIELDS, matchingFields } from './fields.ts'
import { optional, type Members, type Piece } from './piece.ts'

const MAX_TAGS = 8
const MAX_TAG = 100
const MAX_FIELDS = 32
const MAX_FRAGMENTS = 100
/** As dashboards say that a text shall not be cut. */
const MAX_FRAGMENT = 2 ** 31 - 1

const OPTIONS = ['pre_tags', 'post_tags', 'fragment_size', 'number_of_fragments', 'no_match_size'] as const

/** Fields whose texts can be marked. */
const TEXTS = [...FIELDS].filter(([, type]) => type === 'text' || type === 'keyword').map(([name]) => name)

/** Throws `badRequest` with the path of what is not allowed. */
export function readHighlight(piece: Piece): object {
  const members = piece.object([...OPTIONS, 'fields', 'require_field_match', 'encoder'])
  const fields = members.get('fields')
  if (fields === undefined) throw piece.refused('fields are needed')
  // Only what the query asks of a field is marked in it, whatever is said.
  members.get('require_field_match')?.boolean()
  return {
    ...options(members),
    ...optional(members, 'encoder', (encoder) => encoder.oneOf(['default', 'html'])),
    fields: Object.fromEntries(fields.list(MAX_FIELDS).flatMap(fieldsOf)),
  }
}

/** `{"metadata.*": {…}}`; engines also take a list of such objects. */
function fieldsOf(piece: Piece): [string, object][] {
  return [...piece.members()].flatMap(([pattern, content]): [string, object][] => {
    const own = options(content.object(OPTIONS))
    const names = matchingFields(pattern, TEXTS)
    if (names.length === 0 && !pattern.includes('*')) throw content.refused('there is no such field to mark')
    return names.map((name) => [name, own])
  })
}

function options(members: Members): object {
  const tags = (piece: Piece): string[] =>
    piece.list(MAX_TAGS).map((tag) => {
      const text = tag.text()
      if (text.length > MAX_TAG) throw tag.refused(`longer than ${MAX_TAG} characters`)
      return text
    })
  return {
    ...optional(members, 'pre_tags', tags),
    ...optional(members, 'post_tags', tags),
    ...optional(members, 'fragment_size', (size) => size.integer(0, MAX_FRAGMENT)),
    ...optional(members, 'number_of_fragments', (count) => count.integer(0, MAX_FRAGMENTS)),
    ...optional(members, 'no_match_size', (size) => size.integer(0, MAX_FRAGMENT)),
  }
}

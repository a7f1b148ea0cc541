/** What is shown of a hit: its document or part of it, and values of fields. */
import type { NativeRequest } from '../../query/native-search.ts'
import { FIELDS, matchingFields, SHOWN_FIELDS } from './fields.ts'
import type { Piece } from './piece.ts'

const MAX_NAMES = 100

/** No field of ours is stored by itself: all that `stored_fields` decides is whether the document comes with it. */
export function withDocument(stored: Piece): boolean {
  return stored
    .list(MAX_NAMES)
    .map((each) => each.oneOf(['*', '_source', ...SHOWN_FIELDS]))
    .includes('_source')
}

export const DATE_FORMATS = ['date_time', 'strict_date_time', 'strict_date_optional_time', 'epoch_millis'] as const
const COLUMN_FORMATS = [...DATE_FORMATS, 'use_field_mapping'] as const

/** `"kind"`, `{"field": "metadata.*", "format": "epoch_millis"}`; a pattern is the fields that there are. */
export function shownFields(piece: Piece): object[] {
  return piece.list(MAX_NAMES).flatMap((each) => namedFields(each, SHOWN_FIELDS, DATE_FORMATS))
}

/** Of those alone that have values in columns. */
export function columnFields(piece: Piece): object[] {
  const columns = SHOWN_FIELDS.filter((name) => ['keyword', 'date'].includes(FIELDS.get(name) ?? ''))
  return piece.list(MAX_NAMES).flatMap((each) => namedFields(each, columns, COLUMN_FORMATS))
}

function namedFields(piece: Piece, among: readonly string[], formats: readonly string[]): object[] {
  if (typeof piece.value === 'string') return matchingFields(piece.text(), among).map((field) => ({ field }))
  const members = piece.object(['field', 'format', 'include_unmapped'])
  const name = members.get('field')
  if (name === undefined) throw piece.refused('field is needed')
  const format = members.get('format')?.oneOf(formats)
  return matchingFields(name.text(), among).map((field) => ({
    field,
    ...(format === undefined || format === 'use_field_mapping' || FIELDS.get(field) !== 'date' ? {} : { format }),
  }))
}

export function sourceOf(piece: Piece): NonNullable<NativeRequest['source']> {
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
  return piece.list(MAX_NAMES).map((each) => each.text())
}

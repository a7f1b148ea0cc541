/** The body of `_mget`: documents by their ids, in one index or in several. */
import { Piece } from './piece.ts'
import { indicesOf, type Indices } from './target.ts'

const MAX_DOCUMENTS = 1_000

export interface WantedDocument {
  readonly indices: Indices
  readonly id: string
}

/** `{"ids": ["a"]}` or `{"docs": [{"_index": "kubernetes-pod", "_id": "a"}]}`; `indices` of the path count where none is named. */
export function readMultiGet(body: unknown, indices: Indices): WantedDocument[] {
  const root = new Piece(body ?? {}, '')
  const members = root.object(['ids', 'docs'])
  const ids = members.get('ids')?.list(MAX_DOCUMENTS) ?? []
  const docs = members.get('docs')?.list(MAX_DOCUMENTS) ?? []
  const wanted = [...ids.map((id) => ({ indices, id: id.text() })), ...docs.map((doc) => documentOf(doc, indices))]
  if (wanted.length === 0) throw root.refused('ids or docs are needed')
  if (wanted.length > MAX_DOCUMENTS) throw root.refused(`more than ${MAX_DOCUMENTS} documents`)
  return wanted
}

function documentOf(piece: Piece, indices: Indices): WantedDocument {
  const members = piece.object(['_index', '_id'])
  const id = members.get('_id')
  if (id === undefined) throw piece.refused('_id is needed')
  const index = members.get('_index')
  return { indices: index === undefined ? indices : indicesOf(index.text()), id: id.text() }
}

/** The values like what was typed that some of the documents found have (`VocabularyRequest`). */
import type { DatabaseSync } from 'node:sqlite'
import { likenessOf } from '../../query/likeness.ts'
import { MAX_CANDIDATES, type VocabularyRequest, type VocabularyResult } from '../../query/search-request.ts'
import { foldCase } from '../../query/tokens.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import { after, decodeTerm, encodeToken, quoted } from './encoding.ts'
import { pathSpelling } from './path-codes.ts'
import { WORDS } from './schema.ts'
import type { Vocabulary } from './vocabulary.ts'

interface Candidate {
  readonly token: string
  readonly value: string
  readonly distance: number
}

interface Found {
  readonly value: string
  readonly count: number
  readonly distance: number
}

/** Over the ids in `temp.hit`, or over all documents. */
export function valuesLike(
  db: DatabaseSync,
  vocabulary: Vocabulary,
  { path, like, limit }: VocabularyRequest,
  all: boolean,
): VocabularyResult {
  const distanceOf = likenessOf(like)
  const found =
    path === undefined
      ? countWords(db, vocabulary, foldCase(like.text), distanceOf, all, like.type === 'prefix')
      : countValues(db, vocabulary, path, distanceOf, all)
  found.values.sort((a, b) => a.distance - b.distance || b.count - a.count || compareUtf8(a.value, b.value))
  const values = found.values.slice(0, limit).map(({ value, count }) => ({ value, count }))
  return { values, more: found.more || found.values.length > limit }
}

type Distance = (folded: string) => number | undefined

function countValues(
  db: DatabaseSync,
  vocabulary: Vocabulary,
  path: string,
  distanceOf: Distance,
  all: boolean,
): { values: Found[]; more: boolean } {
  const prefix = encodeToken(`${pathSpelling(db, path)}=`)
  const rows = all
    ? vocabulary.counted(prefix, after(prefix), (token) => distanceOf(valueOf(token, prefix)) !== undefined)
    : vocabulary.countedAmongHits(prefix, after(prefix), (token) => distanceOf(valueOf(token, prefix)) !== undefined)
  const values = rows.map(({ term, count }) => {
    const value = decodeTerm(term.slice(prefix.length))
    return { value, count, distance: distanceOf(foldCase(value)) ?? 0 }
  })
  return { values, more: false }
}

function valueOf(token: string, prefix: string): string {
  return foldCase(decodeTerm(token.slice(prefix.length)))
}

/** Words are few enough to count one by one: a word's occurrences stand in several columns of one document. */
function countWords(
  db: DatabaseSync,
  vocabulary: Vocabulary,
  text: string,
  distanceOf: Distance,
  all: boolean,
  asPrefix: boolean,
): { values: Found[]; more: boolean } {
  const first = asPrefix ? text : String.fromCodePoint(text.codePointAt(0) ?? 0)
  const candidates: Candidate[] = []
  let more = false
  for (const token of vocabulary.wordsFrom(first)) {
    const distance = distanceOf(token)
    if (distance === undefined) continue
    if (candidates.length === MAX_CANDIDATES) {
      more = true
      break
    }
    candidates.push({ token, value: token, distance })
  }
  const among = all ? '' : ' AND rowid IN (SELECT id FROM temp.hit)'
  const statement = db.prepare(`SELECT count(*) AS count FROM ${WORDS} WHERE ${WORDS} MATCH ?${among}`)
  const values = candidates.map(({ token, value, distance }): Found => {
    const row = statement.get(quoted(token)) as { count: number }
    return { value, distance, count: row.count }
  })
  return { values: values.filter(({ count }) => count > 0), more }
}

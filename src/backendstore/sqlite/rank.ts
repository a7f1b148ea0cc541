/** What each text is worth in each part of a document, added up. */
import type { TextPredicate } from '../../query/resolve.ts'
import { RANK } from '../../query/search-request.ts'
import { compileText, type Filter } from './filter.ts'
import type { Vocabulary } from './vocabulary.ts'

export const TEXT_PARTS = ['name', 'strong', 'other'] as const

/**
 * An expression over a document's id, without what `exactRank` adds. Each part's documents are a set that SQLite makes once
 * and looks up for each document found: half the time of adding up in a table.
 */
export function partsRank(texts: readonly TextPredicate[], vocabulary: Vocabulary): string {
  const parts = texts.flatMap((text) =>
    TEXT_PARTS.map((part) => `${RANK[part]} * (id IN (${literalSql(compileText(text, vocabulary, [part]))}))`),
  )
  return parts.join(' + ')
}

/** The whole rank over `found`, whose column `rank` is that of the parts, and `doc`. */
export function exactRank(texts: readonly TextPredicate[]): string {
  const exact = exactNames(texts).map(
    (name) => ` + ${RANK.nameExact} * (coalesce(doc.name_fold, doc.name) = ${literal(name)})`,
  )
  return `(found.rank${exact.join('')})`
}

/** Names, folded, that are worth more. */
export function exactNames(texts: readonly TextPredicate[]): string[] {
  return texts.flatMap((text) => (text.type === 'phrase' && !text.prefix ? [text.whole] : []))
}

/** The ids of a filter of words, which has no other parameter than its expression. */
function literalSql(filter: Filter): string {
  if ('sql' in filter) return filter.sql
  return `SELECT rowid FROM ${filter.table} WHERE ${filter.table} MATCH ${literal(filter.match)}`
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

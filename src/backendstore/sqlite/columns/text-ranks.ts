/** What the texts of a query are worth in what was found: where each part of a document has them, added up. */
import type { DatabaseSync } from 'node:sqlite'
import type { Predicate, TextPredicate } from '../../../query/resolve.ts'
import { RANK } from '../../../query/search-request.ts'
import { compileText } from '../filter.ts'
import { TEXT_PARTS } from '../rank.ts'
import type { Vocabulary } from '../vocabulary.ts'
import type { MemoryColumns } from './columns.ts'
import { indexHits } from './index-hits.ts'
import { emptyMask, intersect, isEmpty, unite, type Mask } from './mask.ts'

/** Of one answer. */
export class TextRanks {
  readonly #db: DatabaseSync
  readonly #columns: MemoryColumns
  readonly #vocabulary: Vocabulary
  readonly #ranked: readonly TextPredicate[]
  readonly #parts = new Map<TextPredicate, readonly Mask[]>()

  constructor(db: DatabaseSync, columns: MemoryColumns, vocabulary: Vocabulary, ranked: readonly TextPredicate[]) {
    this.#db = db
    this.#columns = columns
    this.#vocabulary = vocabulary
    this.#ranked = ranked
  }

  /** Of single words the parts are asked for first, and found is what one of them has. Phrases are mostly in few documents. */
  isFoundByParts(predicate: Predicate): predicate is TextPredicate {
    const text = this.#ranked.find((each) => each === predicate)
    return text !== undefined && (text.type === 'wordGlob' || text.words.length === 1)
  }

  foundByParts(text: TextPredicate): Mask {
    const parts = TEXT_PARTS.map((part) => this.#ask(text, part))
    this.#parts.set(text, parts)
    return parts.reduce(unite, emptyMask(this.#columns.rows.length))
  }

  /** By row, of those found; without what a whole name is worth. */
  ranks(predicate: Predicate, found: Mask): Uint32Array {
    const { length } = this.#columns.rows
    const ranks = new Uint32Array(length)
    if (isEmpty(found)) return ranks
    for (const text of this.#ranked) {
      const parts = this.#parts.get(text) ?? this.#partsWithin(text, predicate, found)
      for (const [i, mask] of parts.entries()) {
        const worth = RANK[TEXT_PARTS[i] as (typeof TEXT_PARTS)[number]]
        for (let row = 0; row < length; row++) ranks[row] = (ranks[row] as number) + worth * (mask[row] as number)
      }
    }
    return ranks
  }

  /** What all that was found has, and has in no other part, it has in the last one. */
  #partsWithin(text: TextPredicate, predicate: Predicate, found: Mask): readonly Mask[] {
    const name = this.#ask(text, 'name')
    const strong = this.#ask(text, 'strong')
    const isElsewhere = isRequired(text, predicate) && !meets(found, name) && !meets(found, strong)
    return [name, strong, isElsewhere ? found : this.#ask(text, 'other')]
  }

  #ask(text: TextPredicate, part: (typeof TEXT_PARTS)[number]): Mask {
    return indexHits(this.#db, compileText(text, this.#vocabulary, [part]), this.#columns.rows)
  }
}

function isRequired(text: TextPredicate, predicate: Predicate): boolean {
  return predicate === text || (predicate.type === 'and' && predicate.children.some((child) => isRequired(text, child)))
}

function meets(mask: Mask, other: Mask): boolean {
  return !isEmpty(intersect(mask.slice(), other))
}

/**
 * Which rows a predicate finds: what the columns tell from them, what they do not from the index, with as few questions to
 * it as there are parts that need one.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Predicate } from '../../../query/resolve.ts'
import { compileFilter } from '../filter.ts'
import type { Vocabulary } from '../vocabulary.ts'
import type { MemoryColumns } from './columns.ts'
import { indexHits } from './index-hits.ts'
import { emptyMask, intersect, invert, isEmpty, unite, type Mask } from './mask.ts'
import { rowsWith } from './rows-with.ts'
import type { TextRanks } from './text-ranks.ts'
import { isOfPath, type PathPredicate } from './value-tests.ts'

/** Of one answer. */
export class ColumnFilter {
  readonly #db: DatabaseSync
  readonly #columns: MemoryColumns
  readonly #vocabulary: Vocabulary
  readonly #texts: TextRanks

  constructor(db: DatabaseSync, columns: MemoryColumns, vocabulary: Vocabulary, texts: TextRanks) {
    this.#db = db
    this.#columns = columns
    this.#vocabulary = vocabulary
    this.#texts = texts
  }

  /** Live rows only. */
  found(predicate: Predicate): Mask {
    const mask = this.#eval(predicate)
    const live = this.#columns.rows.live
    for (let row = 0; row < live.length; row++) mask[row] = (mask[row] as number) & (live[row] as number)
    return mask
  }

  #eval(predicate: Predicate): Mask {
    const own = this.#fromColumns(predicate)
    if (own !== undefined) return own
    switch (predicate.type) {
      case 'and':
        return this.#all(predicate.children)
      case 'or':
        return this.#any(predicate.children)
      case 'not':
        return invert(this.#eval(predicate.child))
      default:
        return this.#indexed(predicate)
    }
  }

  /** The columns first: often they leave nothing to ask. */
  #all(children: readonly Predicate[]): Mask {
    let mask: Mask | undefined
    const rest: Predicate[] = []
    for (const child of children) {
      const own = this.#fromColumns(child)
      if (own === undefined) rest.push(child)
      else mask = mask === undefined ? own : intersect(mask, own)
    }
    const apart = rest.filter((child) => this.#isApart(child))
    const together = byTable(rest.filter((child) => !apart.includes(child)))
    const asked = [...apart, ...together.map((group) => ({ type: 'and' as const, children: group }))]
    for (const child of asked) {
      if (mask !== undefined && isEmpty(mask)) return mask
      const found = apart.includes(child) ? this.#eval(child) : this.#indexed(child)
      mask = mask === undefined ? found : intersect(mask, found)
    }
    return mask ?? emptyMask(this.#columns.rows.length).fill(1)
  }

  #any(children: readonly Predicate[]): Mask {
    let mask = emptyMask(this.#columns.rows.length)
    const together: Predicate[] = []
    for (const child of children) {
      const own = this.#fromColumns(child)
      if (own !== undefined) mask = unite(mask, own)
      else if (this.#isApart(child)) mask = unite(mask, this.#eval(child))
      else together.push(child)
    }
    for (const group of byTable(together)) mask = unite(mask, this.#indexed({ type: 'or', children: group }))
    return mask
  }

  /** Whether it is no one question for one table of the index: the columns, or what is known of ranked texts, answer part. */
  #isApart(predicate: Predicate): boolean {
    switch (predicate.type) {
      case 'and':
      case 'or':
        return (
          byTable(predicate.children).length > 1 ||
          predicate.children.some((child) => this.#isTold(child) || this.#isApart(child))
        )
      case 'not':
        return true
      case 'phrase':
      case 'wordGlob':
        return this.#texts.isFoundByParts(predicate)
      default:
        return false
    }
  }

  #isTold(predicate: Predicate): boolean {
    switch (predicate.type) {
      case 'all':
        return true
      case 'and':
      case 'or':
        return predicate.children.every((child) => this.#isTold(child))
      case 'not':
        return this.#isTold(predicate.child)
      default:
        return isOfPath(predicate) && rowsWith(this.#columns, predicate) !== undefined
    }
  }

  #indexed(predicate: Predicate): Mask {
    if (this.#texts.isFoundByParts(predicate)) return this.#texts.foundByParts(predicate)
    return indexHits(this.#db, compileFilter(predicate, this.#db, this.#vocabulary), this.#columns.rows)
  }

  #fromColumns(predicate: Predicate): Mask | undefined {
    if (!this.#isTold(predicate)) return undefined
    switch (predicate.type) {
      case 'all':
        return emptyMask(this.#columns.rows.length).fill(1)
      case 'and':
        return this.#all(predicate.children)
      case 'or':
        return this.#any(predicate.children)
      case 'not':
        return invert(this.#fromColumns(predicate.child) as Mask)
      default:
        return rowsWith(this.#columns, predicate as PathPredicate)?.()
    }
  }
}

/** Those that words answer, those that terms do: expressions of the index are over one of its tables. */
function byTable(predicates: readonly Predicate[]): Predicate[][] {
  const ofWords = predicates.filter(isOfWords)
  const ofTerms = predicates.filter((predicate) => !isOfWords(predicate))
  return [ofWords, ofTerms].filter((group) => group.length > 0)
}

/** Of what is not of one table alone, its first part decides. */
function isOfWords(predicate: Predicate): boolean {
  switch (predicate.type) {
    case 'and':
    case 'or':
      return predicate.children[0] !== undefined && isOfWords(predicate.children[0])
    case 'not':
      return isOfWords(predicate.child)
    default:
      return predicate.type === 'phrase' || predicate.type === 'wordGlob'
  }
}

/**
 * What stands for a path in terms: three digits, since paths were two thirds of all that is tokenised, hashed, sorted and
 * compared. Codes are given in the order in which paths are met, kept in the table `path`, and never given again. Paths
 * beyond the last code are spelled out, in a form that no code begins with.
 */
import type { DatabaseSync } from 'node:sqlite'
import { TERM_SEPARATOR, type PathSpelling } from '../../query/term.ts'
import { after } from './encoding.ts'

/** FTS5 folds A–Z, so digits are those of base 36. */
const RADIX = 36
const DIGITS = 3
export const MAX_PATHS = RADIX ** DIGITS

/** Gives codes; at most `MAX_PATHS` of about 150 B. */
export class PathCodes {
  readonly #codes: Map<string, number>
  readonly #max: number
  #told: number

  /** `known`: by code. */
  constructor(known: readonly string[], max = MAX_PATHS) {
    this.#codes = new Map(known.map((path, code) => [path, code]))
    this.#max = max
    this.#told = known.length
  }

  readonly spell: PathSpelling = (path) => {
    let code = this.#codes.get(path)
    if (code === undefined) {
      if (this.#codes.size >= this.#max) return spelledOut(path)
      this.#codes.set(path, (code = this.#codes.size))
    }
    return spelled(code)
  }

  /** The paths that got codes since this was asked last, and the code of the first. */
  takeNew(): NewPaths {
    const first = this.#told
    if (first === this.#codes.size) return { first, paths: [] }
    this.#told = this.#codes.size
    return { first, paths: [...this.#codes.keys()].slice(first) }
  }
}

export interface NewPaths {
  readonly first: number
  readonly paths: readonly string[]
}

/** As terms of the index begin that are of this path; where it has none, nothing begins so. */
export function pathSpelling(db: DatabaseSync, path: string): string {
  const row = db.prepare('SELECT code FROM path WHERE path = ?').get(path) as { code: number } | undefined
  return row === undefined ? spelledOut(path) : spelled(row.code)
}

/** The same of all paths that begin so, of which those without a code share one beginning. */
export function spellingsBelow(db: DatabaseSync, prefix: string): string[] {
  const rows = db.prepare('SELECT code FROM path WHERE path >= ? AND path < ?').all(prefix, after(prefix))
  return [...rows.map((row) => spelled((row as { code: number }).code)), UNCODED + prefix]
}

/** By code. */
export function knownPaths(db: DatabaseSync): string[] {
  return db
    .prepare('SELECT path FROM path ORDER BY code')
    .all()
    .map((row) => (row as { path: string }).path)
}

/** In front of a path without a code. The first alone is what every document has (`ALL_TERM`). */
const UNCODED = TERM_SEPARATOR + TERM_SEPARATOR

function spelledOut(path: string): string {
  return UNCODED + path + TERM_SEPARATOR
}

function spelled(code: number): string {
  return TERM_SEPARATOR + code.toString(RADIX).padStart(DIGITS, '0')
}

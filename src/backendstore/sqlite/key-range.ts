/**
 * A range of sortable keys as the fewest beginnings that cover it: keys are digits, letters and a few signs, so behind a
 * bound of n characters there are at most a few times n of them. FTS5 knows beginnings, not ranges.
 */

import { IP, NUMBER, TIME, VERSION, type SortableMark } from '../../query/sortable.ts'

/** What the keys of each mark are made of, in byte order (`sortable.ts`). */
const ALPHABETS: Readonly<Record<SortableMark, string>> = {
  [NUMBER]: '0123456789nop~',
  [TIME]: '.0123456789',
  [VERSION]: '+-.0123456789abcdefghijklmnopqrstuvwxyz~',
  [IP]: '0123456789abcdef',
}

export interface KeyRange {
  readonly exact: readonly string[]
  readonly prefixes: readonly string[]
}

export function keyRange(mark: SortableMark, bound: string, comparison: '<' | '<=' | '>' | '>='): KeyRange {
  const alphabet = ALPHABETS[mark]
  const upwards = comparison.startsWith('>')
  const exact = comparison.endsWith('=') ? [bound] : []
  const prefixes: string[] = []
  for (let i = 0; i < bound.length; i++) {
    const own = alphabet.indexOf(bound[i] as string)
    const others = upwards ? alphabet.slice(own + 1) : alphabet.slice(0, own)
    for (const c of others) prefixes.push(bound.slice(0, i) + c)
    if (!upwards && i > 0) exact.push(bound.slice(0, i)) // shorter keys come before longer ones
  }
  if (upwards) for (const c of alphabet) prefixes.push(bound + c)
  return { exact, prefixes }
}

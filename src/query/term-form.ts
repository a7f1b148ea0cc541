/**
 * How a store has its terms (`term.ts`). What the value of a field, a label or an annotation gives is made once and
 * remembered (`typed-field.ts`); what the leaves of JSON give is written as they are met, since most come once.
 */
import { textMemo } from '../util/text-memo.ts'
import { sortableNumber, sortableTime, TIME } from './sortable.ts'
import { QUANTITY_TEXT, type PathSpelling } from './term.ts'
import { pieces } from './pieces.ts'
import { exactValue, isSimple } from './tokens.ts'

/** `Part`: the terms of a value. `Whole`: those of a document. */
export interface TermForm<Part, Whole> {
  /** How terms of a path begin that leaves are given with. Asked once for each path. */
  readonly spell: PathSpelling
  /** Makes the parts of one path, each of terms without their path: mark and value. */
  of(path: string): (terms: readonly string[]) => Part
  /** For a document's terms. */
  sheet(): TermSheet<Part, Whole>
}

/**
 * Collects the terms of one document. Exact values must be added once for each path (a facet would count them twice); of
 * pieces it does not matter. How much of an object is indexed is not decided here: it is the same in every form.
 */
export interface TermSheet<Part, Whole> {
  add(part: Part): void
  /** Leaves of JSON; `spelled`: their path. */
  text(spelled: string, text: string): void
  number(spelled: string, text: string): void
  boolean(spelled: string, text: string): void
  empty(spelled: string): void
  finish(): Whole
}

const NO_KEY = ''

/** The sort key of a number or a quantity, remembered; empty for anything else. */
export const numberKey: (text: string) => string = textMemo((text) => sortableNumber(text) ?? NO_KEY)

/** What an exact value of an annotation or a JSON path is beside text, with its mark: a time or a quantity; else empty. */
export function textKey(value: string): string {
  const first = value.charCodeAt(0)
  if (first > 0x39 || first < 0x2b || Number.isNaN(first)) return NO_KEY
  const time = sortableTime(value)
  if (time !== undefined) return TIME + time
  const number = numberKey(value)
  return number === NO_KEY ? NO_KEY : QUANTITY_TEXT + number
}

/** Of an annotation: a time as that alone, a quantity also as that. */
export function textTerms(text: string): string[] {
  const value = exactValue(text)
  const key = textKey(value)
  if (key === NO_KEY) return [`=${value}`]
  return key.startsWith(TIME) ? [key] : [`=${value}`, key]
}

/** An exact value and its pieces. */
export function piecedTerms(value: string): string[] {
  const terms = [`=${value}`]
  for (const piece of otherPieces(value)) terms.push(`~${piece}`)
  return terms
}

export function quantityTerms(value: string): string[] {
  const key = numberKey(value)
  return key === NO_KEY ? [`=${value}`] : [`=${value}`, QUANTITY_TEXT + key]
}

/** The pieces of an exact value but itself. */
export function otherPieces(value: string): readonly string[] {
  return isSimple(value) ? [] : pieces(value).filter((piece) => piece !== value)
}

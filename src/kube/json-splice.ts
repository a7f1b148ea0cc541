/** Changes places of a JSON text and leaves every other byte as it is. */
import { CLOSE_BRACKET, COMMA, QUOTE, skipColon, skipSpace, skipString, skipValue, stringText } from './json-bytes.ts'
import { CLOSE_BRACE, OPEN_BRACE, OPEN_BRACKET, syntaxFault } from './json-bytes.ts'
import type { Span } from './object-spans.ts'

/** Bytes `[start, end)` give way to `insert`. */
export interface Edit extends Span {
  readonly insert: Uint8Array
}

/** One member of an object: its text from the key's quote to behind the value, and where the value begins. */
export interface JsonMember extends Span {
  readonly key: string
  readonly valueStart: number
}

/** The value is well-formed, nothing but blanks stand around it. Throws `MalformedObjectError`. */
export function wholeValue(bytes: Buffer): Span {
  const start = skipSpace(bytes, 0)
  const end = skipValue(bytes, start)
  const behind = skipSpace(bytes, end)
  if (behind !== bytes.length) throw syntaxFault(bytes, behind)
  return { start, end }
}

export const isObject = (bytes: Uint8Array, at: number): boolean => bytes[at] === OPEN_BRACE
export const isArray = (bytes: Uint8Array, at: number): boolean => bytes[at] === OPEN_BRACKET
export const isString = (bytes: Uint8Array, at: number): boolean => bytes[at] === QUOTE
/** Of a value that is known to be well-formed. */
export const isNull = (bytes: Uint8Array, at: number): boolean => bytes[at] === 0x6e

/** All members of the object at `start`, those of equal keys too; none where it is no object. */
export function membersOf(bytes: Buffer, start: number): JsonMember[] {
  const members: JsonMember[] = []
  if (!isObject(bytes, start)) return members
  for (let i = skipSpace(bytes, start + 1); bytes[i] !== CLOSE_BRACE;) {
    if (bytes[i] !== QUOTE) throw syntaxFault(bytes, i)
    const keyEnd = skipString(bytes, i + 1)
    const valueStart = skipColon(bytes, keyEnd)
    const end = skipValue(bytes, valueStart)
    members.push({ key: stringText(bytes, i + 1, keyEnd - 1), start: i, valueStart, end })
    i = behindComma(bytes, end, CLOSE_BRACE)
  }
  return members
}

/** The elements of the array at `start`; none where it is no array. */
export function elementsOf(bytes: Buffer, start: number): Span[] {
  const elements: Span[] = []
  if (!isArray(bytes, start)) return elements
  for (let i = skipSpace(bytes, start + 1); bytes[i] !== CLOSE_BRACKET;) {
    const end = skipValue(bytes, i)
    elements.push({ start: i, end })
    i = behindComma(bytes, end, CLOSE_BRACKET)
  }
  return elements
}

/** From behind a value to the next one, or to the closing bracket. */
function behindComma(bytes: Buffer, from: number, close: number): number {
  const i = skipSpace(bytes, from)
  if (bytes[i] === close) return i
  if (bytes[i] !== COMMA) throw syntaxFault(bytes, i)
  return skipSpace(bytes, i + 1)
}

/** The text of a string value. */
export function stringAt(bytes: Buffer, { start, end }: Span): string {
  return stringText(bytes, start + 1, end - 1)
}

/** Takes some of neighbouring parts out, each with one comma. `parts` are all there are, in order. */
export function removals(parts: readonly Span[], removed: (index: number) => boolean): Edit[] {
  const edits: Edit[] = []
  for (let i = 0; i < parts.length; i++) {
    if (!removed(i)) continue
    const first = i
    while (i + 1 < parts.length && removed(i + 1)) i++
    edits.push({ ...gap(parts, first, i), insert: new Uint8Array(0) })
  }
  return edits
}

/** What goes with the parts `first` to `last`: up to the next part that stays, else from the one before. */
function gap(parts: readonly Span[], first: number, last: number): Span {
  const start = (parts[first] as Span).start
  const next = parts[last + 1]
  if (next !== undefined) return { start, end: next.start }
  const before = parts[first - 1]
  return { start: before?.end ?? start, end: (parts[last] as Span).end }
}

/** New members in front of all others of the object at `start`. */
export function insertMembers(bytes: Buffer, start: number, members: readonly (readonly [string, unknown])[]): Edit {
  const at = start + 1
  const text = members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')
  const isEmpty = bytes[skipSpace(bytes, at)] === CLOSE_BRACE
  return { start: at, end: at, insert: Buffer.from(isEmpty ? text : `${text},`) }
}

/** The same buffer where there is nothing to change. Edits may not overlap. */
export function applyEdits(bytes: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return bytes
  const sorted = edits.toSorted((a, b) => a.start - b.start || a.end - b.end)
  const pieces: Uint8Array[] = []
  let from = 0
  for (const { start, end, insert } of sorted) {
    pieces.push(bytes.subarray(from, start), insert)
    from = end
  }
  pieces.push(bytes.subarray(from))
  return Buffer.concat(pieces)
}

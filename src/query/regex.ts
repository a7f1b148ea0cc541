/**
 * The regular expressions of `field~pattern`: the part of RE2's syntax that every store can do in linear time, parsed here
 * once and handed to stores as a tree.
 *
 *     pattern  := "(?i)"? "^"? branches "$"?
 *     branches := pieces ("|" pieces)*
 *     pieces   := (atom ("*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}") "?"? )*
 *     atom     := character | "." | "[" class "]" | "\d" "\w" "\s" "\D" "\W" "\S" | "\" sign | "(" "?:"? branches ")"
 *
 * It matches anywhere in a value, with the case as it stands; `^` and `$` bind to the value's ends, `(?i)` lets ASCII
 * letters be of either case. No look-around, no back references, no word boundaries, no other flags: their use is a fault
 * with its position. A character is a code point.
 */

/** Code points from, to. Ascending, without overlap. */
export type CharRange = readonly [from: number, to: number]

export type RegexNode =
  | { readonly type: 'chars'; readonly ranges: readonly CharRange[] }
  | { readonly type: 'sequence' | 'branches'; readonly children: readonly RegexNode[] }
  /** `max` undefined: any number. */
  | { readonly type: 'repeat'; readonly child: RegexNode; readonly min: number; readonly max: number | undefined }

export interface Regex {
  readonly atStart: boolean
  readonly atEnd: boolean
  readonly node: RegexNode
}

export interface RegexFault {
  readonly fault: string
  /** Position in the pattern. */
  readonly at: number
}

export const MAX_REGEX_CHARS = 256
const MAX_REPEAT = 100
/** Characters and classes with all repetitions written out: what a store's automaton grows with. */
const MAX_SIZE = 1_000
const MAX_DEPTH = 20
export const LAST_CODE_POINT = 0x10ffff

const DIGIT: readonly CharRange[] = [[0x30, 0x39]]
const WORD: readonly CharRange[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
const SPACE: readonly CharRange[] = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
]
const SETS: Readonly<Record<string, readonly CharRange[]>> = {
  d: DIGIT,
  w: WORD,
  s: SPACE,
  D: complement(DIGIT),
  W: complement(WORD),
  S: complement(SPACE),
}
const ANY: RegexNode = { type: 'chars', ranges: [[0, LAST_CODE_POINT]] }

export function parseRegex(pattern: string): Regex | RegexFault {
  if (pattern.length > MAX_REGEX_CHARS)
    return { fault: `longer than ${MAX_REGEX_CHARS} characters`, at: MAX_REGEX_CHARS }
  const parser = new RegexParser(pattern)
  try {
    return parser.parse()
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message, at: error.at }
    throw error
  }
}

class Fault extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

class RegexParser {
  readonly #pattern: string
  #at = 0
  #ignoreCase = false

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  parse(): Regex {
    this.#ignoreCase = this.#take('(?i)')
    const atStart = this.#take('^')
    const node = this.#branches(0)
    const atEnd = this.#take('$')
    if (this.#at < this.#pattern.length) {
      if (atEnd) throw new Fault('"$" stands only at the end', this.#at - 1)
      throw new Fault('nothing opens this bracket', this.#at)
    }
    if (sizeOf(node) > MAX_SIZE) throw new Fault('its repetitions make it too large', 0)
    return { atStart, atEnd, node }
  }

  #branches(depth: number): RegexNode {
    if (depth > MAX_DEPTH) throw new Fault(`nested deeper than ${MAX_DEPTH}`, this.#at)
    const children = [this.#sequence(depth)]
    while (this.#take('|')) children.push(this.#sequence(depth))
    return children.length === 1 ? (children[0] as RegexNode) : { type: 'branches', children }
  }

  #sequence(depth: number): RegexNode {
    const children: RegexNode[] = []
    for (;;) {
      const c = this.#peek()
      if (c === '' || c === '|' || c === ')' || c === '$') break
      children.push(this.#repeated(this.#atom(depth)))
    }
    return children.length === 1 ? (children[0] as RegexNode) : { type: 'sequence', children }
  }

  #atom(depth: number): RegexNode {
    const at = this.#at
    const c = this.#next()
    switch (c) {
      case '.':
        return ANY
      case '[':
        return chars(this.#fold(this.#classRanges(at)))
      case '(': {
        if (this.#peek() === '?' && !this.#take('?:'))
          throw new Fault('look-around, names and flags are not supported', at)
        const inner = this.#branches(depth + 1)
        if (!this.#take(')')) throw new Fault('nothing closes this bracket', at)
        return inner
      }
      case '\\':
        return chars(this.#fold(this.#escape(at)))
      case '*':
      case '+':
      case '?':
        throw new Fault(`nothing stands before "${c}" to repeat`, at)
      case '{':
        throw new Fault('nothing to repeat; write "\\{" for the sign', at)
      case '^':
        throw new Fault('"^" stands only at the beginning', at)
      default:
        return chars(this.#fold([single(c)]))
    }
  }

  #repeated(atom: RegexNode): RegexNode {
    const at = this.#at
    const times = this.#times()
    if (times === undefined) return atom
    this.#take('?') // lazy or not, it matches the same values
    if (this.#times() !== undefined) throw new Fault('a repetition of a repetition needs brackets', at)
    return { type: 'repeat', child: atom, ...times }
  }

  #times(): { min: number; max: number | undefined } | undefined {
    if (this.#take('*')) return { min: 0, max: undefined }
    if (this.#take('+')) return { min: 1, max: undefined }
    if (this.#take('?')) return { min: 0, max: 1 }
    const at = this.#at
    if (!this.#take('{')) return undefined
    const counted = /^([0-9]{1,9})(,?)([0-9]{0,9})\}/.exec(this.#pattern.slice(this.#at))
    const [whole = '', low = '', comma = '', high = ''] = counted ?? []
    const min = Number(low)
    const max = comma === '' ? min : high === '' ? undefined : Number(high)
    if (counted === null || (comma === '' && high !== '') || (max ?? min) < min) {
      throw new Fault('a repetition reads {n}, {n,} or {n,m}; write "\\{" for the sign', at)
    }
    if (Math.max(min, max ?? 0) > MAX_REPEAT) throw new Fault(`more than ${MAX_REPEAT} repetitions`, at)
    this.#at += whole.length
    return { min, max }
  }

  #classRanges(at: number): readonly CharRange[] {
    const negated = this.#take('^')
    const ranges: CharRange[] = []
    for (let first = true; ; first = false) {
      const start = this.#at
      const c = this.#next()
      if (c === '') throw new Fault('nothing closes this class', at)
      if (c === ']' && !first) break
      if (c === '[' && this.#peek() === ':') throw new Fault('named classes are not supported', start)
      ranges.push(...this.#classItem(c, start))
    }
    return negated ? complement(this.#fold(ranges)) : ranges
  }

  #classItem(c: string, at: number): readonly CharRange[] {
    const from = c === '\\' ? this.#escape(at) : [single(c)]
    const [only] = from
    const isRange = this.#peek() === '-' && !['', ']'].includes(this.#pattern.charAt(this.#at + 1))
    if (!isRange || from.length !== 1 || only === undefined || only[0] !== only[1]) return from
    this.#at++
    const next = this.#next()
    const to = next === '\\' ? this.#escape(this.#at - 1) : [single(next)]
    const end = to.length === 1 ? to[0] : undefined
    if (end === undefined || end[0] !== end[1] || end[0] < only[0]) throw new Fault('no range of characters', at)
    return [[only[0], end[0]]]
  }

  #escape(at: number): readonly CharRange[] {
    const c = this.#next()
    if (c === '') throw new Fault('nothing stands behind the backslash', at)
    const set = Object.hasOwn(SETS, c) ? SETS[c] : undefined
    if (set !== undefined) return set
    if (/[A-Za-z0-9]/.test(c)) throw new Fault(`"\\${c}" is not supported`, at)
    return [single(c)]
  }

  #fold(ranges: readonly CharRange[]): readonly CharRange[] {
    if (!this.#ignoreCase) return ranges
    const folded = ranges.flatMap((range) => [
      range,
      ...shifted(range, 0x41, 0x5a, 32),
      ...shifted(range, 0x61, 0x7a, -32),
    ])
    return folded
  }

  #peek(): string {
    return this.#pattern.charAt(this.#at)
  }

  /** The next character, whole; empty at the end. */
  #next(): string {
    const point = this.#pattern.codePointAt(this.#at)
    if (point === undefined) return ''
    const c = String.fromCodePoint(point)
    this.#at += c.length
    return c
  }

  #take(text: string): boolean {
    if (!this.#pattern.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }
}

function single(c: string): CharRange {
  const point = c.codePointAt(0) ?? 0
  return [point, point]
}

/** What of the range lies between two bounds, moved. */
function shifted([from, to]: CharRange, low: number, high: number, by: number): CharRange[] {
  const [a, b] = [Math.max(from, low), Math.min(to, high)]
  return a <= b ? [[a + by, b + by]] : []
}

function chars(ranges: readonly CharRange[]): RegexNode {
  return { type: 'chars', ranges: merged(ranges) }
}

function merged(ranges: readonly CharRange[]): readonly CharRange[] {
  const result: [number, number][] = []
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else result.push([from, to])
  }
  return result
}

function complement(ranges: readonly CharRange[]): readonly CharRange[] {
  const result: CharRange[] = []
  let next = 0
  for (const [from, to] of merged(ranges)) {
    if (from > next) result.push([next, from - 1])
    next = to + 1
  }
  if (next <= LAST_CODE_POINT) result.push([next, LAST_CODE_POINT])
  return result
}

function sizeOf(node: RegexNode): number {
  switch (node.type) {
    case 'chars':
      return 1
    case 'sequence':
    case 'branches':
      return node.children.reduce((sum, child) => sum + sizeOf(child), 1)
    case 'repeat':
      return 1 + sizeOf(node.child) * Math.max(1, node.min, node.max ?? node.min + 1)
  }
}

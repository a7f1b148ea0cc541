/**
 * Whether a text matches a regular expression, in time proportional to the text's length: all ways through the expression
 * are followed at once (Thompson), and the sets of places met are kept so that most characters cost one look-up.
 */
import type { CharRange, Regex, RegexNode } from './regex.ts'

/** One place in the expression: `accepts` a character and goes on to `next`, or goes on to all of `jumps` at once. */
type Place =
  | { readonly ranges: readonly CharRange[]; readonly next: number }
  | { readonly jumps: number[] }
  | { readonly end: true }

/** A set of places. */
interface State {
  readonly places: readonly number[]
  readonly matched: boolean
  /** By ASCII character: the state behind it. */
  readonly behind: (State | undefined)[]
}

/** Then they are forgotten: an expression that makes so many hardly meets one twice. */
const MAX_STATES = 1_000

export function regexMatcher(regex: Regex): (text: string) => boolean {
  const matcher = new Matcher(regex)
  return (text) => matcher.matches(text)
}

class Matcher {
  readonly #places: Place[] = []
  readonly #start: number
  readonly #regex: Regex
  #states = new Map<string, State>()

  constructor(regex: Regex) {
    this.#regex = regex
    this.#places.push({ end: true })
    this.#start = this.#compile(regex.node, 0)
  }

  matches(text: string): boolean {
    const { atStart, atEnd } = this.#regex
    let state = this.#stateOf([this.#start])
    for (const c of text) {
      if (state.matched && !atEnd) return true
      if (state.places.length === 0 && atStart) return false
      state = this.#step(state, c.codePointAt(0) ?? 0)
    }
    return state.matched
  }

  #step(state: State, c: number): State {
    const known = c < 128 ? state.behind[c] : undefined
    if (known !== undefined) return known
    const next: number[] = this.#regex.atStart ? [] : [this.#start]
    for (const index of state.places) {
      const place = this.#places[index]
      if (place !== undefined && 'ranges' in place && includes(place.ranges, c)) next.push(place.next)
    }
    const made = this.#stateOf(next)
    if (c < 128) state.behind[c] = made
    return made
  }

  #stateOf(from: readonly number[]): State {
    const places = this.#closure(from)
    const key = places.join(',')
    const known = this.#states.get(key)
    if (known !== undefined) return known
    if (this.#states.size >= MAX_STATES) this.#states = new Map()
    const state: State = { places, matched: places.includes(0), behind: [] }
    this.#states.set(key, state)
    return state
  }

  /** With whatever can be reached without a character. */
  #closure(from: readonly number[]): number[] {
    const seen = new Set<number>()
    const found: number[] = []
    const open = [...from]
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (seen.has(index)) continue
      seen.add(index)
      const place = this.#places[index]
      if (place !== undefined && 'jumps' in place) open.push(...place.jumps)
      else found.push(index)
    }
    return found.sort((a, b) => a - b)
  }

  /** Where the node begins, if behind it `next` follows. */
  #compile(node: RegexNode, next: number): number {
    switch (node.type) {
      case 'chars':
        return this.#places.push({ ranges: node.ranges, next }) - 1
      case 'sequence':
        return node.children.reduceRight((behind, child) => this.#compile(child, behind), next)
      case 'branches':
        return this.#places.push({ jumps: node.children.map((child) => this.#compile(child, next)) }) - 1
      case 'repeat':
        return this.#repeat(node, next)
    }
  }

  #repeat({ child, min, max }: RegexNode & { type: 'repeat' }, next: number): number {
    let entry = next
    if (max === undefined) {
      const jumps = [next]
      entry = this.#places.push({ jumps }) - 1
      jumps.push(this.#compile(child, entry))
    } else {
      for (let i = min; i < max; i++) entry = this.#places.push({ jumps: [next, this.#compile(child, entry)] }) - 1
    }
    for (let i = 0; i < min; i++) entry = this.#compile(child, entry)
    return entry
  }
}

function includes(ranges: readonly CharRange[], c: number): boolean {
  for (const [from, to] of ranges) if (c <= to) return c >= from
  return false
}

/** Reads the text of a JSONPath into steps. */

export type PathOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'exists'

export interface PathFilter {
  readonly type: 'filter'
  readonly left: readonly PathStep[]
  readonly operator: PathOperator
  /** Empty for `exists`. */
  readonly right: readonly PathStep[]
}

export type PathStep =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' }
  | { readonly type: 'descend' }
  | {
      readonly type: 'slice'
      readonly from: number | undefined
      readonly to: number | undefined
      readonly step: number
      /** `[2]` rather than `[2:3]`. */
      readonly single: boolean
    }
  | { readonly type: 'union'; readonly branches: readonly (readonly PathStep[])[] }
  | { readonly type: 'literal'; readonly value: string | number | boolean }
  | PathFilter

/** A path that cannot be read; `position` counts characters of the text given. */
export class JsonPathError extends Error {
  readonly position: number

  constructor(message: string, position: number) {
    super(`${message} at ${String(position)}`)
    this.name = 'JsonPathError'
    this.position = position
  }
}

const TERMINATOR = /[\s.,[\]$@{}]/
const NUMBER = /[+-]?[0-9][0-9.]*/y
const WORD = /[\p{L}\p{N}_][^\s.,[\]$@{}]*/uy
const SLICE = /^(-?[0-9]*)(?::(-?[0-9]*))?(?::(-?[0-9]*))?$/
const FILTER = /^([^!<>=]+)([!<>=]+)(.+)$/s
const OPERATORS: readonly string[] = ['==', '!=', '<', '<=', '>', '>=']

/** Takes `.spec.a`, `{.spec.a}` and `$.spec.a` alike. Throws `JsonPathError`. */
export function parsePath(text: string): PathStep[] {
  const braced = text.startsWith('{')
  if (braced !== text.endsWith('}')) throw new JsonPathError('unclosed brace', text.length)
  return new Parser(braced ? text.slice(1, -1) : text, braced ? 1 : 0).parse()
}

class Parser {
  readonly #text: string
  readonly #offset: number
  #at = 0

  constructor(text: string, offset: number) {
    this.#text = text
    this.#offset = offset
  }

  parse(): PathStep[] {
    const steps: PathStep[] = []
    while (this.#at < this.#text.length) steps.push(...this.#next(steps.at(-1)))
    return steps
  }

  #next(previous: PathStep | undefined): PathStep[] {
    const c = this.#text.charAt(this.#at)
    if (this.#text.startsWith('[?(', this.#at)) return [this.#filter()]
    if (this.#text.startsWith('..', this.#at)) return this.#descend(previous)
    if (c === ' ' || c === '@' || c === '$') {
      this.#at += 1
      return []
    }
    if (c === '.') {
      this.#at += 1
      return [this.#field()]
    }
    if (c === '[') return this.#bracket()
    if (c === '"' || c === "'") return [{ type: 'literal', value: this.#quoted(c) }]
    return [this.#literal()]
  }

  #descend(previous: PathStep | undefined): PathStep[] {
    if (previous?.type === 'descend') throw this.#fault('recursive descent twice')
    this.#at += 2
    const c = this.#text.charAt(this.#at)
    return /[\p{L}\p{N}_]/u.test(c) ? [{ type: 'descend' }, this.#field()] : [{ type: 'descend' }]
  }

  /** A name up to the next terminator; a backslash takes a terminator into the name. */
  #field(): PathStep {
    let name = ''
    while (this.#at < this.#text.length) {
      let c = this.#text.charAt(this.#at)
      if (TERMINATOR.test(c)) break
      if (c === '\\') c = this.#text.charAt(++this.#at)
      name += c
      this.#at += 1
    }
    return name === '*' ? { type: 'wildcard' } : { type: 'field', name }
  }

  #literal(): PathStep {
    const number = this.#match(NUMBER)
    if (number !== undefined) {
      const value = Number(number)
      if (Number.isNaN(value)) throw this.#fault(`no number: ${number}`)
      return { type: 'literal', value }
    }
    const word = this.#match(WORD)
    if (word === 'true' || word === 'false') return { type: 'literal', value: word === 'true' }
    throw this.#fault(word === undefined ? 'unexpected character' : `unknown word ${word}`)
  }

  #quoted(quote: string): string {
    let value = ''
    for (let i = this.#at + 1; i < this.#text.length; i++) {
      const c = this.#text.charAt(i)
      if (c === quote) {
        this.#at = i + 1
        return value
      }
      value += c === '\\' ? unescaped(this.#text.charAt(++i)) : c
    }
    throw this.#fault('unterminated string')
  }

  #bracket(): PathStep[] {
    const end = this.#text.indexOf(']', this.#at)
    if (end < 0) throw this.#fault('unterminated bracket')
    const inside = this.#text.slice(this.#at + 1, end)
    const parts = inside.split(',')
    const branches = parts.map((part) => this.#selection(part.trim()))
    this.#at = end + 1
    return branches.length === 1 ? (branches[0] ?? []) : [{ type: 'union', branches }]
  }

  #selection(inside: string): PathStep[] {
    const key = /^'([^']*)'$/.exec(inside)?.[1]
    if (key !== undefined) return new Parser(`.${key}`, this.#offset + this.#at).parse()
    const match = SLICE.exec(inside === '*' ? ':' : inside)
    if (match === null) throw this.#fault(`no index: ${inside}`)
    const [, from, to, step] = match
    const [first, last, every] = [from, to, step].map((part) =>
      part === undefined || part === '' ? undefined : Number(part),
    )
    const faulty = [first, last, every].some((part) => Number.isNaN(part)) || (every !== undefined && every <= 0)
    if (faulty) throw this.#fault(`no index: ${inside}`)
    return [{ type: 'slice', from: first, to: last, step: every ?? 1, single: to === undefined }]
  }

  #filter(): PathFilter {
    const start = this.#at + 3
    const end = this.#filterEnd(start)
    const condition = this.#text.slice(start, end)
    this.#at = end + 2
    const match = FILTER.exec(condition)
    const sub = (text: string, at: number): PathStep[] => new Parser(text, this.#offset + at).parse()
    if (match === null) return { type: 'filter', left: sub(condition, start), operator: 'exists', right: [] }
    const [, left = '', operator = '', right = ''] = match
    if (!OPERATORS.includes(operator)) throw this.#fault(`unknown operator ${operator}`)
    const rightAt = start + left.length + operator.length
    return { type: 'filter', left: sub(left, start), operator: operator as PathOperator, right: sub(right, rightAt) }
  }

  /** Where `)]` closes the filter; brackets inside a string do not count. */
  #filterEnd(start: number): number {
    let quote = ''
    for (let i = start; i < this.#text.length; i++) {
      const c = this.#text.charAt(i)
      if (quote !== '') {
        if (c === '\\') i += 1
        else if (c === quote) quote = ''
      } else if (c === '"' || c === "'") {
        quote = c
      } else if (c === ')') {
        if (this.#text.charAt(i + 1) !== ']') throw this.#fault('unclosed filter')
        return i
      }
    }
    throw this.#fault('unterminated filter')
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #fault(message: string): JsonPathError {
    return new JsonPathError(message, this.#offset + this.#at)
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

function unescaped(c: string): string {
  return ESCAPES[c] ?? c
}

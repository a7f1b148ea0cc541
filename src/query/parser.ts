/**
 * Parses a query. Everything is literal unless it reads as syntax, so that whatever somebody pastes is searched for as it
 * stands: an unclosed quote or bracket, a trailing AND, an operator in small letters are plain text, and carry a hint that
 * says so. The only faults are the limits.
 */
import { badRequest } from '../kube/status-error.ts'
import type { Operator, QueryNode, QueryValue } from './ast.ts'

/** As docs/query-language.md has it (test/query/grammar.test.ts). */
export const GRAMMAR = `query    = [ all , { space , "OR" , space , all } ] ;
all      = unary , { space , [ "AND" , space ] , unary } ;
unary    = "-" , operand | "NOT" , space , unary | operand ;
operand  = "(" , query , ")" | field , operator , value | field , "~" , pattern | text ;
operator = ":" | "=" | "!=" | "<" | "<=" | ">" | ">=" ;
value    = one | "(" , one , { [ space ] , "," , [ space ] , one } , ")" | "(" , one , { space , "OR" , space , one } , ")" ;
one      = word | quoted ;
pattern  = word | quoted ;
text     = word | quoted ;
`

/** More is a mistake or an attack: every term costs an index look-up. */
export const MAX_QUERY_CHARS = 12_000
export const MAX_QUERY_TERMS = 256
const MAX_DEPTH = 32

const SPACE = /\s*/y
const FIELD = /([A-Za-z.$][A-Za-z0-9_.\-/]*)(!=|<=|>=|[:=<>~])/y
const KEYWORD = /(AND|OR|NOT)(?=\s|$)/y

/** Throws `badRequest` with the position for a query that is too long, too deep or has too many terms. */
export function parseQuery(text: string, isField: (name: string) => boolean): QueryNode {
  if (text.length > MAX_QUERY_CHARS) throw syntaxError(`longer than ${MAX_QUERY_CHARS} characters`, MAX_QUERY_CHARS)
  return new Parser(text, isField).parse()
}

/** The 400 of a query that cannot be understood, `at` counted from 0. */
export function syntaxError(message: string, at: number): Error {
  return badRequest(`query syntax error at position ${at}: ${message}`)
}

function withHint<Node extends QueryNode>(node: Node, hint: string | undefined): Node {
  return hint === undefined ? node : { ...node, hint }
}

/** Of a text that begins or ends as if there were another half. */
function openHint(text: string, at: number): string | undefined {
  const what = text.startsWith('"') ? 'quote' : text.startsWith('(') && !isBalanced(text) ? 'bracket' : undefined
  if (what !== undefined) return `nothing closes the ${what} at position ${at}: it was searched for as text`
  if (/^[^(]*\)/.test(text))
    return `nothing opens the bracket at position ${at + text.indexOf(')')}: it was searched for as text`
  return undefined
}

function isBalanced(text: string): boolean {
  let open = 0
  for (const c of text) {
    if (c === '(') open++
    if (c === ')' && --open < 0) return false
  }
  return open === 0
}

class Parser {
  readonly #text: string
  readonly #isField: (name: string) => boolean
  /** Where a bracket stands that nothing closes: looked into once only, so that parsing stays linear. */
  readonly #unclosed = new Set<number>()
  #at = 0
  #terms = 0

  constructor(text: string, isField: (name: string) => boolean) {
    this.#text = text
    this.#isField = isField
  }

  parse(): QueryNode {
    return this.#query(0)
  }

  /** Up to the end, or inside brackets up to the one that closes them (which is left). */
  #query(depth: number): QueryNode {
    const alternatives = [this.#all(depth)]
    while (this.#operand('OR', depth)) alternatives.push(this.#all(depth))
    return alternatives.length === 1 ? (alternatives[0] as QueryNode) : { type: 'or', children: alternatives }
  }

  #all(depth: number): QueryNode {
    const children: QueryNode[] = []
    while (!this.#atEnd(depth) && !(children.length > 0 && this.#operandAhead('OR', depth))) {
      if (children.length > 0) this.#operand('AND', depth)
      children.push(this.#unary(depth))
    }
    return children.length === 1 ? (children[0] as QueryNode) : { type: 'and', children }
  }

  #unary(depth: number): QueryNode {
    if (depth > MAX_DEPTH) throw syntaxError(`nested deeper than ${MAX_DEPTH}`, this.#at)
    if (this.#negation(depth)) return { type: 'not', child: this.#unary(depth + 1) }
    return this.#group(depth) ?? this.#field(depth) ?? this.#textTerm(depth)
  }

  /** A `-` in front of something (`--flag` is text), or the word NOT in front of something. */
  #negation(depth: number): boolean {
    if (!/^-[^\s-]/.test(this.#text.slice(this.#at, this.#at + 2))) return this.#operand('NOT', depth)
    this.#at++
    if (!this.#atEnd(depth)) return true
    this.#at--
    return false
  }

  #group(depth: number): QueryNode | undefined {
    if (this.#text[this.#at] !== '(' || this.#unclosed.has(this.#at)) return undefined
    const start = this.#at
    const terms = this.#terms
    this.#at++
    const inner = this.#query(depth + 1)
    if (this.#text[this.#at] === ')') {
      this.#at++
      return inner
    }
    this.#unclosed.add(start)
    this.#at = start
    this.#terms = terms
    return undefined
  }

  #field(depth: number): QueryNode | undefined {
    FIELD.lastIndex = this.#at
    const match = FIELD.exec(this.#text)
    const [whole = '', field = '', operator = ''] = match ?? []
    if (match === null || !this.#isField(field)) return undefined
    const at = this.#at
    this.#at += whole.length
    const values = operator === '~' ? this.#pattern(depth) : this.#values(depth)
    if (values.length === 0) {
      this.#at = at // `name: web`, pasted from somewhere: text
      return undefined
    }
    this.#count(at)
    const node = { type: 'field', field, operator: operator as Operator, values, at } as const
    return withHint(node, values.map(({ text, quoted, at: place }) => (quoted ? undefined : openHint(text, place)))[0])
  }

  /** The value behind an operator; nothing where white space or the end follows, but for `label.x=`, the empty value. */
  #values(depth: number): QueryValue[] {
    if (this.#text[this.#at] === '(') {
      const list = this.#list()
      if (list !== undefined) return list
    }
    const value = this.#value(depth, /\s/)
    if (value !== undefined) return [value]
    return this.#text[this.#at - 1] === '=' ? [{ text: '', quoted: true, at: this.#at }] : []
  }

  /** A regular expression goes on to the next space, whatever brackets it begins with; with spaces it stands in quotes. */
  #pattern(depth: number): QueryValue[] {
    const value = this.#value(depth, /\s/)
    return value === undefined ? [] : [value]
  }

  /** `(a, "b c", d)` or `(a OR b)`; undefined where it is no such list. */
  #list(): QueryValue[] | undefined {
    const start = this.#at
    const values: QueryValue[] = []
    this.#at++
    for (;;) {
      this.#skipSpace()
      const value = this.#value(0, /[\s,)]/)
      if (value === undefined) break
      values.push(value)
      this.#skipSpace()
      if (this.#text[this.#at] === ')') {
        this.#at++
        return values
      }
      if (this.#text[this.#at] === ',') this.#at++
      else if (!this.#operand('OR', 1)) break
      this.#count(value.at)
    }
    this.#at = start
    return undefined
  }

  /** A quoted text or a run up to `stop`; undefined where there is none. */
  #value(depth: number, stop: RegExp): QueryValue | undefined {
    const at = this.#at
    const quoted = this.#quoted()
    if (quoted !== undefined) return { text: quoted, quoted: true, at }
    const text = this.#run(depth, stop)
    return text === '' ? undefined : { text, quoted: false, at }
  }

  #textTerm(depth: number): QueryNode {
    this.#count(this.#at)
    const at = this.#at
    const value = this.#value(depth, /\s/) ?? { text: '', quoted: true, at }
    return withHint({ type: 'text', value }, value.quoted ? undefined : this.#hint(value))
  }

  #hint({ text, at }: QueryValue): string | undefined {
    if (/^(and|or|not)$/i.test(text)) {
      const operator = text.toUpperCase()
      return text === operator
        ? `"${text}" at position ${at} joins nothing: it was searched for as a word`
        : `"${text}" at position ${at} was searched for as a word; the operator is ${operator}`
    }
    FIELD.lastIndex = 0
    const [whole, field = ''] = FIELD.exec(text) ?? []
    if (whole === text && this.#isField(field)) {
      return `"${text}" at position ${at} has no value: it was searched for as text; ${field}:* finds what has one`
    }
    return openHint(text, at)
  }

  /** The text of a quoted string, without its quotes; undefined where none begins here or it has no end. */
  #quoted(): string | undefined {
    const match = this.#text[this.#at] === '"' ? /"((?:[^"\\]|\\[^])*)"/y : undefined
    if (match === undefined) return undefined
    match.lastIndex = this.#at
    const [whole, inner] = match.exec(this.#text) ?? []
    if (whole === undefined || inner === undefined) return undefined
    this.#at += whole.length
    return inner.replace(/\\(["\\])/g, '$1')
  }

  /** Inside brackets a run ends before the one that closes them; brackets opened within it belong to it. */
  #run(depth: number, stop: RegExp): string {
    const start = this.#at
    let open = 0
    for (; this.#at < this.#text.length; this.#at++) {
      const c = this.#text[this.#at] as string
      if (stop.test(c)) break
      if (c === '(') open++
      if (c === ')' && --open < 0 && depth > 0) break
    }
    return this.#text.slice(start, this.#at)
  }

  /** Takes the keyword if an operand follows it. */
  #operand(keyword: string, depth: number): boolean {
    const length = this.#operandAhead(keyword, depth)
    this.#at += length
    return length > 0
  }

  /** Characters up to the operand behind the keyword; 0 where there is no such keyword or operand. */
  #operandAhead(keyword: string, depth: number): number {
    this.#skipSpace()
    const start = this.#at
    KEYWORD.lastIndex = start
    if (KEYWORD.exec(this.#text)?.[1] !== keyword) return 0
    this.#at += keyword.length
    const length = this.#atEnd(depth) ? 0 : this.#at - start
    this.#at = start
    return length
  }

  #atEnd(depth: number): boolean {
    this.#skipSpace()
    return this.#at >= this.#text.length || (depth > 0 && this.#text[this.#at] === ')')
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at
    SPACE.exec(this.#text)
    this.#at = SPACE.lastIndex
  }

  #count(at: number): void {
    if (++this.#terms > MAX_QUERY_TERMS) throw syntaxError(`more than ${MAX_QUERY_TERMS} terms`, at)
  }
}

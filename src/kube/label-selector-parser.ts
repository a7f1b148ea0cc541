/**
 * The text form of label selectors. Recursive descent over tokens; every message is a kube-apiserver's.
 *
 * selector := [ requirement { "," requirement } ]
 * requirement := [ "!" ] KEY | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ] | KEY ( "in" | "notin" ) "(" [ VALUE ] { "," [ VALUE ] } ")"
 */
import { compareUtf8 } from '../util/bytes.ts'
import type { LabelOperator, Requirement } from './label-requirement.ts'
import { keyFaults, newRequirement } from './label-requirement.ts'
import { badRequest, isStatusError } from './status-error.ts'

/** `word` stands for keys and values; `in` and `notin` are words too, except where an operator is due. */
type TokenType = 'word' | 'end' | ')' | '(' | ',' | '!' | '=' | '==' | '!=' | '>' | '<'

interface Token {
  readonly type: TokenType
  readonly text: string
}

const OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', 'in'],
  ['==', 'in'],
  ['!=', 'notin'],
  ['>', 'gt'],
  ['<', 'lt'],
])
const OPERATOR_LIST = 'in, notin, =, ==, !=, gt, lt'

const END: Token = { type: 'end', text: '' }

export function parseRequirements(text: string): Requirement[] {
  return new Parser(tokenize(text)).parse()
}

/** A NUL ends a token like a blank does, and ends the text where a token would begin: as Go's lexer has it. */
function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  const lexer = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n\0]+))\0?/y
  for (;;) {
    const match = lexer.exec(text)
    if (match === null) return tokens
    const [, symbol, word = ''] = match
    tokens.push(symbol === undefined ? { type: 'word', text: word } : { type: symbol as TokenType, text: symbol })
  }
}

class Parser {
  readonly #tokens: readonly Token[]
  #position = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = []
    for (;;) {
      const token = this.#peek()
      if (token.type === 'end') return requirements
      if (token.type !== 'word' && token.type !== '!') throw found(token, "!, identifier, or 'end of string'")
      requirements.push(this.#requirement())
      const behind = this.#next()
      if (behind.type === 'end') return requirements
      if (behind.type !== ',') throw found(behind, "',' or 'end of string'")
      const following = this.#peek()
      if (following.type !== 'word' && following.type !== '!') throw found(following, "identifier after ','")
    }
  }

  #requirement(): Requirement {
    try {
      return this.#checkedRequirement()
    } catch (error) {
      if (!isStatusError(error)) throw error
      throw badRequest(`unable to parse requirement: ${error.message}`)
    }
  }

  #checkedRequirement(): Requirement {
    const negated = this.#peek().type === '!'
    if (negated) this.#next()
    const key = this.#next()
    if (key.type !== 'word') throw found(key, 'identifier')
    const faults = keyFaults(key.text)
    if (faults.length > 0) throw badRequest(`<nil>: ${faults.join('; ')}`)
    const behind = this.#peek().type
    if (negated) return newRequirement(key.text, '!', [])
    if (behind === 'end' || behind === ',') return newRequirement(key.text, 'exists', [])
    const token = this.#next()
    const operator = OPERATORS.get(token.text)
    if (operator === undefined) throw found(token, OPERATOR_LIST)
    const set = token.text === 'in' || token.text === 'notin'
    return newRequirement(key.text, operator, set ? sortedSet(this.#values()) : [this.#exactValue()])
  }

  #exactValue(): string {
    const { type } = this.#peek()
    if (type === 'end' || type === ',') return ''
    const token = this.#next()
    if (token.type !== 'word') throw found(token, 'identifier')
    return token.text
  }

  #values(): string[] {
    const open = this.#next()
    if (open.type !== '(') throw badRequest(`found '${open.text}' expected: '('`)
    const first = this.#peek()
    if (first.type === ')') {
      this.#next()
      return ['']
    }
    if (first.type !== 'word' && first.type !== ',') throw found(first, "',', ')' or identifier")
    const values = this.#valueList()
    this.#next() // the `)` that ended the list
    return values
  }

  /** Values up to, not including, the `)`. Nothing between two commas, or between one and a parenthesis, is "". */
  #valueList(): string[] {
    const values: string[] = []
    for (;;) {
      const token = this.#next()
      if (token.type === 'word') {
        values.push(token.text)
        const behind = this.#peek()
        if (behind.type === ')') return values
        if (behind.type !== ',') throw found(behind, "',' or ')'")
      } else if (token.type === ',') {
        if (values.length === 0) values.push('')
        const behind = this.#peek().type
        if (behind === ',' || behind === ')') values.push('')
        if (behind === ')') return values
      } else {
        throw found(token, "',', or identifier")
      }
    }
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? END
  }

  #next(): Token {
    const token = this.#peek()
    this.#position += 1
    return token
  }
}

/** Sorted before they are checked, so that a fault's index counts in this order, as theirs does. */
function sortedSet(values: readonly string[]): string[] {
  return [...new Set(values)].sort(compareUtf8)
}

function found(token: Token, expected: string): Error {
  return badRequest(`found '${token.text}', expected: ${expected}`)
}

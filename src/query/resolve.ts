/**
 * From a query as typed to a predicate over documents: fields looked up, values read as their types, ages made times.
 * Predicates are what stores compile; they know nothing of syntax.
 */
import type { Operator, QueryNode, QueryValue } from './ast.ts'
import type { Field, FieldCatalog } from './fields.ts'
import { isIndexedPath } from './index-rules.ts'
import { syntaxError } from './parser.ts'
import { parseRegex, type Regex } from './regex.ts'
import { ipNetwork } from './ip-network.ts'
import { IP, NUMBER, sortableNumber, type SortableMark } from './sortable.ts'
import { exactValue, foldCase, words } from './tokens.ts'
import { typedBounds, type Comparison } from './typed-bounds.ts'

export type Predicate =
  | { readonly type: 'all' }
  | { readonly type: 'and' | 'or'; readonly children: readonly Predicate[] }
  | { readonly type: 'not'; readonly child: Predicate }
  /** A value of the path is exactly this. */
  | { readonly type: 'exact'; readonly path: string; readonly value: string }
  /** A piece of a value of the path is this folded word, or matches this folded pattern (`*` any run, `?` one character). */
  | { readonly type: 'word' | 'glob'; readonly path: string; readonly word: string }
  /** The path has a value; `nested`: or something below it has. */
  | { readonly type: 'exists'; readonly path: string; readonly nested: boolean }
  /** A key of the path compares so. Numbers: the keys of quantities written as text (`QUANTITY_TEXT`) count too. */
  | {
      readonly type: 'compare'
      readonly path: string
      readonly comparison: Comparison
      readonly mark: SortableMark
      readonly key: string
    }
  /** A key of the path begins with one of these (the addresses of a network). */
  | {
      readonly type: 'keyPrefix'
      readonly path: string
      readonly mark: SortableMark
      readonly prefixes: readonly string[]
    }
  /** An exact text of the path (`=`, so neither a number nor a time) matches, in part unless anchored. */
  | { readonly type: 'regex'; readonly path: string; readonly regex: Regex }
  | TextPredicate

/**
 * The words in a row in one value of the free text; `prefix`: the last may go on; `quoted`: it was meant to the letter.
 * `wordGlob`: one word like the pattern.
 */
export type TextPredicate =
  | {
      readonly type: 'phrase'
      readonly words: readonly string[]
      readonly prefix: boolean
      readonly whole: string
      readonly quoted?: boolean
    }
  | { readonly type: 'wordGlob'; readonly pattern: string }

export interface ResolvedQuery {
  readonly predicate: Predicate
  /** The free text that ranks: what stands under no NOT, or an even number of them. */
  readonly ranked: readonly TextPredicate[]
  /** What the reader of the answer should know of how the query was read. */
  readonly warnings: readonly string[]
}

export interface ResolveOptions {
  readonly fields: FieldCatalog
  /** Wall clock, for ages. */
  readonly nowMs: number
}

/** Throws `badRequest` with the position of a value that its field cannot have. */
export function resolveQuery(query: QueryNode, options: ResolveOptions): ResolvedQuery {
  const resolver = new Resolver(options)
  const predicate = resolver.resolve(query, true) ?? { type: 'all' }
  return { predicate, ranked: resolver.ranked, warnings: [...resolver.warnings] }
}

class Resolver {
  readonly ranked: TextPredicate[] = []
  readonly warnings = new Set<string>()
  readonly #options: ResolveOptions

  constructor(options: ResolveOptions) {
    this.#options = options
  }

  /** Undefined for what says nothing: free text of punctuation only. */
  resolve(node: QueryNode, positive: boolean): Predicate | undefined {
    switch (node.type) {
      case 'and':
      case 'or': {
        const children = node.children
          .map((child) => this.resolve(child, positive))
          .filter((child) => child !== undefined)
        if (children.length <= 1) return children[0]
        return { type: node.type, children }
      }
      case 'not': {
        const child = this.resolve(node.child, !positive)
        return child === undefined ? undefined : { type: 'not', child }
      }
      case 'text':
        if (node.hint !== undefined) this.warnings.add(node.hint)
        return this.#text(node.value, positive, node.hint !== undefined)
      case 'field':
        return this.#field(node)
    }
  }

  #text(value: QueryValue, positive: boolean, hinted: boolean): Predicate | undefined {
    if (!value.quoted && value.text === '*') return { type: 'all' }
    const predicate = value.quoted ? phrase(value.text, false, true) : pattern(value.text)
    if (predicate === undefined) {
      if (value.text !== '' && !hinted) this.warnings.add(`${quote(value.text)} has no letters or digits: ignored`)
      return undefined
    }
    if (!value.quoted && !hinted) this.#warnOfUnknownField(value.text)
    if (positive) this.ranked.push(predicate)
    return predicate
  }

  #warnOfUnknownField(text: string): void {
    const [, name] = /^([A-Za-z]+)(?:!=|[<>]=?|[=~]|:(?=[A-Za-z*]))./.exec(text) ?? []
    if (name !== undefined) this.warnings.add(`${quote(name)} is no field: ${quote(text)} was searched for as text`)
  }

  #field(node: QueryNode & { type: 'field' }): Predicate {
    const field = this.#options.fields.find(node.field)
    if (field === undefined) throw syntaxError(`${quote(node.field)} is no field`, node.at)
    if (field.path.startsWith('.') && !isIndexedPath(field.path)) {
      throw syntaxError(`${quote(node.field)} is not indexed`, node.at)
    }
    const { operator } = node
    if (node.hint !== undefined) this.warnings.add(node.hint)
    if (operator === '!=') return { type: 'not', child: this.#anywhere(field, '=', node.values) }
    return this.#anywhere(field, operator, node.values)
  }

  /** Where several places have what the field is called, values that only some of them can have are asked of those. */
  #anywhere(field: Field, operator: Exclude<Operator, '!='>, values: readonly QueryValue[]): Predicate {
    if (field.also === undefined) return this.#anyOf(field, operator, values)
    const found: Predicate[] = []
    let fault: unknown
    for (const each of [field, ...field.also]) {
      try {
        found.push(this.#anyOf(each, operator, values))
      } catch (error) {
        fault ??= error
      }
    }
    if (found.length === 0) throw fault
    return or(found)
  }

  #anyOf(field: Field, operator: Exclude<Operator, '!='>, values: readonly QueryValue[]): Predicate {
    return or(values.map((value) => this.#one(field, operator, value)))
  }

  #one(field: Field, operator: Exclude<Operator, '!='>, value: QueryValue): Predicate {
    if (operator === '~') return matching(field, value)
    const network = field.types.has('ip') ? ipNetwork(value.text) : undefined
    if (network !== undefined && (operator === ':' || operator === '=')) {
      return { type: 'keyPrefix', path: field.path, mark: IP, prefixes: network }
    }
    if (operator === ':') return has(field, value)
    const bounds = typedBounds(field.types, operator, value.text, this.#options.nowMs)
    if (bounds.length === 0) throw syntaxError(mismatch(field, operator, value), value.at)
    return or(
      bounds.map((bound) =>
        bound.type === 'exact'
          ? { type: 'exact', path: field.path, value: bound.value }
          : { type: 'compare', path: field.path, comparison: bound.comparison, mark: bound.mark, key: bound.key },
      ),
    )
  }
}

/** Types of which documents keep no text. */
const TEXTLESS: ReadonlySet<string> = new Set(['int', 'time', 'duration'])

function matching(field: Field, value: QueryValue): Predicate {
  if ([...field.types].every((type) => TEXTLESS.has(type))) throw syntaxError(mismatch(field, '~', value), value.at)
  const parsed = parseRegex(value.text)
  if ('fault' in parsed)
    throw syntaxError(`regular expression: ${parsed.fault}`, value.at + (value.quoted ? 1 : 0) + parsed.at)
  return { type: 'regex', path: field.path, regex: parsed }
}

const NUMBER_TEXT = /^-?[0-9]+(?:\.[0-9]+)?$/

function has(field: Field, value: QueryValue): Predicate {
  if (!value.quoted && value.text === '*') return { type: 'exists', path: field.path, nested: field.nested }
  const word = foldCase(exactValue(value.text))
  if (!value.quoted && /[*?]/.test(word)) return { type: 'glob', path: field.path, word }
  const number = NUMBER_TEXT.test(word) ? sortableNumber(word) : undefined
  const found: Predicate = { type: 'word', path: field.path, word }
  if (number === undefined) return found
  return or([found, { type: 'compare', path: field.path, comparison: '=', mark: NUMBER, key: number }])
}

function or(children: Predicate[]): Predicate {
  const [first] = children
  return children.length === 1 && first !== undefined ? first : { type: 'or', children }
}

function phrase(text: string, prefix: boolean, quoted = false): TextPredicate | undefined {
  const found = words(text)
  if (found.length === 0) return undefined
  return { type: 'phrase', words: found, prefix, whole: foldCase(exactValue(text)), ...(quoted ? { quoted } : {}) }
}

/** A wildcard works within a single word, or at the end of the last; elsewhere it is punctuation. */
function pattern(text: string): TextPredicate | undefined {
  const body = text.replace(/\*+$/, '')
  const prefix = body !== text && /[^\0-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]$/.test(body)
  if (!/[*?]/.test(body)) return phrase(body, prefix)
  const [only, ...more] = words(text.replace(/[*?]/g, 'x'))
  if (only?.length === text.length && more.length === 0)
    return { type: 'wordGlob', pattern: foldCase(text.toWellFormed()) }
  return phrase(text, false)
}

function mismatch(field: Field, operator: Operator, value: QueryValue): string {
  const types = [...field.types].filter((type) => type !== 'keyword' && type !== 'text')
  if (operator === '~')
    return `${field.path} is ${[...field.types].map((type) => TYPE_NAMES[type]).join(' or ')}: "~" is for text`
  const what = types.length === 0 ? 'text' : types.map((type) => TYPE_NAMES[type]).join(' or ')
  if (types.length === 0 && operator !== '=') return `${field.path} is text, which ${quote(operator)} cannot compare`
  return `${field.path} is ${what}, and ${quote(value.text)} is not`
}

const TYPE_NAMES = {
  json: 'a number, a quantity or a time',
  keyword: 'text',
  text: 'text',
  int: 'a number',
  quantity: 'a quantity',
  time: 'a time or an age',
  duration: 'a duration',
  version: 'a version',
  ip: 'an IP address',
  bool: 'true or false',
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

/**
 * Field selectors: the text of `?fieldSelector=`, and which fields a kind knows. Source: apimachinery pkg/fields.
 * Left out: the lists of values and the prefixes that labels have; fields only know `=`, `==` and `!=`.
 */
import { compareUtf8 } from '../util/bytes.ts'
import type { JsonObject } from './columns/column.ts'
import type { FieldText } from './field-labels.ts'
import { fieldTextOf } from './field-labels.ts'
import type { GroupVersionKind } from './group-version.ts'
import { parseJsonPath } from './json-path.ts'
import { badRequest } from './status-error.ts'

export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** All requirements hold together. Without any it matches everything. */
export class FieldSelector {
  readonly requirements: readonly FieldRequirement[]

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements
  }

  get empty(): boolean {
    return this.requirements.length === 0
  }

  /** `get` gives a field's text; a field that the object lacks is the empty text, as in a kube-apiserver. */
  matches(get: (field: string) => string): boolean {
    return this.requirements.every(({ field, operator, value }) => (get(field) === value) === (operator === '='))
  }

  /** In selector syntax, escaped; parsing it again gives an equal one. */
  toString(): string {
    return this.requirements.map(({ field, operator, value }) => `${field}${operator}${escapeValue(value)}`).join(',')
  }
}

function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&')
}

/** Throws `badRequest` with a kube-apiserver's message. The empty text matches everything. */
export function parseFieldSelector(text: string): FieldSelector {
  const terms = splitTerms(text).filter((term) => term !== '')
  const requirements = terms.toSorted(compareUtf8).map((term) => requirementOf(term, text))
  // `=` alone, or `!=`, is nothing to go by: a kube-apiserver drops it.
  return new FieldSelector(requirements.filter(({ field, value }) => field !== '' || value !== ''))
}

/** At the commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === ',') {
      terms.push(text.slice(start, i))
      start = i + 1
    }
  }
  return [...terms, text.slice(start)]
}

function requirementOf(term: string, selector: string): FieldRequirement {
  const match = /!=|==?/.exec(term)
  if (match === null) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`)
  const [symbol] = match
  const value = unescapeValue(term.slice(match.index + symbol.length))
  return { field: term.slice(0, match.index), operator: symbol === '!=' ? '!=' : '=', value }
}

function unescapeValue(text: string): string {
  return text.replace(/\\(.?)|[,=]/gsu, (sequence, escaped: string | undefined) => {
    if (escaped === undefined) {
      throw badRequest(`invalid field selector: unescaped character in value: ${String(sequence.codePointAt(0))}`)
    }
    if (escaped === '\\' || escaped === ',' || escaped === '=') return escaped
    throw badRequest(`invalid field selector: invalid escape sequence: ${sequence}`)
  })
}

/**
 * The selector as a test of parsed objects. `selectableFields` are those of the kind's CustomResourceDefinition, as JSON
 * paths (`.spec.color`). Throws `badRequest` `field label not supported: X` for a field that a kube-apiserver does not know
 * for this kind.
 */
export function compileFieldSelector(
  selector: FieldSelector,
  gvk: GroupVersionKind,
  selectableFields: readonly string[] = [],
): (object: JsonObject) => boolean {
  const tests = selector.requirements.map(({ field, operator, value }) => {
    const textOf = fieldTextOf(gvk.group, gvk.kind, field) ?? customFieldText(field, selectableFields)
    if (textOf === undefined) throw badRequest(`field label not supported: ${field}`)
    return { textOf, value, equal: operator === '=' }
  })
  return (object) => tests.every(({ textOf, value, equal }) => (textOf(object) === value) === equal)
}

function customFieldText(field: string, selectableFields: readonly string[]): FieldText | undefined {
  if (!selectableFields.includes(`.${field}`)) return undefined
  const path = parseJsonPath(`.${field}`)
  return (object) => {
    const [value] = path.find(object) ?? []
    return value === undefined || value === null ? '' : String(value as string | number | boolean)
  }
}

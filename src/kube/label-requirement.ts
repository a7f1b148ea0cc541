/** One condition of a label selector. Source: apimachinery pkg/labels `Requirement`. */
import { compareUtf8 } from '../util/bytes.ts'
import { goQuote } from './go-text.ts'
import { labelKeyFaults, labelValueFaults } from './label-syntax.ts'
import { badRequest } from './status-error.ts'

/** `=` and `==` are `in` with one value, `!=` is `notin` with one. */
export type LabelOperator = 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt'

/** `values` is never empty for `in` and `notin`, has one integer for `gt` and `lt`, none for `exists` and `!`. */
export interface Requirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Sorted, without duplicates. */
  readonly values: readonly string[]
}

/** Throws `badRequest` that names every fault, in the words of a kube-apiserver. */
export function newRequirement(key: string, operator: LabelOperator, values: readonly string[]): Requirement {
  const faults = [...keyFaults(key).map((fault) => `key: ${fault}`), ...valuesFaults(key, operator, values)]
  if (faults.length === 1) throw badRequest(faults.join(''))
  if (faults.length > 1) throw badRequest(`[${faults.join(', ')}]`)
  return { key, operator, values: [...new Set(values)].sort(compareUtf8) }
}

/** `Invalid value: "…": …` for a key that is none; empty otherwise. */
export function keyFaults(key: string): string[] {
  const faults = labelKeyFaults(key)
  return faults.length === 0 ? [] : [`Invalid value: ${goQuote(key)}: ${faults.join('; ')}`]
}

function valuesFaults(key: string, operator: LabelOperator, values: readonly string[]): string[] {
  const faults = countFaults(operator, values)
  const numeric = operator === 'gt' || operator === 'lt'
  for (const [i, value] of numeric ? values.entries() : []) {
    if (parseInt64(value) !== undefined) continue
    faults.push(
      `values[${i}]: Invalid value: ${goQuote(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
    )
  }
  for (const [i, value] of values.entries()) {
    const messages = labelValueFaults(value)
    if (messages.length === 0) continue
    faults.push(`values[${i}][${key}]: Invalid value: ${goQuote(value)}: ${messages.join('; ')}`)
  }
  return faults
}

function countFaults(operator: LabelOperator, values: readonly string[]): string[] {
  const fault = countFault(operator, values.length)
  return fault === undefined ? [] : [`values: Invalid value: ${JSON.stringify(values)}: ${fault}`]
}

function countFault(operator: LabelOperator, count: number): string | undefined {
  switch (operator) {
    case 'in':
    case 'notin':
      return count === 0 ? "for 'in', 'notin' operators, values set can't be empty" : undefined
    case 'gt':
    case 'lt':
      return count === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required"
    case 'exists':
    case '!':
      return count === 0 ? undefined : 'values set must be empty for exists and does not exist'
  }
}

/** A label's value is `undefined` where the object has no such label: `notin` and `!` then match, the others do not. */
export function requirementMatches(requirement: Requirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case 'in':
      return value !== undefined && requirement.values.includes(value)
    case 'notin':
      return value === undefined || !requirement.values.includes(value)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case 'gt':
      return compareInt64(value, requirement.values[0]) > 0
    case 'lt':
      return compareInt64(value, requirement.values[0]) < 0
  }
}

/** Negative, 0 or positive; NaN (which is neither) where one of them is no 64-bit integer. */
function compareInt64(value: string | undefined, bound: string | undefined): number {
  const x = parseInt64(value)
  const y = parseInt64(bound)
  if (x === undefined || y === undefined) return Number.NaN
  return x < y ? -1 : x > y ? 1 : 0
}

function parseInt64(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?[0-9]+$/.test(text)) return undefined
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** The requirement in selector syntax; parsing it again gives an equal one. */
export function requirementText({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'in':
      return values.length === 1 ? `${key}=${values[0] ?? ''}` : `${key} in (${values.join(',')})`
    case 'notin':
      return values.length === 1 ? `${key}!=${values[0] ?? ''}` : `${key} notin (${values.join(',')})`
    case 'exists':
      return key
    case '!':
      return `!${key}`
    case 'gt':
      return `${key}>${values[0] ?? ''}`
    case 'lt':
      return `${key}<${values[0] ?? ''}`
  }
}

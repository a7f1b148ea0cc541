/** The parameters that endpoints of search have in common. */
import { badRequest } from '../kube/status-error.ts'
import type { Field, FieldCatalog } from '../query/fields.ts'

/** A field under the name that the client gave it. */
export interface NamedField {
  readonly name: string
  readonly field: Field
}

/** Throws `badRequest` that names the parameter. */
export function namedFields(
  parameters: URLSearchParams,
  parameter: string,
  catalog: FieldCatalog,
  most: number,
): NamedField[] {
  const names = namesOf(parameters, parameter, most)
  return names.map((name) => ({ name, field: fieldOf(parameter, name, catalog) }))
}

export function fieldOf(parameter: string, name: string, catalog: FieldCatalog): Field {
  const field = catalog.find(name)
  if (field === undefined) throw badRequest(`${parameter}: ${JSON.stringify(name.slice(0, 80))} is no field`)
  return field
}

/** Names separated by commas or in parameters of their own, each once. */
export function namesOf(parameters: URLSearchParams, parameter: string, most: number): string[] {
  const names = parameters
    .getAll(parameter)
    .join(',')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length > most) throw badRequest(`${parameter}: more than ${most} fields`)
  return [...new Set(names)]
}

export function wholeNumber(parameters: URLSearchParams, parameter: string, ifAbsent: number, most: number): number {
  const text = parameters.get(parameter)
  if (text === null || text === '') return ifAbsent
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > most) {
    throw badRequest(`${parameter}: ${JSON.stringify(text.slice(0, 40))} is no whole number from 1 to ${most}`)
  }
  return value
}

/** `true`, `1` or nothing behind the name; `false`, `0`. */
export function flag(parameters: URLSearchParams, parameter: string): boolean {
  const text = parameters.get(parameter)
  if (text === null) return false
  if (/^(true|1|)$/i.test(text)) return true
  if (/^(false|0)$/i.test(text)) return false
  throw badRequest(`${parameter}: ${JSON.stringify(text.slice(0, 40))} is neither true nor false`)
}

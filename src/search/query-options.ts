/** The parameters of a query, read and looked up. */
import { badRequest } from '../kube/status-error.ts'
import type { Field, FieldCatalog } from '../query/fields.ts'
import { parseQuery } from '../query/parser.ts'
import { resolveQuery, type ResolvedQuery } from '../query/resolve.ts'
import type { FacetRequest, SearchRequest, SortTerm } from '../query/search-request.ts'
import { decodeQueryToken } from './query-token.ts'

/** A page people read; programs ask for more. */
const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1_000
const DEFAULT_FACET_VALUES = 10
/** Facets are exact up to so many values. */
const MAX_FACET_VALUES = 10_000
/** Each is another pass over all that was found. */
const MAX_FACETS = 16
const MAX_SORT_TERMS = 4
const MAX_FIELDS = 64

/** A field under the name that the client gave it. */
export interface NamedField {
  readonly name: string
  readonly field: Field
}

export interface QueryOptions {
  readonly request: SearchRequest
  readonly facets: readonly NamedField[]
  /** What items show instead of whole objects; undefined: the objects. */
  readonly fields: readonly NamedField[] | undefined
  readonly warnings: readonly string[]
  /** What a continue token is good for. */
  readonly signature: string
  /** The time from which ages count: the first page's, on every page. */
  readonly nowMs: number
}

/** Throws `badRequest` that names the parameter, and within `q` the position. */
export function readQueryOptions(query: URLSearchParams, catalog: FieldCatalog, wallMs: number): QueryOptions {
  const q = query.get('q') ?? ''
  const sortText = query.get('sort') ?? ''
  const signature = JSON.stringify([q, sortText])
  const token = decodeQueryToken(query.get('continue') ?? '', signature)
  const nowMs = token?.nowMs ?? wallMs
  const facets = namedFields(query, 'facets', catalog, MAX_FACETS)
  const { predicate, ranked, warnings } = resolve(q, catalog, nowMs)
  const values = count(query, 'facetLimit', DEFAULT_FACET_VALUES, MAX_FACET_VALUES)
  const request: SearchRequest = {
    predicate,
    ranked,
    sort: sortTerms(sortText, catalog),
    limit: count(query, 'limit', DEFAULT_LIMIT, MAX_LIMIT),
    facets: facets.map(({ field }): FacetRequest => ({ path: field.path, limit: values })),
    ...(token === undefined ? {} : { after: token.cursor }),
  }
  const fields = query.has('fields') ? namedFields(query, 'fields', catalog, MAX_FIELDS) : undefined
  return { request, facets, fields, warnings, signature, nowMs }
}

function resolve(q: string, fields: FieldCatalog, nowMs: number): ResolvedQuery {
  const ast = parseQuery(q, (name) => fields.find(name) !== undefined)
  return resolveQuery(ast, { fields, nowMs })
}

/** `-restarts,name`: a minus in front for descending. */
function sortTerms(text: string, catalog: FieldCatalog): SortTerm[] {
  return split('sort', text, MAX_SORT_TERMS).map((term) => {
    const descending = term.startsWith('-')
    const name = descending ? term.slice(1) : term
    const field = fieldOf('sort', name, catalog)
    if (!field.sortable) throw badRequest(`sort: results cannot be sorted by ${JSON.stringify(name)}`)
    return { path: field.path, descending }
  })
}

function namedFields(query: URLSearchParams, parameter: string, catalog: FieldCatalog, most: number): NamedField[] {
  const names = split(parameter, query.getAll(parameter).join(','), most)
  return names.map((name) => ({ name, field: fieldOf(parameter, name, catalog) }))
}

function fieldOf(parameter: string, name: string, catalog: FieldCatalog): Field {
  const field = catalog.find(name)
  if (field === undefined) throw badRequest(`${parameter}: ${JSON.stringify(name.slice(0, 80))} is no field`)
  return field
}

function split(parameter: string, text: string, most: number): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length > most) throw badRequest(`${parameter}: more than ${most} fields`)
  return [...new Set(names)]
}

function count(query: URLSearchParams, parameter: string, ifAbsent: number, most: number): number {
  const text = query.get(parameter)
  if (text === null || text === '') return ifAbsent
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > most) {
    throw badRequest(`${parameter}: ${JSON.stringify(text.slice(0, 40))} is no whole number from 1 to ${most}`)
  }
  return value
}

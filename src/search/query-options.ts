/** The parameters of a query, read and looked up. */
import { badRequest } from '../kube/status-error.ts'
import type { FieldCatalog } from '../query/fields.ts'
import { isIndexedPath } from '../query/index-rules.ts'
import type { FacetRequest, SearchRequest, SortTerm } from '../query/search-request.ts'
import { isKeyedByValue } from '../query/sort-keys.ts'
import { fieldOf, flag, namedFields, namesOf, wholeNumber, type NamedField } from './parameters.ts'
import { decodeQueryToken } from './query-token.ts'
import { readQuery, type ReadQuery } from './read-query.ts'
import type { SearchParts } from './search-parts.ts'

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
const MAX_EXPORT = 999_999_999

export interface QueryOptions {
  readonly query: ReadQuery
  readonly request: SearchRequest
  readonly facets: readonly NamedField[]
  /** What items show instead of whole objects; undefined: the objects. */
  readonly fields: readonly NamedField[] | undefined
  readonly highlight: boolean
  readonly explain: boolean
  /** What is not found as it is written may be a typing error. */
  readonly typos: boolean
  readonly snapshot: boolean
  /** What a continue token is good for. */
  readonly signature: string
  /** The time from which ages count: the first page's, on every page. */
  readonly nowMs: number
}

export interface QueryOptionsContext {
  readonly catalog: FieldCatalog
  readonly parts: Pick<SearchParts, 'clusters' | 'cache'>
  readonly wallMs: number
  /** Rows without end: `limit` may be anything, and is all by default. */
  readonly rows: boolean
}

/** Throws `badRequest` that names the parameter, and within `q` the position. */
export function readQueryOptions(parameters: URLSearchParams, context: QueryOptionsContext): QueryOptions {
  const { catalog, parts, wallMs, rows } = context
  const sortText = parameters.get('sort') ?? ''
  const typos = parameters.has('typos') ? flag(parameters, 'typos') : true
  const signature = JSON.stringify([parameters.get('q') ?? '', sortText, parameters.getAll('cluster').join(','), typos])
  const token = decodeQueryToken(parameters.get('continue') ?? '', signature)
  const nowMs = token?.nowMs ?? wallMs
  const facets = namedFields(parameters, 'facets', catalog, MAX_FACETS)
  const query = readQuery(parameters, catalog, parts, nowMs)
  const values = wholeNumber(parameters, 'facetLimit', DEFAULT_FACET_VALUES, MAX_FACET_VALUES)
  const request: SearchRequest = {
    predicate: query.predicate,
    ranked: query.ranked,
    sort: sortTerms(parameters, catalog),
    limit: wholeNumber(parameters, 'limit', rows ? MAX_EXPORT : DEFAULT_LIMIT, rows ? MAX_EXPORT : MAX_LIMIT),
    facets: facets.map(({ field }): FacetRequest => ({ path: field.path, limit: values })),
    ...(token === undefined ? {} : { after: token.cursor }),
  }
  const fields = parameters.has('fields') ? namedFields(parameters, 'fields', catalog, MAX_FIELDS) : undefined
  return {
    query,
    request,
    facets,
    fields,
    highlight: flag(parameters, 'highlight'),
    explain: flag(parameters, 'explain'),
    typos,
    snapshot: flag(parameters, 'snapshot'),
    signature,
    nowMs,
  }
}

/** `-restarts,name`: a minus in front for descending. */
function sortTerms(parameters: URLSearchParams, catalog: FieldCatalog): SortTerm[] {
  return namesOf(parameters, 'sort', MAX_SORT_TERMS).map((term) => {
    const descending = term.startsWith('-')
    const name = descending ? term.slice(1) : term
    const field = fieldOf('sort', name, catalog)
    if (field.path.startsWith('.') && !isIndexedPath(field.path)) {
      throw badRequest(`sort: ${JSON.stringify(name.slice(0, 80))} is not indexed`)
    }
    const also = isKeyedByValue(field.path) ? field.also?.map(({ path }) => path) : undefined
    return { path: field.path, descending, ...(also === undefined ? {} : { also }) }
  })
}

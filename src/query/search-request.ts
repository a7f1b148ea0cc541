/**
 * What is asked of a store and what it answers: the port between `search` and the stores, and the order all of them keep.
 *
 * Contract:
 * - Order: by the sort terms (text without regard to case, then by UTF-8 bytes), missing last in both directions; without
 *   sort terms by rank, highest first, if there is ranking text; ties by cluster, namespace, name, uid and
 *   `group/resource`, by UTF-8 bytes, always ascending. The order is total.
 * - Rank is a sum over the ranking texts of whole numbers: `RANK` where that part of a document has the text.
 * - Pages: `after` is a hit's cursor; the next page begins behind it, whether or not that document still exists. Documents
 *   that do not change during a walk appear exactly once.
 * - A facet counts documents for each value, the most frequent first, ties by the value's UTF-8 bytes.
 */
import type { GroupResource } from '../kube/group-version.ts'
import type { Predicate, TextPredicate } from './resolve.ts'

export const RANK = { nameExact: 1024, name: 512, strong: 64, other: 1 } as const

export interface SortTerm {
  /** A sortable field's path. */
  readonly path: string
  readonly descending: boolean
}

export interface FacetRequest {
  readonly path: string
  /** At most so many values. */
  readonly limit: number
}

/** The sort keys of a hit and what breaks its ties: opaque to all but the store that made it, fit for JSON. */
export type SearchCursor = readonly (string | number | null)[]

/** Part of one resource's documents in a cluster. */
export interface VisibleResource extends GroupResource {
  /** Whatever namespace and name. */
  readonly everything: boolean
  /** Whole namespaces. */
  readonly namespaces: readonly string[]
  /** Single documents; without a namespace: of that name in any. */
  readonly names: readonly { readonly namespace?: string; readonly name: string }[]
}

/**
 * The documents that a caller may see. No other takes part in a search in any way: not in hits, totals, facets or pages.
 * Clusters of equal rights share one of `parts`, so that its size is a sum and no product.
 */
export interface VisibleDocuments {
  /** Which of `parts` is visible of a cluster; of a cluster that is not there, nothing is. */
  readonly clusters: ReadonlyMap<string, number>
  readonly parts: readonly (readonly VisibleResource[])[]
}

export interface SearchRequest {
  readonly predicate: Predicate
  /** Undefined: all documents. */
  readonly visible?: VisibleDocuments
  readonly ranked: readonly TextPredicate[]
  readonly sort: readonly SortTerm[]
  readonly limit: number
  readonly after?: SearchCursor
  readonly facets: readonly FacetRequest[]
}

export interface SearchHit {
  readonly cluster: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** 0 where results are not ordered by it. */
  readonly rank: number
  readonly cursor: SearchCursor
}

export interface FacetResult {
  readonly path: string
  readonly values: readonly { readonly value: string; readonly count: number }[]
  /** Distinct values there are. */
  readonly distinct: number
}

export interface SearchResult {
  readonly total: number
  readonly totalIsExact: boolean
  readonly hits: readonly SearchHit[]
  /** Whether hits are left behind the last one. */
  readonly more: boolean
  readonly facets: readonly FacetResult[]
}

export interface SearchStore {
  /** Rejects with a `StatusError` for what cannot be asked, anything else is the store's failure. */
  search(request: SearchRequest): Promise<SearchResult>
}

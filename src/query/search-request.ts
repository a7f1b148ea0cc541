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
 * - `count` and `vocabulary` look at what `search` would find for the same predicate and `visible`, nothing else.
 */
import type { GroupResource } from '../kube/group-version.ts'
import type { Predicate, TextPredicate } from './resolve.ts'

export const RANK = { nameExact: 1024, name: 512, strong: 64, other: 1 } as const

export interface SortTerm {
  /** A field's path. Stores have keys of named fields; of labels, annotations and JSON paths (`sort-keys.ts`) none. */
  readonly path: string
  /** Other such paths that count where there is no value at it. */
  readonly also?: readonly string[]
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

/**
 * What documents are counted by. A document has one key for each distinct value it has there, and none (null) where it has
 * no such value. Keys are those of terms: a mark (`term.ts`), then the text or the sortable key.
 * - `value`: what a facet counts, marks `=`, `#`, `@` (a number and the same text are two keys).
 * - `number`: its numbers and the quantities it has as text, always under `#`: `1Gi` and `1024Mi` are one key.
 * - `time`: its times (`@`); with `unit` only the beginning of them: of a day all times are one key.
 */
export type Dimension =
  | { readonly type: 'value' | 'number'; readonly path: string }
  | { readonly type: 'time'; readonly path: string; readonly unit?: TimeUnit }

/** How many characters of a time's key tell one. */
export const TIME_UNIT_CHARS = { year: 4, month: 6, day: 8, hour: 10, minute: 12 } as const
export type TimeUnit = keyof typeof TIME_UNIT_CHARS

export interface CountRequest {
  readonly predicate: Predicate
  readonly visible?: VisibleDocuments
  /** At most 5. None: one row, all documents. */
  readonly dimensions: readonly Dimension[]
  /** More rows are not made. */
  readonly maxRows: number
}

/** A document with several keys stands in a row for each combination of them. */
export interface CountRow {
  readonly keys: readonly (string | null)[]
  readonly documents: number
}

export interface CountResult {
  /** In no order; without rows of no documents. Of no use where it is not complete. */
  readonly rows: readonly CountRow[]
  /** False where there are more than `maxRows`. */
  readonly complete: boolean
}

/**
 * What a value must be like, by its folded form.
 * - `prefix`: it has the folded text at its beginning, or right behind a separator (any character that is in no word,
 *   `tokens.ts`).
 * - `near`: it begins with the same character and is at most so many edits away: characters inserted, left out, replaced,
 *   or two neighbours exchanged (optimal string alignment, in UTF-16 units).
 */
export type Likeness =
  | { readonly type: 'prefix'; readonly text: string }
  | { readonly type: 'near'; readonly text: string; readonly edits: 1 | 2 }

export interface VocabularyRequest {
  readonly predicate: Predicate
  readonly visible?: VisibleDocuments
  /** Of whose exact texts (`=`); undefined: the words of the free text, which have no separators. */
  readonly path?: string
  readonly like: Likeness
  readonly limit: number
}

/**
 * Values that at least one of the documents has, with how many have it. `prefix`: most documents first; `near`: the nearest
 * first, then most documents; ties by UTF-8 bytes.
 */
export interface VocabularyResult {
  readonly values: readonly { readonly value: string; readonly count: number }[]
  /** Whether there may be more than are told. A store may look at no more than `MAX_CANDIDATES` by their order of bytes. */
  readonly more: boolean
}

/** Values that are like the text, before it is known which of them the documents have. */
export const MAX_CANDIDATES = 1_000

/** One state of a store: what is written later takes no part. */
export interface SearchSnapshot {
  search(request: SearchRequest): Promise<SearchResult>
  close(): Promise<void>
}

/** All reject with a `StatusError` for what cannot be asked; anything else is the store's failure. */
export interface SearchStore {
  search(request: SearchRequest): Promise<SearchResult>
  count(request: CountRequest): Promise<CountResult>
  vocabulary(request: VocabularyRequest): Promise<VocabularyResult>
  /** Stores that cannot hold a state leave it out. It is closed by itself some minutes after its last search. */
  snapshot?(): Promise<SearchSnapshot>
  /** Of such a store: how many states are held now, and how many may be. */
  heldSnapshots?(): HeldSnapshots
}

export interface HeldSnapshots {
  readonly now: number
  readonly most: number
}

/**
 * Searches in the own language of OpenSearch and Elasticsearch, for the passthrough: the port between `search` and stores in
 * engines. `search` says what may be asked (passthrough/), the store of which indices and of whose documents.
 */
import type { VisibleDocuments } from './search-request.ts'

export interface NativeSearch {
  /**
   * Rejects with `badRequest` for what the engine refuses, with a store's error for what fails. `hits[]._index` are the names
   * of karmada-search's indices; each hit's `sort`, of `top_hits` too, ends with the key that
   * breaks ties.
   */
  search(request: NativeRequest): Promise<NativeAnswer>
  /** The engine's own number, as its clients look at it. */
  version(): Promise<{ readonly number: string; readonly distribution?: string }>
}

export interface NativeRequest {
  /** Kinds in lower case, as index names have them; undefined: all. Of one that there is not, nothing is found. */
  readonly kinds?: readonly string[]
  /** In the engine's language, made of allowed pieces alone. Nothing is scored. */
  readonly query: object
  /** Undefined: all documents. */
  readonly visible?: VisibleDocuments | undefined
  readonly size: number
  readonly from: number
  /** Ties are broken behind it. */
  readonly sort: readonly object[]
  readonly searchAfter?: readonly (string | number | boolean | null)[]
  readonly aggregations?: Readonly<Record<string, object>>
  /** Of the document: false, or patterns of fields. */
  readonly source?:
    boolean | readonly string[] | { readonly includes?: readonly string[]; readonly excludes?: readonly string[] }
  readonly trackTotalHits: boolean | number
  /** Values of fields beside the document: `fields`, and of those alone that have them in columns. */
  readonly fields?: readonly object[]
  readonly docvalueFields?: readonly object[]
  /** Of allowed pieces alone; what is marked is what `query` has. */
  readonly highlight?: object
}

export interface NativeHit {
  readonly _index: string
  readonly _id: string
  readonly _source?: object
  readonly fields?: object
  readonly highlight?: object
  readonly sort: readonly (string | number | null)[]
}

export interface NativeAnswer {
  readonly took: number
  readonly timed_out: boolean
  readonly total?: { readonly value: number; readonly relation: string }
  readonly hits: readonly NativeHit[]
  /** As the engine has them. */
  readonly aggregations?: Readonly<Record<string, unknown>>
}

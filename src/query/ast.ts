/**
 * A query as it was typed, before anything is looked up: what the parser makes and `resolve.ts` reads. Positions are in
 * characters (UTF-16 units) from the beginning of the query, 0 first.
 */

export type Operator = ':' | '=' | '!=' | '<' | '<=' | '>' | '>=' | '~'

export interface QueryValue {
  readonly text: string
  /** Written in quotes: no wildcards in it. */
  readonly quoted: boolean
  readonly at: number
}

export type QueryNode =
  | { readonly type: 'and'; readonly children: readonly QueryNode[] }
  | { readonly type: 'or'; readonly children: readonly QueryNode[] }
  | { readonly type: 'not'; readonly child: QueryNode }
  /** Free text: a word or, in quotes, a phrase. */
  | {
      readonly type: 'text'
      readonly value: QueryValue
      /** What it looks like and is not, for its author. */
      readonly hint?: string
    }
  /** `field:value`, `field>=value`, `field:(a,b)`: one of the values. `field` as typed. */
  | {
      readonly type: 'field'
      readonly field: string
      readonly operator: Operator
      readonly values: readonly QueryValue[]
      readonly at: number
      readonly hint?: string
    }

/** A query with nothing in it matches everything. */
export const EVERYTHING: QueryNode = { type: 'and', children: [] }

/** The few kinds of query that all conditions become. */

export type Query =
  | { readonly match_all: object }
  | { readonly match_none: object }
  | { readonly bool: BoolQuery }
  | { readonly term: Readonly<Record<string, string>> }
  | { readonly terms: Readonly<Record<string, readonly string[]>> }
  | { readonly prefix: Readonly<Record<string, string>> }
  | { readonly range: Readonly<Record<string, Readonly<Record<string, string>>>> }
  | { readonly exists: { readonly field: string } }
  | { readonly wildcard: Readonly<Record<string, { readonly value: string }>> }
  | { readonly regexp: Readonly<Record<string, object>> }
  | { readonly match_phrase: Readonly<Record<string, string>> }
  | { readonly match_phrase_prefix: Readonly<Record<string, object>> }
  | { readonly constant_score: { readonly filter: Query; readonly boost: number } }

export interface BoolQuery {
  readonly filter?: readonly Query[]
  readonly should?: readonly Query[]
  readonly must_not?: readonly Query[]
  readonly minimum_should_match?: number
}

export const EVERYTHING: Query = { match_all: {} }
export const NOTHING: Query = { match_none: {} }

export function and(queries: readonly Query[]): Query {
  const [first] = queries
  return queries.length === 1 && first !== undefined ? first : { bool: { filter: queries } }
}

export function or(queries: readonly Query[]): Query {
  const [first] = queries
  if (first === undefined) return NOTHING
  return queries.length === 1 ? first : { bool: { should: queries, minimum_should_match: 1 } }
}

export function not(query: Query): Query {
  return { bool: { must_not: [query] } }
}

/** The default of `index.max_terms_count`. */
const MAX_TERMS = 65_536

/** Documents with one of the terms. */
export function anyOf(field: string, terms: readonly string[]): Query {
  if (terms.length === 1) return { term: { [field]: terms[0] as string } }
  const parts: Query[] = []
  for (let from = 0; from < terms.length; from += MAX_TERMS) {
    parts.push({ terms: { [field]: terms.slice(from, from + MAX_TERMS) } })
  }
  return or(parts)
}

/** What every character stands for itself in. */
export function literalWildcard(text: string): string {
  return text.replace(/[\\*?]/g, '\\$&')
}

/** Every sign that is an operator of Lucene's regular expressions somewhere. */
export function literalRegex(text: string): string {
  return text.replace(/[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/g, '\\$&')
}

/**
 * How a regular expression ends that says how terms begin. What it stands for is what `.*` does, but OpenSearch 2.17 to
 * 2.19.3 and 3.0 to 3.3.0 take a few beginnings with `.*` behind for prefixes, and fail with status 500 where one comes after
 * the last term of a segment (its issue 19636).
 */
export const ANY_END = '.{0,}'

/** Asks a store as the query handler does, in one call. */
import { columnKinds } from '../../src/kube/columns/index.ts'
import { FieldCatalog } from '../../src/query/fields.ts'
import { parseQuery } from '../../src/query/parser.ts'
import { resolveQuery } from '../../src/query/resolve.ts'
import type { SearchCursor, SearchResult, SearchStore } from '../../src/query/search-request.ts'
import { FAKE_EPOCH_MS } from './fake-clock.ts'

export const allFields = new FieldCatalog(columnKinds().map(({ columns }) => columns))

export interface Ask {
  /** `-restarts`, `name`. */
  readonly sort?: readonly string[]
  readonly facets?: readonly string[]
  readonly limit?: number
  readonly after?: SearchCursor
}

export function ask(store: SearchStore, q: string, options: Ask = {}): Promise<SearchResult> {
  const ast = parseQuery(q, (name) => allFields.find(name) !== undefined)
  const { predicate, ranked } = resolveQuery(ast, { fields: allFields, nowMs: FAKE_EPOCH_MS })
  return store.search({
    predicate,
    ranked,
    sort: (options.sort ?? []).map((term) => ({
      path: pathOf(term.replace(/^-/, '')),
      descending: term.startsWith('-'),
    })),
    limit: options.limit ?? 1_000,
    facets: (options.facets ?? []).map((name) => ({ path: pathOf(name), limit: 100 })),
    ...(options.after === undefined ? {} : { after: options.after }),
  })
}

/** `namespace/name` of what is found, in order. */
export async function namesFound(store: SearchStore, q: string, options: Ask = {}): Promise<string[]> {
  const { hits } = await ask(store, q, options)
  return hits.map(({ namespace, name }) => (namespace === '' ? name : `${namespace}/${name}`))
}

function pathOf(name: string): string {
  const field = allFields.find(name)
  if (field === undefined) throw new Error(`${name} is no field`)
  return field.path
}

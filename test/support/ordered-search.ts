/** Searches as the query handler makes them: what no store has keys of is ordered by the objects. */
import type { BackendStore } from '../../src/backendstore/backend-store.ts'
import type { CachedObject } from '../../src/cache/reader.ts'
import { columnsOf } from '../../src/kube/columns/index.ts'
import type { SearchRequest, SearchResult } from '../../src/query/search-request.ts'
import type { FoundObjects } from '../../src/search/found-object.ts'
import { isStoreOrder, searchByValues } from '../../src/search/value-order.ts'
import { systemClock } from '../../src/util/clock.ts'
import type { OracleObject } from './query-oracle.ts'

export function orderedSearch(
  store: Pick<BackendStore, 'search'>,
  objects: readonly OracleObject[],
): (request: SearchRequest) => Promise<SearchResult> {
  const found = objectsBehind(objects)
  const source = { store, objects: found, clock: systemClock, signal: new AbortController().signal }
  return (request) => (isStoreOrder(request) ? store.search(request) : searchByValues(source, request))
}

type Place = Pick<OracleObject['identity'], 'cluster' | 'group' | 'resource' | 'namespace' | 'name'>

function objectsBehind(objects: readonly OracleObject[]): FoundObjects {
  const keyOf = ({ cluster, group, resource, namespace, name }: Place): string =>
    [cluster, group, resource, namespace, name].join(' ')
  const byKey = new Map(objects.map((each) => [keyOf(each.identity), each]))
  return {
    of(hit) {
      const { identity, object } = byKey.get(keyOf(hit)) ?? {}
      if (identity === undefined) return Promise.resolve(undefined)
      return Promise.resolve({ ...identity, bytes: Buffer.from(JSON.stringify(object)) } as unknown as CachedObject)
    },
    columns: (hit) => Promise.resolve(columnsOf(hit)),
  }
}

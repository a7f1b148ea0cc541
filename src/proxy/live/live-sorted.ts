/**
 * Lists that are read live in another order than that of keys. The order is only known when everything is there: every page
 * reads the members' whole lists, from the second page on at the versions of the first one, and holds them in memory as long
 * as it is answered (`LiveBudget`).
 */
import { decodeCursor, encodeCursor, orderedPage, type Cursor } from '../../http/sorted-page.ts'
import { Breather } from '../../http/breather.ts'
import { parseObject } from '../../http/selection.ts'
import type { Sortable, SortBy } from '../../http/sort-by.ts'
import type { CanonicalObject } from '../../kube/canonical-object.ts'
import type { JsonObject } from '../../kube/columns/column.ts'
import { encodeContinueToken } from '../../kube/continue-token.ts'
import { encodeVersionMap } from '../../kube/multi-cluster-version.ts'
import type { ClusterName } from '../../kube/names.ts'
import { expired, isStatusError } from '../../kube/status-error.ts'
import type { LiveList, LiveListRequest } from './live-list.ts'
import { readLiveList } from './live-list.ts'
import type { MemberPage } from './read-list.ts'

export interface LiveSortedList extends Omit<LiveList, 'pages'> {
  readonly objects: readonly CanonicalObject[]
  /** Who answered. */
  readonly clusters: readonly ClusterName[]
  readonly remaining: number | undefined
}

const ANY_VERSION = encodeVersionMap(new Map())

/** Rejects as `readLiveList`; its 410 goes on behind the same object, at whatever versions are there. */
export async function readLiveSorted(request: LiveListRequest, sortBy: SortBy): Promise<LiveSortedList> {
  const { list } = request
  const cursor = list.continue === '' ? undefined : decodeCursor(list.continue, sortBy)
  const whole = await readWhole(request, cursor)
  const items = await withKeys(whole.pages, sortBy)
  const { shown, remaining } = await orderedPage(items, sortBy, cursor, list.limit)
  const last = shown.at(-1)
  const version = cursor === undefined || cursor.rv === ANY_VERSION ? whole.version : cursor.rv
  return {
    ...whole,
    version,
    clusters: whole.pages.map(({ cluster }) => cluster),
    objects: shown.map(({ object }) => object),
    remaining: remaining === 0 ? undefined : remaining,
    continue: remaining === 0 || last === undefined ? '' : encodeCursor(version, sortBy, last),
  }
}

async function readWhole(request: LiveListRequest, cursor: Cursor | undefined): Promise<LiveList> {
  const pinned =
    cursor === undefined || cursor.rv === ANY_VERSION
      ? {}
      : ({ resourceVersion: cursor.rv, resourceVersionMatch: 'Exact' } as const)
  const list = { ...request.list, continue: '', limit: undefined, ...pinned }
  try {
    return await readLiveList({ ...request, list })
  } catch (error) {
    if (cursor === undefined || !isStatusError(error, 'expired')) throw error
    throw expired(error.message, encodeContinueToken({ rv: ANY_VERSION, cluster: '', continue: cursor.position }))
  }
}

interface SortedObject extends Sortable {
  readonly object: CanonicalObject
}

async function withKeys(pages: readonly MemberPage[], { terms }: SortBy): Promise<SortedObject[]> {
  const breather = new Breather()
  const sorted: SortedObject[] = []
  for (const { cluster, objects } of pages) {
    for (const object of objects) {
      let parsed: JsonObject | undefined
      const value = (): JsonObject => (parsed ??= parseObject(object.bytes))
      const { namespace, name } = object.meta
      const item = { cluster, namespace, name }
      sorted.push({ object, item, keys: terms.map((term) => term.key(item, value)) })
      if (breather.spent(object.bytes.length)) await breather.pause()
    }
  }
  return sorted
}

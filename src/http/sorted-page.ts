/** A page of a cached resource in another order than that of keys; the cursor between pages holds the last object's keys. */
import { Breather } from './breather.ts'
import type { Page, PageObject, PageRequest, PageSource } from './object-page.ts'
import { stateOf } from './object-page.ts'
import type { PageStart } from './page-token.ts'
import { decodePageToken } from './page-token.ts'
import { parseObject } from './selection.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import { decodeContinueToken, encodeContinueToken } from '../kube/continue-token.ts'
import { encodeVersionMap } from '../kube/multi-cluster-version.ts'
import { badRequest, expired, isStatusError } from '../kube/status-error.ts'
import type { Sortable, SortBy, SortKey, SortTerm } from './sort-by.ts'
import { comparator } from './sort-by.ts'
import { sortInSlices } from './sort-in-slices.ts'

interface Indexed extends Sortable {
  readonly index: number
}

/** As `readPage`, in the order asked for. The token holds the last object's keys: no state is kept between pages. */
export async function readSortedPage<Item extends PageObject>(
  source: PageSource<Item>,
  request: PageRequest,
  sortBy: SortBy,
): Promise<Page<Item>> {
  const cursor = request.continue === '' ? undefined : decodeCursor(request.continue, sortBy)
  const start = cursor === undefined ? undefined : startOf(cursor, source)
  const { namespace, name, labels } = request.selection
  const clusters = start === undefined ? request.clusters : within(start.clusters, request.clusters)
  const snapshot = source.snapshot({
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { labels }),
    ...(clusters === undefined ? {} : { clusters }),
    ...(request.limit === undefined ? {} : { isPaged: true }),
    ...(start === undefined ? {} : stateOf(start)),
  })
  const all = request.selection.nothing ? [] : await withKeys(snapshot, request, sortBy.terms)
  const { shown, remaining } = await orderedPage(all, sortBy, cursor, request.limit)
  const last = shown.at(-1)
  const version = start?.version ?? encodeVersionMap(snapshot.versions)
  const more = remaining > 0 && last !== undefined
  return {
    length: shown.length,
    at: (i) => snapshot.at((shown[i] as Indexed).index),
    bytesAt: (i) => snapshot.bytesAt((shown[i] as Indexed).index),
    version,
    continue: more ? encodeCursor(version, sortBy, last) : '',
    remaining: more ? remaining : undefined,
  }
}

/** Of everything there is, what stands behind the cursor, in order, and how much follows it. */
export async function orderedPage<Item extends Sortable>(
  all: readonly Item[],
  { terms }: SortBy,
  cursor: Sortable | undefined,
  limit: number | undefined,
): Promise<{ readonly shown: readonly Item[]; readonly remaining: number }> {
  const compare = comparator(terms)
  const behind = cursor === undefined ? all : all.filter((each) => compare(each, cursor) > 0)
  const ordered = await sortInSlices(behind, compare)
  const shown = ordered.slice(0, limit ?? ordered.length)
  return { shown, remaining: ordered.length - shown.length }
}

async function withKeys(
  snapshot: ReturnType<PageSource['snapshot']>,
  request: PageRequest,
  terms: readonly SortTerm[],
): Promise<Indexed[]> {
  const { fields } = request.selection
  const breather = new Breather()
  const all: Indexed[] = []
  for (let index = 0; index < snapshot.length; index++) {
    const bytes = snapshot.bytesAt(index)
    let parsed: JsonObject | undefined
    const object = (): JsonObject => (parsed ??= parseObject(bytes))
    if (fields !== undefined && !fields(object())) continue
    const { cluster, namespace, name } = snapshot.at(index)
    const item = { cluster, namespace, name }
    all.push({ index, item, keys: terms.map((term) => term.key(item, object)) })
    if (breather.spent(bytes.length)) await breather.pause()
  }
  return all
}

/** Where the page before ended. */
export interface Cursor extends Sortable {
  readonly rv: string
  /** The position as it stands in the token. */
  readonly position: string
}

const SORTED = 'sorted:'

export function encodeCursor(version: string, { text }: SortBy, { keys, item }: Sortable): string {
  const position = Buffer.from(JSON.stringify({ by: text, keys, item })).toString('base64url')
  return encodeContinueToken({ rv: version, cluster: '', continue: SORTED + position })
}

/** Throws `badRequest` for a token of a list in another order. */
export function decodeCursor(token: string, sortBy: SortBy): Cursor {
  const decoded = decodeContinueToken(token)
  if (decoded?.continue.startsWith(SORTED) !== true) throw foreignToken()
  const cursor = parseCursor(Buffer.from(decoded.continue.slice(SORTED.length), 'base64url').toString('utf8'))
  if (cursor?.by !== sortBy.text || cursor.keys.length !== sortBy.terms.length) throw foreignToken()
  return { ...cursor, rv: decoded.rv, position: decoded.continue }
}

/** Clusters and version are checked as on any other page; an expired list goes on at the same position. */
function startOf({ rv, position }: Cursor, source: PageSource): PageStart {
  try {
    return decodePageToken(encodeContinueToken({ rv, cluster: '', continue: '' }), source)
  } catch (error) {
    if (!isStatusError(error, 'expired')) throw error
    const now = encodeVersionMap(source.versions())
    throw expired(error.message, encodeContinueToken({ rv: now, cluster: '', continue: position }))
  }
}

function parseCursor(text: string): (Sortable & { readonly by: string }) | undefined {
  try {
    const { by, keys, item } = JSON.parse(text) as { by: string; keys: SortKey[]; item: PageObject }
    const names = [item.cluster, item.namespace, item.name]
    const whole =
      Array.isArray(keys) &&
      keys.every((key) => key === null || typeof key === 'string') &&
      [by, ...names].every((name) => typeof name === 'string')
    return whole ? { by, keys, item } : undefined
  } catch {
    return undefined
  }
}

function foreignToken(): Error {
  return badRequest('continue key is not valid: it belongs to a list in another order')
}

function within<T>(a: ReadonlySet<T>, b: ReadonlySet<T> | undefined): ReadonlySet<T> {
  return b === undefined ? a : new Set([...a].filter((value) => b.has(value)))
}

/**
 * `sortBy` of search/cache: `restarts`, `-memory,name`, `.spec.replicas`. Terms are columns of the kind, `cluster`,
 * `namespace`, `name`, or a JSON path that begins with a dot; `-` turns one around. Objects without a value come last in
 * both directions; ties are ordered by cluster, namespace, name.
 */
import { Breather } from '../http/breather.ts'
import type { Page, PageObject, PageRequest, PageSource } from '../http/object-page.ts'
import { decodePageToken } from '../http/page-token.ts'
import { parseObject } from '../http/selection.ts'
import type { ColumnType, ColumnValue, JsonObject, KindColumns } from '../kube/columns/column.ts'
import { decodeContinueToken, encodeContinueToken } from '../kube/continue-token.ts'
import { encodeVersionMap } from '../kube/multi-cluster-version.ts'
import { badRequest } from '../kube/status-error.ts'
import { sortableIp, sortableNumber, sortableText, sortableTime, sortableVersion } from '../query/sortable.ts'
import { compareUtf8 } from '../util/bytes.ts'
import { sortInSlices } from './sort-in-slices.ts'

/** A value as text whose byte order is its order; null where the object has none. */
type SortKey = string | null

export interface SortBy {
  /** As it was asked for; a continue token only fits the same one. */
  readonly text: string
  readonly terms: readonly SortTerm[]
}

interface SortTerm {
  readonly descending: boolean
  key(item: PageObject, object: () => JsonObject): SortKey
}

interface Sorted {
  readonly index: number
  readonly keys: readonly SortKey[]
  readonly item: PageObject
}

/** Throws `badRequest` for a term that is neither a column nor a path. */
export function parseSortBy(text: string, columns: KindColumns): SortBy {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return { text: names.join(','), terms: names.map((name) => parseTerm(name, columns)) }
}

/** As `readPage`, in the order asked for. The token holds the last object's keys: no state is kept between pages. */
export async function readSortedPage<Item extends PageObject>(
  source: PageSource<Item>,
  request: PageRequest,
  sortBy: SortBy,
): Promise<Page<Item>> {
  const cursor = request.continue === '' ? undefined : decodeCursor(request.continue, sortBy)
  // The envelope's clusters and version are checked as on any other page; the position inside is ours to read.
  const start = cursor === undefined ? undefined : decodePageToken(cursor.envelope, source)
  const { namespace, name, labels } = request.selection
  const clusters = start === undefined ? request.clusters : within(start.clusters, request.clusters)
  const snapshot = source.snapshot({
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { labels }),
    ...(clusters === undefined ? {} : { clusters }),
  })
  const all = request.selection.nothing ? [] : await withKeys(snapshot, request, sortBy.terms)
  const compare = comparator(sortBy.terms)
  const ordered = await sortInSlices(
    cursor === undefined ? all : all.filter((each) => compare(each, cursor) > 0),
    compare,
  )
  const shown = ordered.slice(0, request.limit ?? ordered.length)
  const last = shown.at(-1)
  const version = start?.version ?? encodeVersionMap(snapshot.versions)
  const more = ordered.length > shown.length && last !== undefined
  return {
    length: shown.length,
    at: (i) => snapshot.at((shown[i] as Sorted).index),
    bytesAt: (i) => snapshot.bytesAt((shown[i] as Sorted).index),
    version,
    continue: more ? encodeCursor(version, sortBy, last) : '',
    remaining: more ? ordered.length - shown.length : undefined,
  }
}

async function withKeys(
  snapshot: ReturnType<PageSource['snapshot']>,
  request: PageRequest,
  terms: readonly SortTerm[],
): Promise<Sorted[]> {
  const { fields } = request.selection
  const breather = new Breather()
  const all: Sorted[] = []
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

type Comparable = Pick<Sorted, 'keys' | 'item'>

function comparator(terms: readonly SortTerm[]): (a: Comparable, b: Comparable) => number {
  return (a, b) => {
    for (const [i, { descending }] of terms.entries()) {
      const order = compareKeys(a.keys[i] ?? null, b.keys[i] ?? null, descending)
      if (order !== 0) return order
    }
    return (
      compareUtf8(a.item.cluster, b.item.cluster) ||
      compareUtf8(a.item.namespace, b.item.namespace) ||
      compareUtf8(a.item.name, b.item.name)
    )
  }
}

function compareKeys(a: SortKey, b: SortKey, descending: boolean): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return descending ? compareUtf8(b, a) : compareUtf8(a, b)
}

function parseTerm(text: string, columns: KindColumns): SortTerm {
  const descending = text.startsWith('-')
  const name = descending ? text.slice(1) : text
  if (name === 'cluster' || name === 'namespace' || name === 'name') {
    return { descending, key: (item) => sortableText(item[name]) }
  }
  const field = [...columns.columns, ...(columns.extra ?? [])].find((column) => column.field === name)
  if (field !== undefined) {
    return { descending, key: (_item, object) => columnKey(field.type, field.value(object())) }
  }
  const path = parsePath(name)
  if (path === undefined) {
    throw badRequest(`sortBy: ${JSON.stringify(name)} is no column of this kind; a JSON path begins with a dot`)
  }
  return { descending, key: (_item, object) => pathKey(valueAt(object(), path)) }
}

function columnKey(type: ColumnType, value: ColumnValue): SortKey {
  if (value === undefined) return null
  const text = String(value)
  switch (type) {
    case 'int':
    case 'quantity':
    case 'duration':
      return sortableNumber(text) ?? null
    case 'time':
      return sortableTime(text) ?? null
    case 'version':
      return sortableVersion(text) ?? null
    case 'ip':
      return sortableIp(text) ?? null
    case 'bool':
    case 'keyword':
    case 'text':
      return sortableText(text)
    default:
      return type satisfies never
  }
}

/** Of a path's value nothing says what it is: numbers and quantities come first, then times, then text. */
function pathKey(value: unknown): SortKey {
  if (typeof value === 'number' || typeof value === 'boolean') return `1${sortableNumber(String(Number(value))) ?? ''}`
  if (typeof value !== 'string') return null
  const number = sortableNumber(value)
  if (number !== undefined) return `1${number}`
  const time = sortableTime(value)
  return time === undefined ? `3${sortableText(value)}` : `2${time}`
}

/** `.spec.containers[0].image`, `{.metadata.name}`, `.metadata.labels['app.kubernetes.io/name']`. */
function parsePath(text: string): readonly string[] | undefined {
  const bare = text.replace(/^\{(.*)\}$/, '$1')
  const steps = [...bare.matchAll(/\.([^.[\]]+)|\[(?:'([^']*)'|"([^"]*)"|([0-9]+))\]/g)]
  if (steps.length === 0 || steps.map(([whole]) => whole).join('') !== bare) return undefined
  return steps.map(([, name, single, double, index]) => name ?? single ?? double ?? index ?? '')
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  let value = object
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

interface Cursor extends Comparable {
  /** The token without the position in it. */
  readonly envelope: string
}

const SORTED = 'sorted:'

function encodeCursor(version: string, { text }: SortBy, { keys, item }: Sorted): string {
  const position = Buffer.from(JSON.stringify({ by: text, keys, item })).toString('base64url')
  return encodeContinueToken({ rv: version, cluster: '', continue: SORTED + position })
}

function decodeCursor(token: string, sortBy: SortBy): Cursor {
  const decoded = decodeContinueToken(token)
  if (decoded?.continue.startsWith(SORTED) !== true) throw foreignToken()
  const cursor = parseCursor(Buffer.from(decoded.continue.slice(SORTED.length), 'base64url').toString('utf8'))
  if (cursor?.by !== sortBy.text || cursor.keys.length !== sortBy.terms.length) throw foreignToken()
  return { ...cursor, envelope: encodeContinueToken({ ...decoded, continue: '' }) }
}

function parseCursor(text: string): (Comparable & { readonly by: string }) | undefined {
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

/**
 * Results in the order of labels, annotations or JSON paths, of which no store has keys: everything that is found, read page
 * by page from the store and ordered here by what the cached objects have, so that it is the same for every store. Only as
 * many as are asked for are kept; what bounds how many are found is the time that their values take: then a 400.
 */
import type { CachedObject } from '../cache/reader.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import type { KindColumns } from '../kube/columns/index.ts'
import { parseExact } from '../kube/json-exact.ts'
import { badRequest, type StatusError } from '../kube/status-error.ts'
import { DocumentBuilder } from '../query/document.ts'
import { TERM_LINES } from '../query/term-lines.ts'
import { cutUtf8 } from '../query/tokens.ts'
import { emptySecrets, mayEmbedSecrets } from '../query/embedded-secrets.ts'
import type { SearchCursor, SearchHit, SearchRequest, SearchResult, SearchStore } from '../query/search-request.ts'
import { compareSortKeys, identitySortKey, isKeyedByValue, valueSortKey, type SortKey } from '../query/sort-keys.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { Clock } from '../util/clock.ts'
import type { FoundObjects } from './found-object.ts'
import { asked } from './search-call.ts'

/** So many are ordered for one answer at most; an export is ordered once, so none is longer. */
export const MAX_ORDERED = 10_000

/** As many as engines give at once. */
const READ_AT_ONCE = 5_000

/**
 * Time of this thread for one answer, in turns of 5 ms between which others have theirs. A pod of 4 KB takes 50 µs,
 * 130 µs where it is ordered by a column as well.
 */
export const MAX_WORK_MS = 5_000
const TURN_MS = 5

/**
 * Of a key, which has a text twice (`sortableText`): texts of up to 255 bytes count whole. Twice 10,000 results of four keys
 * each are then at most 42 MB (84 MB where they are not Latin), and a token of four fits into a URL.
 */
const MAX_KEY_BYTES = 512

/** Whether a store can order by itself. */
export function isStoreOrder({ sort }: Pick<SearchRequest, 'sort'>): boolean {
  return !sort.some(({ path }) => isKeyedByValue(path))
}

interface Placed {
  readonly hit: SearchHit
  readonly keys: readonly SortKey[]
}

export interface ValueSource {
  readonly store: Pick<SearchStore, 'search'>
  /** Those behind hits. */
  readonly objects: FoundObjects
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly signal: AbortSignal
}

/** As a store answers. Throws `badRequest` where more is found than `most`, or than can be ordered in time. */
export async function searchByValues(
  source: ValueSource,
  request: SearchRequest,
  most = Number.POSITIVE_INFINITY,
): Promise<SearchResult> {
  const { sort, limit, after, ...rest } = request
  const ties = sort.map(({ descending }) => descending)
  const behind = after === undefined ? undefined : placeOf(after, sort.length)
  const first = await pageOf(source, rest)
  if (first.total > most) throw tooMany(first.total, most)
  const keys = new Keys(source, sort, first.total)
  const foremost = new Foremost(limit, (a, b) => compare(a, b, ties))
  let given = 0
  for (let page = first; ;) {
    given += page.hits.length
    if (given > most) throw tooMany(given, most) // some have come since they were counted
    for (const hit of page.hits) {
      const placed = { hit, keys: await keys.of(hit) }
      if (behind === undefined || compare(placed, behind, ties) > 0) foremost.add(placed)
    }
    const last = page.hits.at(-1)
    if (!page.more || last === undefined) break
    page = await pageOf(source, { ...rest, facets: [], after: last.cursor })
    keys.resume()
  }
  const { placed, more } = foremost.ordered()
  return { ...first, hits: placed.map((each) => ({ ...each.hit, rank: 0, cursor: cursorOf(each) })), more }
}

function tooMany(found: number, most: number): StatusError {
  return badRequest(
    `sort: up to ${most} rows are exported in the order of labels, annotations or paths, and ${found} are found: give a limit or narrow the query`,
  )
}

function pageOf({ store }: ValueSource, request: Omit<SearchRequest, 'sort' | 'ranked' | 'limit'>) {
  return asked(() => store.search({ ...request, sort: [], ranked: [], limit: READ_AT_ONCE }))
}

/** The first `most` of any number, of which twice as many are kept at a time. */
class Foremost {
  readonly #most: number
  readonly #compare: (a: Placed, b: Placed) => number
  readonly #kept: Placed[] = []
  #added = 0

  constructor(most: number, compare: (a: Placed, b: Placed) => number) {
    this.#most = most
    this.#compare = compare
  }

  add(placed: Placed): void {
    this.#added += 1
    this.#kept.push(placed)
    if (this.#kept.length >= 2 * this.#most) this.#cut()
  }

  ordered(): { readonly placed: readonly Placed[]; readonly more: boolean } {
    this.#cut()
    return { placed: this.#kept, more: this.#added > this.#kept.length }
  }

  #cut(): void {
    this.#kept.sort(this.#compare)
    if (this.#kept.length > this.#most) this.#kept.length = this.#most
  }
}

class Keys {
  readonly #source: ValueSource
  readonly #sort: SearchRequest['sort']
  readonly #builder = new DocumentBuilder(TERM_LINES)
  readonly #total: number
  #turnMs: number
  #workedMs = 0
  #read = 0

  constructor(source: ValueSource, sort: SearchRequest['sort'], total: number) {
    this.#source = source
    this.#sort = sort
    this.#total = total
    this.#turnMs = source.clock.monotonicMs()
  }

  async of(hit: SearchHit): Promise<SortKey[]> {
    await this.#breathe()
    const { objects } = this.#source
    this.#read += 1
    const object = await objects.of(hit)
    if (object === undefined) return this.#sort.map(() => null) // it is left out of the answer, too
    const keys = this.#keysOf(hit, object, this.#needsColumns(hit) ? await objects.columns(hit) : undefined)
    return keys.map((key) => (key === null ? null : cutUtf8(key, MAX_KEY_BYTES))) // beginnings are in the order of wholes
  }

  /** What passes between pages is no work of this thread. */
  resume(): void {
    this.#turnMs = this.#source.clock.monotonicMs()
  }

  async #breathe(): Promise<void> {
    const { clock, signal } = this.#source
    const turnMs = clock.monotonicMs() - this.#turnMs
    if (turnMs < TURN_MS) return
    this.#workedMs += turnMs
    if (this.#workedMs > MAX_WORK_MS) {
      throw badRequest(
        `sort: of ${this.#total} results the labels, annotations or paths of ${this.#read} were read in ${MAX_WORK_MS / 1_000} s, which is as long as it may take: narrow the query`,
      )
    }
    await new Promise((resolve) => setImmediate(resolve))
    signal.throwIfAborted()
    this.resume()
  }

  #needsColumns(hit: SearchHit): boolean {
    return this.#sort.some(({ path }) => !isKeyedByValue(path) && identitySortKey(hit, path) === undefined)
  }

  #keysOf(hit: SearchHit, { bytes, resourceVersion }: CachedObject, columns: KindColumns | undefined): SortKey[] {
    let parsed: JsonObject | undefined
    let fields: ReadonlyMap<string, string> | undefined
    return this.#sort.map(({ path, also = [] }): SortKey => {
      const own = identitySortKey(hit, path)
      if (own !== undefined) return own
      if (isKeyedByValue(path)) return firstKey([path, ...also], (parsed ??= parsedOf(bytes)), hit)
      fields ??= this.#builder.build({ ...hit, resourceVersion }, bytes, columns).sortKeys
      return fields.get(path) ?? null
    })
  }
}

function firstKey(paths: readonly string[], object: JsonObject, kind: SearchHit): SortKey {
  for (const path of paths) {
    const key = valueSortKey(path, object, kind)
    if (key !== null) return key
  }
  return null
}

function parsedOf(bytes: Uint8Array): JsonObject {
  const object = parseExact(bytes) as JsonObject
  if (mayEmbedSecrets(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')))
    emptySecrets(object)
  return object
}

function compare(a: Placed, b: Placed, descending: readonly boolean[]): number {
  for (const [i, isDescending] of descending.entries()) {
    const order = compareSortKeys(a.keys[i] ?? null, b.keys[i] ?? null, isDescending)
    if (order !== 0) return order
  }
  return compareTies(a.hit, b.hit)
}

type Tie = Pick<SearchHit, 'cluster' | 'namespace' | 'name' | 'uid' | 'group' | 'resource'>

function compareTies(a: Tie, b: Tie): number {
  return (
    compareUtf8(a.cluster, b.cluster) ||
    compareUtf8(a.namespace, b.namespace) ||
    compareUtf8(a.name, b.name) ||
    compareUtf8(a.uid, b.uid) ||
    compareUtf8(`${a.group}/${a.resource}`, `${b.group}/${b.resource}`)
  )
}

function cursorOf({ hit: { cluster, namespace, name, uid, group, resource }, keys }: Placed): SearchCursor {
  return [...keys, cluster, namespace, name, uid, group, resource]
}

function placeOf(cursor: SearchCursor, keys: number): Placed {
  const ties = cursor.slice(keys)
  if (ties.length !== 6 || cursor.some((value) => typeof value === 'number') || ties.includes(null)) {
    throw badRequest('the continue token is of another query')
  }
  const [cluster = '', namespace = '', name = '', uid = '', group = '', resource = ''] = ties as readonly string[]
  const hit = { cluster, namespace, name, uid, group, resource, version: '', kind: '', rank: 0, cursor }
  return { hit, keys: cursor.slice(0, keys) as readonly SortKey[] }
}

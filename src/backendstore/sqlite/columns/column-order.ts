/**
 * Narrows what was found to the documents that can be on a page: by numbers that order most of them, so that the tables
 * order only those that are left (`order.ts`, which decides).
 */
import type { SearchCursor, SortTerm } from '../../../query/search-request.ts'
import { foldCase } from '../../../query/tokens.ts'
import { coarseText, MISSING } from './coarse.ts'
import { rankAmong, ranksOf } from './coded-texts.ts'
import type { MemoryColumns, Resource } from './columns.ts'

/** Numbers in the order of one of the keys of `orderOf`, or of some in a row, of which `takes`. */
interface CoarseKey {
  at(row: number): number
  /** Of a cursor's value; NaN where it cannot be told. */
  of(value: string | number | null): number
  readonly descending: boolean
}

/** How many rows stand among the smallest before the rest is let go. */
const BUFFER = 512

/** `ranks`: by row, where results are ranked. `limit` rows of the page are among those returned. */
export function pageCandidates(
  columns: MemoryColumns,
  rows: Uint32Array,
  request: { readonly sort: readonly SortTerm[]; readonly limit: number; readonly after?: SearchCursor },
  ranks: Uint32Array | undefined,
): Uint32Array {
  const keys = coarseKeys(columns, request.sort, ranks)
  const { ties, rest } = behindCursor(keys, rows, request.after)
  const parts = [ties]
  let left = rest
  let limit = request.limit
  for (const { at, descending } of keys) {
    if (left.length <= limit) break
    const values = valuesOf(left, at, descending)
    const bound = smallest(values, limit)
    const below = left.filter((_, i) => (values[i] as number) < bound)
    left = left.filter((_, i) => values[i] === bound)
    parts.push(below)
    limit -= below.length
  }
  return joined([...parts, left])
}

/** The order of `orderOf`, as far as numbers tell it. */
function coarseKeys(columns: MemoryColumns, sort: readonly SortTerm[], ranks: Uint32Array | undefined): CoarseKey[] {
  const keys: CoarseKey[] = []
  for (const { path, descending } of sort) {
    const found = identityKeys(columns, path) ?? slotKey(columns, path)
    if (found === undefined) return keys
    keys.push(...found.map((key) => ({ ...key, descending })))
    if (path === 'name') return keys // behind its beginning, names differ by what is not known
  }
  if (ranks !== undefined) keys.push({ at: (row) => ranks[row] as number, of: Number, descending: true })
  const { clusters, namespaces, names } = columns
  return [
    ...keys,
    textKey(clusters.codes, clusters.texts, clusters.ranks),
    textKey(namespaces.codes, namespaces.texts, namespaces.ranks),
    { at: (row) => names.at(row), of: (value) => coarseText(String(value)), descending: false },
  ]
}

type Undirected = Omit<CoarseKey, 'descending'>

function slotKey(columns: MemoryColumns, path: string): Undirected[] | undefined {
  const order = columns.keys(path)?.order()
  if (order === undefined) return undefined
  return [{ at: order.at, of: (value) => order.of(value === null ? null : String(value)) }]
}

/** As many as `order.ts` has of the path. */
function identityKeys(columns: MemoryColumns, path: string): Undirected[] | undefined {
  const { clusters, namespaces, names, resources, kinds } = columns
  const ofKinds = (text: (kind: Resource) => string): string[] =>
    kinds.map((kind) => (kind === undefined ? '' : text(kind)))
  switch (path) {
    case 'cluster':
      return [
        textKey(clusters.codes, clusters.texts.map(foldCase)),
        textKey(clusters.codes, clusters.texts, clusters.ranks),
      ]
    case 'namespace':
      return [textKey(namespaces.codes, namespaces.texts, namespaces.ranks, true)]
    case 'kind':
      return [ofKinds(({ kind }) => foldCase(kind)), ofKinds(({ kind }) => kind)].map((texts) =>
        textKey(resources, texts),
      )
    case 'group':
    case 'resource':
      return [
        textKey(
          resources,
          ofKinds((kind) => kind[path]),
        ),
      ]
    case 'apiversion':
      return [
        textKey(
          resources,
          ofKinds(({ group, version }) => (group === '' ? version : `${group}/${version}`)),
        ),
      ]
    case 'name':
      return [{ at: (row) => names.foldedAt(row), of: (value) => coarseText(String(value)) }]
    default:
      return undefined
  }
}

/** `emptyLast`: an empty text is none. */
function textKey(
  codes: Uint16Array | Uint32Array,
  texts: readonly string[],
  ranks = ranksOf(texts),
  emptyLast = false,
): CoarseKey {
  const placed = emptyLast ? ranks.map((rank, code) => (texts[code] === '' ? MISSING : rank)) : ranks
  return {
    at: (row) => placed[codes[row] as number] as number,
    of: (value) => (value === null ? MISSING : rankAmong(texts, ranks, String(value))),
    descending: false,
  }
}

/** Smaller is earlier; what is missing is last in both directions. */
function valuesOf(rows: Uint32Array, at: (row: number) => number, descending: boolean): Float64Array {
  const values = new Float64Array(rows.length)
  for (let i = 0; i < rows.length; i++) values[i] = placed(at(rows[i] as number), descending)
  return values
}

function placed(value: number, descending: boolean): number {
  return descending && value !== MISSING ? -value : value
}

/** The rows that stand behind the cursor, and those of which numbers do not tell. */
function behindCursor(
  keys: readonly CoarseKey[],
  rows: Uint32Array,
  after: SearchCursor | undefined,
): { ties: Uint32Array; rest: Uint32Array } {
  if (after === undefined) return { ties: new Uint32Array(0), rest: rows }
  let undecided = rows
  const behind: Uint32Array[] = []
  for (const [i, { at, of, descending }] of keys.entries()) {
    const bound = placed(of(after[i] ?? null), descending)
    if (Number.isNaN(bound)) break
    const values = valuesOf(undecided, at, descending)
    behind.push(undecided.filter((_, k) => (values[k] as number) > bound))
    undecided = undecided.filter((_, k) => values[k] === bound)
  }
  return { ties: undecided, rest: joined(behind) }
}

/** The value that the `count`th smallest has. */
function smallest(values: Float64Array, count: number): number {
  const size = Math.max(BUFFER, 2 * count)
  const kept = new Float64Array(size)
  let used = 0
  let bound = MISSING
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    if (used >= count && value >= bound) continue
    kept[used++] = value
    if (used < size) continue
    kept.sort()
    used = count
    bound = kept[count - 1] as number
  }
  return kept.subarray(0, used).sort()[count - 1] ?? MISSING
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

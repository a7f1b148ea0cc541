/** Reads one page of a cached resource: selectors, limit, where the next page begins. */
import type { LabelSelector } from '../kube/label-selector.ts'
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import { encodeVersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName, ObjectKey } from '../kube/names.ts'
import { objectKey } from '../kube/names.ts'
import { Breather } from './breather.ts'
import type { PagePosition, PageStart, PinSource } from './page-token.ts'
import { decodePageToken, encodePageToken } from './page-token.ts'
import type { Selection } from './selection.ts'
import { parseObject } from './selection.ts'

export interface PageObject {
  readonly cluster: ClusterName
  readonly namespace: string
  readonly name: string
}

export interface PageSnapshot<Item extends PageObject> {
  readonly length: number
  readonly remaining: number
  readonly versions: VersionMap
  at(index: number): Item
  bytesAt(index: number): Uint8Array
}

export interface PageFilter {
  readonly clusters?: ReadonlySet<ClusterName>
  readonly namespace?: string
  readonly name?: string
  readonly labels?: LabelSelector
  readonly after?: { readonly cluster: ClusterName; readonly key: ObjectKey }
  readonly limit?: number
  /** More pages of the same state are to follow. */
  readonly isPaged?: boolean
  /** As the source was at these versions; default: as it is now. */
  readonly asOf?: VersionMap
}

/** The part of a cached resource that pages are read from; structurally a `ResourceReader`. */
export interface PageSource<Item extends PageObject = PageObject> extends PinSource {
  snapshot(filter: PageFilter): PageSnapshot<Item>
}

export interface PageRequest {
  readonly selection: Selection
  /** Only these clusters; undefined: all. */
  readonly clusters: ReadonlySet<ClusterName> | undefined
  readonly limit: number | undefined
  /** A token of the page before; empty for the first page. */
  readonly continue: string
}

export interface Page<Item extends PageObject = PageObject> {
  readonly length: number
  at(index: number): Item
  bytesAt(index: number): Uint8Array
  /** The list's resourceVersion: that of its first page. */
  readonly version: string
  /** Empty on the last page. */
  readonly continue: string
  /** How many objects follow this page; undefined where selectors make it unknown, or nothing follows. */
  readonly remaining: number | undefined
}

/** Throws as `decodePageToken` does. Parses objects in slices, so that nobody waits behind a field selector. */
export async function readPage<Item extends PageObject>(
  source: PageSource<Item>,
  request: PageRequest,
): Promise<Page<Item>> {
  const start = request.continue === '' ? undefined : decodePageToken(request.continue, source)
  const clusters = intersection(start?.clusters, request.clusters)
  const filter = { ...pushedDown(request.selection, request.limit), ...(clusters === undefined ? {} : { clusters }) }
  const snapshot = source.snapshot({ ...filter, ...(start === undefined ? {} : stateOf(start)) })
  const picked = await pick(snapshot, request)
  const version = start?.version ?? encodeVersionMap(snapshot.versions)
  return assemble(snapshot, picked, request, version)
}

/** Every page shows the state of the first one, from where the page before ended. */
export function stateOf({ versions, after }: PageStart): Pick<PageFilter, 'asOf' | 'after'> {
  return { asOf: versions, ...(after === undefined ? {} : { after }) }
}

/** Indexes into the snapshot; one more than the limit where another page follows. */
type Picked = { readonly length: number; index(i: number): number }

function pushedDown(selection: Selection, limit: number | undefined): PageFilter {
  const { namespace, name, labels, fields, nothing } = selection
  if (nothing) return { name: '' }
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { labels }),
    ...(limit === undefined ? {} : { isPaged: true }),
    ...(limit === undefined || fields !== undefined ? {} : { limit: limit + 1 }),
  }
}

async function pick(snapshot: PageSnapshot<PageObject>, request: PageRequest): Promise<Picked> {
  const { fields, nothing } = request.selection
  if (nothing) return { length: 0, index: () => 0 }
  if (fields === undefined) return { length: snapshot.length, index: (i) => i }
  const enough = request.limit === undefined ? Infinity : request.limit + 1
  const matching: number[] = []
  const breather = new Breather()
  for (let i = 0; i < snapshot.length && matching.length < enough; i++) {
    const bytes = snapshot.bytesAt(i)
    if (fields(parseObject(bytes))) matching.push(i)
    if (breather.spent(bytes.length)) await breather.pause()
  }
  return { length: matching.length, index: (i) => matching[i] as number }
}

function assemble<Item extends PageObject>(
  snapshot: PageSnapshot<Item>,
  picked: Picked,
  request: PageRequest,
  version: string,
): Page<Item> {
  const { limit, selection } = request
  const more = limit !== undefined && picked.length > limit
  const length = more ? limit : picked.length
  const page = {
    length,
    at: (i: number) => snapshot.at(picked.index(i)),
    bytesAt: (i: number) => snapshot.bytesAt(picked.index(i)),
    version,
  }
  if (!more) return { ...page, continue: '', remaining: undefined }
  const next = encodePageToken(version, positionBetween(page.at(length - 1), snapshot.at(picked.index(length))))
  const counted = selection.labels === undefined && selection.fields === undefined
  return { ...page, continue: next, remaining: counted ? snapshot.remaining + picked.length - length : undefined }
}

/** Behind the last object of a page; a page that ends with its cluster points at the beginning of the next. */
function positionBetween(last: PageObject, next: PageObject): PagePosition {
  if (last.cluster !== next.cluster) return { cluster: next.cluster, key: '' as ObjectKey }
  return { cluster: last.cluster, key: objectKey(last.namespace, last.name) }
}

function intersection<T>(a: ReadonlySet<T> | undefined, b: ReadonlySet<T> | undefined): ReadonlySet<T> | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return new Set([...a].filter((value) => b.has(value)))
}

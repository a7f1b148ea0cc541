/**
 * A cached resource as somebody sees it who may see of some clusters only part of the objects. What is shown of a cluster is
 * read namespace by namespace, as ranges of the cache's order, and not object by object.
 */
import type { ClusterName, ObjectKey } from '../kube/names.ts'
import { objectKey } from '../kube/names.ts'
import type { ObjectScope } from '../kube/object-scope.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { PageFilter, PageObject, PageSnapshot, PageSource } from './object-page.ts'

/** Clusters that `scopes` does not name are not shown. */
export function visiblePages<Item extends PageObject>(
  source: PageSource<Item>,
  scopes: ReadonlyMap<ClusterName, ObjectScope>,
): PageSource<Item> {
  return {
    shards: () => source.shards(),
    versions: () => source.versions(),
    ...(source.covers === undefined ? {} : { covers: (versions) => source.covers?.(versions) ?? true }),
    snapshot: (filter) => new VisibleSnapshot(source, scopes, filter),
  }
}

/** Some objects of a snapshot, or all. */
interface Part<Item extends PageObject> {
  readonly length: number
  at(index: number): Item
  bytesAt(index: number): Uint8Array
}

class VisibleSnapshot<Item extends PageObject> implements PageSnapshot<Item> {
  readonly length: number
  readonly remaining: number
  readonly versions: PageSnapshot<Item>['versions']
  readonly #parts: readonly Part<Item>[]
  /** Where each part begins. */
  readonly #starts: readonly number[]
  /** The part that was read last: lists are read from front to back. */
  #current = 0

  constructor(source: PageSource<Item>, scopes: ReadonlyMap<ClusterName, ObjectScope>, filter: PageFilter) {
    const { clusters: wanted } = filter
    const clusters = [...scopes.keys()].filter((cluster) => wanted === undefined || wanted.has(cluster))
    const parts: Part<Item>[] = []
    const starts: number[] = []
    let length = 0
    let remaining = 0
    for (const cluster of clusters.sort(compareUtf8)) {
      const scope = scopes.get(cluster)
      if (scope === undefined) continue
      for (const part of clusterParts(source, cluster, scope.shown, filter)) {
        const taken = Math.min(part.length, (filter.limit ?? Infinity) - length)
        remaining += part.remaining + part.length - taken
        if (taken === 0) continue
        parts.push(taken === part.length ? part : new Slice(part, taken))
        starts.push(length)
        length += taken
      }
    }
    this.length = length
    this.remaining = remaining
    this.versions = source.snapshot({ clusters: new Set(clusters), limit: 0 }).versions
    this.#parts = parts
    this.#starts = starts
  }

  at(index: number): Item {
    const part = this.#seek(index)
    return part.at(index - (this.#starts[this.#current] as number))
  }

  bytesAt(index: number): Uint8Array {
    const part = this.#seek(index)
    return part.bytesAt(index - (this.#starts[this.#current] as number))
  }

  #seek(index: number): Part<Item> {
    if (index < 0 || index >= this.length) throw new RangeError(`no object at ${index}`)
    if (index < (this.#starts[this.#current] as number)) this.#current = 0
    while (index >= (this.#starts[this.#current + 1] ?? this.length)) this.#current += 1
    return this.#parts[this.#current] as Part<Item>
  }
}

class Slice<Item extends PageObject> implements Part<Item> {
  readonly length: number
  readonly #part: Part<Item>

  constructor(part: Part<Item>, length: number) {
    this.#part = part
    this.length = length
  }

  at(index: number): Item {
    return this.#part.at(index)
  }

  bytesAt(index: number): Uint8Array {
    return this.#part.bytesAt(index)
  }
}

type CountedPart<Item extends PageObject> = Part<Item> & { readonly remaining: number }

/** The visible objects of one cluster, in key order. */
function clusterParts<Item extends PageObject>(
  source: PageSource<Item>,
  cluster: ClusterName,
  scope: ObjectScope,
  filter: PageFilter,
): CountedPart<Item>[] {
  const within = { ...filter, clusters: new Set([cluster]) }
  if (scope.everything) return [source.snapshot(within)]
  const parts: { readonly key: ObjectKey; readonly part: CountedPart<Item> }[] = []
  for (const namespace of scope.namespaces) {
    if (namespace === '' || !agrees(filter.namespace, namespace)) continue
    parts.push({ key: objectKey(namespace, '\0'), part: source.snapshot({ ...within, namespace }) })
  }
  for (const found of namedObjects(source, scope, within)) parts.push({ key: keyOf(found.at(0)), part: found })
  return parts.sort((a, b) => compareUtf8(a.key, b.key)).map(({ part }) => part)
}

/** Objects that are visible by their names, one part each; none of them lies in a namespace that is visible as a whole. */
function namedObjects<Item extends PageObject>(
  source: PageSource<Item>,
  scope: ObjectScope,
  within: PageFilter,
): CountedPart<Item>[] {
  const found = new Map<ObjectKey, CountedPart<Item>>()
  const collect = (filter: PageFilter): void => {
    const { limit: _all, ...whole } = filter
    const snapshot = source.snapshot(whole)
    for (let i = 0; i < snapshot.length; i++) {
      const item = snapshot.at(i)
      if (scope.namespaces.has(item.namespace)) continue
      found.set(keyOf(item), { length: 1, remaining: 0, at: () => item, bytesAt: () => snapshot.bytesAt(i) })
    }
  }
  for (const [namespace, names] of scope.names) {
    if (!agrees(within.namespace, namespace)) continue
    for (const name of names) if (agrees(within.name, name)) collect({ ...within, namespace, name })
  }
  for (const name of scope.anywhere) if (agrees(within.name, name)) collect({ ...within, name })
  return [...found.values()]
}

function keyOf({ namespace, name }: PageObject): ObjectKey {
  return objectKey(namespace, name)
}

function agrees(wanted: string | undefined, value: string): boolean {
  return wanted === undefined || wanted === '' || wanted === value
}

/** Walks from an object to those that belong to it, both ways, as far as the caller may see them. */
import type { CachedObject, ResourceReader } from '../cache/reader.ts'
import { parseObject } from '../http/selection.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import { apiVersionOf } from '../kube/group-version.ts'
import { candidatesOf } from './related-candidates.ts'
import {
  labelOf,
  namedBy,
  podSelectorOf,
  SELECTING_KINDS,
  type NamedObject,
  type Relation,
  type SelectedObjects,
} from './related-names.ts'
import { asked, visibleOf, type SearchCall } from './search-call.ts'
import { VisibleObjects } from './visible-objects.ts'

export interface RelatedObject {
  readonly relation: Relation
  readonly cluster: string
  readonly apiVersion?: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  /** False: it is named, and not there, not cached or not for the caller to see. */
  readonly found: boolean
  /** Steps away from what was asked for. */
  readonly depth: number
  /** The object on the way that leads to it: `cluster/kind/namespace/name`; left out at depth 1. */
  readonly via?: string
}

export interface RelatedResult {
  readonly items: readonly RelatedObject[]
  /** There is more: of one object more than 200, or more than 1,000 in all. */
  readonly more: boolean
}

const MAX_EACH = 200
const MAX_ITEMS = 1_000

/** An object, where it stands. */
export interface Standing {
  readonly reader: ResourceReader
  readonly object: CachedObject
}

const INVERSE: Readonly<Partial<Record<Relation, Relation>>> = {
  owner: 'owned',
  mounts: 'mountedBy',
  runsOn: 'runs',
  refersTo: 'referredBy',
  policy: 'propagated',
  binding: 'propagated',
  work: 'propagated',
}

export async function relatedTo(call: SearchCall, start: Standing, depth: number): Promise<RelatedResult> {
  const walk = new Walk(call)
  walk.visit(start)
  let level: readonly Standing[] = [start]
  for (let step = 1; step <= depth && level.length > 0; step++) level = await walk.step(level, step)
  return { items: walk.items, more: walk.more }
}

class Walk {
  readonly items: RelatedObject[] = []
  more = false
  readonly #call: SearchCall
  readonly #objects: VisibleObjects
  readonly #seen = new Set<string>()
  #next: Standing[] = []

  constructor(call: SearchCall) {
    this.#call = call
    this.#objects = new VisibleObjects(call.parts.cache, call.visible.documents)
  }

  visit({ reader, object }: Standing): void {
    this.#seen.add(placeText(object.cluster, reader.kind, object.namespace, object.name))
  }

  async step(level: readonly Standing[], depth: number): Promise<readonly Standing[]> {
    this.#next = []
    for (const standing of level) {
      if (this.items.length >= MAX_ITEMS) {
        this.more = true
        break
      }
      const json = parseObject(standing.object.bytes)
      const { named, selected } = namedBy(subjectOf(standing), json)
      for (const each of named) this.#addNamed(standing, each, depth)
      for (const each of selected) this.#addSelected(standing, each, depth)
      if (standing.reader.kind === 'Pod') this.#addSelecting(standing, json, depth)
      await this.#addNaming(standing, depth)
    }
    return this.#next
  }

  #addNamed(from: Standing, named: NamedObject, depth: number): void {
    const clusters = named.cluster === '*' ? this.#clusters() : [named.cluster ?? from.object.cluster]
    const found = clusters.flatMap((cluster) => this.#find(named, cluster))
    for (const standing of found) this.#add(from, standing, named.relation, depth)
    if (found.length > 0) return
    const { relation, kind, namespace, name } = named
    const cluster = named.cluster === '*' ? '' : (named.cluster ?? from.object.cluster)
    const key = placeText(cluster, kind, namespace, name)
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.#push({ relation, cluster, kind, namespace, name, found: false, depth, ...viaOf(from, depth) })
  }

  #find({ group, kind, namespace, name, uid }: NamedObject, cluster: string): Standing[] {
    return this.#readers(kind, group).flatMap((reader) => {
      const within = reader.namespaced ? namespace : ''
      const object = this.#objects.get({ ...reader.gvr, cluster, namespace: within, name })
      return object === undefined || (uid !== undefined && uid !== '' && object.uid !== uid) ? [] : [{ reader, object }]
    })
  }

  #addSelected(from: Standing, { relation, kind, namespace, labels }: SelectedObjects, depth: number): void {
    for (const reader of this.#readers(kind, '')) {
      const place = { ...reader.gvr, cluster: from.object.cluster }
      const objects = this.#objects.list(place, { namespace, labels }, MAX_EACH + 1)
      this.more ||= objects.length > MAX_EACH
      for (const object of objects.slice(0, MAX_EACH)) this.#add(from, { reader, object }, relation, depth)
    }
  }

  /** What selects this pod. */
  #addSelecting(from: Standing, pod: JsonObject, depth: number): void {
    const { cluster, namespace } = from.object
    for (const kind of SELECTING_KINDS) {
      for (const reader of this.#readers(kind)) {
        for (const object of this.#objects.list({ ...reader.gvr, cluster }, { namespace }, MAX_ITEMS)) {
          const selector = podSelectorOf(kind, parseObject(object.bytes))
          const matches = selector?.matches((key) => labelOf(pod, key) || undefined) ?? false
          if (matches) this.#add(from, { reader, object }, 'selectedBy', depth)
        }
      }
    }
  }

  /** What names this object. */
  async #addNaming(from: Standing, depth: number): Promise<void> {
    const { store } = this.#call.parts
    const predicate = candidatesOf(subjectOf(from), from.object.cluster)
    const request = { predicate, ...visibleOf(this.#call), ranked: [], sort: [], limit: MAX_EACH, facets: [] }
    const { hits, more } = await asked(() => store.search(request))
    this.more ||= more
    for (const hit of hits) {
      const reader = this.#call.parts.cache.resource(hit)
      const object = this.#objects.get(hit)
      if (reader === undefined || object?.uid !== hit.uid) continue
      const relation = this.#relationTo(from, { reader, object })
      if (relation !== undefined) this.#add(from, { reader, object }, relation, depth)
    }
  }

  /** How the one names the other, seen from the other. */
  #relationTo(to: Standing, from: Standing): Relation | undefined {
    const { named } = namedBy(subjectOf(from), parseObject(from.object.bytes))
    const naming = named.find((each) => this.#isNamed(to, from.object.cluster, each))
    if (naming === undefined) return undefined
    if (naming.relation === 'propagated') return from.reader.kind === 'Work' ? 'work' : 'binding'
    return INVERSE[naming.relation]
  }

  #isNamed({ reader, object }: Standing, cluster: string, named: NamedObject): boolean {
    const own = named.cluster ?? cluster
    return (
      reader.kind === named.kind &&
      (named.group === undefined || named.group === reader.gvr.group) &&
      object.name === named.name &&
      (!reader.namespaced || object.namespace === named.namespace) &&
      (own === '*' || own === object.cluster) &&
      (named.uid === undefined || named.uid === '' || named.uid === object.uid)
    )
  }

  #add(from: Standing, { reader, object }: Standing, relation: Relation, depth: number): void {
    const { cluster, namespace, name, uid } = object
    const key = placeText(cluster, reader.kind, namespace, name)
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    const head = { relation, cluster, apiVersion: apiVersionOf(reader.gvr), kind: reader.kind, namespace, name, uid }
    if (this.#push({ ...head, found: true, depth, ...viaOf(from, depth) })) this.#next.push({ reader, object })
  }

  #push(item: RelatedObject): boolean {
    if (this.items.length >= MAX_ITEMS) {
      this.more = true
      return false
    }
    this.items.push(item)
    return true
  }

  #readers(kind: string, group?: string): ResourceReader[] {
    return this.#objects
      .resources()
      .filter((reader) => reader.kind === kind && (group === undefined || reader.gvr.group === group))
  }

  #clusters(): string[] {
    return [...new Set(this.#objects.resources().flatMap((reader) => reader.shards().map(({ cluster }) => cluster)))]
  }
}

function subjectOf({ reader, object }: Standing) {
  return { group: reader.gvr.group, kind: reader.kind, namespace: object.namespace, name: object.name }
}

function viaOf({ reader, object }: Standing, depth: number): { via?: string } {
  return depth === 1 ? {} : { via: placeText(object.cluster, reader.kind, object.namespace, object.name) }
}

function placeText(cluster: string, kind: string, namespace: string, name: string): string {
  return `${cluster}/${kind}/${namespace}/${name}`
}

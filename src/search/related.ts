/** Walks from an object to those that belong to it, both ways, as far as the caller may see them. */
import type { ResourceReader } from '../cache/reader.ts'
import { parseObject } from '../http/selection.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import { apiVersionOf } from '../kube/group-version.ts'
import { chainKindOf, chainLists } from './chain-kinds.ts'
import { KARMADA, type ControlPlaneReads } from './control-plane.ts'
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
import { cachedStanding, placeOf, placeText, subjectOf, type Standing } from './standing.ts'
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

const INVERSE: Readonly<Partial<Record<Relation, Relation>>> = {
  owner: 'owned',
  mounts: 'mountedBy',
  runsOn: 'runs',
  refersTo: 'referredBy',
  policy: 'propagated',
  binding: 'propagated',
  work: 'propagated',
}

/** `plane` undefined: Karmada's chain is that of the cache. */
export async function relatedTo(
  call: SearchCall,
  plane: ControlPlaneReads | undefined,
  start: Standing,
  depth: number,
): Promise<RelatedResult> {
  const walk = new Walk(call, plane)
  walk.visit(start)
  let level: readonly Standing[] = [start]
  for (let step = 1; step <= depth && level.length > 0; step++) level = await walk.step(level, step)
  return { items: walk.items, more: walk.more }
}

class Walk {
  readonly items: RelatedObject[] = []
  more = false
  readonly #call: SearchCall
  readonly #plane: ControlPlaneReads | undefined
  readonly #objects: VisibleObjects
  readonly #seen = new Set<string>()
  #next: Standing[] = []

  constructor(call: SearchCall, plane: ControlPlaneReads | undefined) {
    this.#call = call
    this.#plane = plane
    this.#objects = new VisibleObjects(call.parts.cache, call.visible.documents)
  }

  visit(standing: Standing): void {
    this.#seen.add(placeOf(standing))
  }

  async step(level: readonly Standing[], depth: number): Promise<readonly Standing[]> {
    this.#next = []
    for (const standing of level) {
      if (this.items.length >= MAX_ITEMS) {
        this.more = true
        break
      }
      const isRead = this.#isRead(standing.object.cluster)
      if (isRead && !isChain(standing)) continue
      const json = standing.json()
      const { named, selected } = namedBy(subjectOf(standing), json)
      for (const each of named) await this.#addNamed(standing, each, depth)
      for (const each of selected) this.#addSelected(standing, each, depth)
      if (standing.reader.kind === 'Pod') this.#addSelecting(standing, json, depth)
      if (isRead) await this.#addListed(standing, json, depth)
      await this.#addNaming(standing, depth)
    }
    return this.#next
  }

  async #addNamed(from: Standing, named: NamedObject, depth: number): Promise<void> {
    const clusters = named.cluster === '*' ? this.#clusters() : [named.cluster ?? from.object.cluster]
    const found = clusters.flatMap((cluster) => this.#find(named, cluster))
    for (const standing of found) this.#add(from, standing, named.relation, depth)
    if (found.length > 0) return
    const { relation, kind, namespace, name } = named
    const cluster = named.cluster === '*' ? '' : (named.cluster ?? from.object.cluster)
    const key = placeText(cluster, kind, namespace, name)
    if (this.#seen.has(key)) return
    if (cluster === '' || this.#isRead(cluster)) {
      if (this.#seen.has(placeText(KARMADA, kind, namespace, name))) return
      const read = await this.#findInControlPlane(named)
      if (read !== undefined) return this.#add(from, read, relation, depth)
    }
    this.#seen.add(key)
    this.#push({ relation, cluster, kind, namespace, name, found: false, depth, ...viaOf(from, depth) })
  }

  #find({ group, kind, namespace, name, uid }: NamedObject, cluster: string): Standing[] {
    return this.#readers(kind, group).flatMap((reader) => {
      const within = reader.namespaced ? namespace : ''
      const object = this.#objects.get({ ...reader.gvr, cluster, namespace: within, name })
      return object === undefined || !isThat(object, uid) ? [] : [cachedStanding(reader, object)]
    })
  }

  /** Karmada's own kinds, and what a binding belongs to, of a kind that some member has. */
  async #findInControlPlane({ group, kind, namespace, name, uid }: NamedObject): Promise<Standing | undefined> {
    const resource = chainKindOf(kind, group) ?? this.#readers(kind, group)[0]
    const found = resource && (await this.#plane?.get(resource, namespace, name))
    return found !== undefined && isThat(found.object, uid) ? found : undefined
  }

  /** A context of `up` may have any name. */
  #isRead(cluster: string): boolean {
    return this.#plane !== undefined && cluster === KARMADA
  }

  #addSelected(from: Standing, { relation, kind, namespace, labels }: SelectedObjects, depth: number): void {
    for (const reader of this.#readers(kind, '')) {
      const place = { ...reader.gvr, cluster: from.object.cluster }
      const objects = this.#objects.list(place, { namespace, labels }, MAX_EACH + 1)
      this.more ||= objects.length > MAX_EACH
      for (const object of objects.slice(0, MAX_EACH)) this.#add(from, cachedStanding(reader, object), relation, depth)
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
          if (matches) this.#add(from, cachedStanding(reader, object), 'selectedBy', depth)
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
      const naming = cachedStanding(reader, object)
      const relation = this.#relationTo(from, naming)
      if (relation !== undefined) this.#add(from, naming, relation, depth)
    }
  }

  /** What names this object, in the control plane both of them. */
  async #addListed(from: Standing, json: JsonObject, depth: number): Promise<void> {
    let added = 0
    for (const list of this.#plane === undefined ? [] : chainLists(from, json)) {
      for await (const naming of this.#plane?.list(list) ?? []) {
        const relation = this.#relationTo(from, naming)
        if (relation === undefined) continue
        this.more ||= added >= MAX_EACH
        if (added++ >= MAX_EACH) return
        this.#add(from, naming, relation, depth)
      }
    }
  }

  /** How the one names the other, seen from the other. */
  #relationTo(to: Standing, from: Standing): Relation | undefined {
    const { named } = namedBy(subjectOf(from), from.json())
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
      isThat(object, named.uid)
    )
  }

  #add(from: Standing, to: Standing, relation: Relation, depth: number): void {
    const { reader, object } = to
    const { cluster, namespace, name, uid } = object
    const key = placeOf(to)
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    const head = { relation, cluster, apiVersion: apiVersionOf(reader.gvr), kind: reader.kind, namespace, name, uid }
    if (this.#push({ ...head, found: true, depth, ...viaOf(from, depth) })) this.#next.push(to)
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

function isChain({ reader: { kind, gvr } }: Standing): boolean {
  return chainKindOf(kind, gvr.group) !== undefined
}

function isThat(object: { readonly uid: string }, uid = ''): boolean {
  return uid === '' || object.uid === uid
}

function viaOf(standing: Standing, depth: number): { via?: string } {
  return depth === 1 ? {} : { via: placeOf(standing) }
}

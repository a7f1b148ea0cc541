/**
 * One resource of one cluster: its objects, the version it stands at, and how fresh that is. Every change becomes one call
 * of the sink, after the content has changed as a whole.
 */
import { canonicalize, type CanonicalObject, type ObjectIdentity } from '../kube/canonical-object.ts'
import { scanHead } from '../kube/object-scanner.ts'
import { Redactor } from '../kube/redaction.ts'
import { apiVersionOf, type GroupVersionResource } from '../kube/group-version.ts'
import type { ClusterName, ResourceVersion } from '../kube/names.ts'
import { tooManyObjects } from '../informer/reflector-error.ts'
import type { ReflectorState, Replacement, WatchEventType } from '../informer/reflector-store.ts'
import type { Clock } from '../util/clock.ts'
import { KeyBuffer } from './key-buffer.ts'
import { KeyOrder } from './key-order.ts'
import { FEW_CHANGES, isOld, isOtherHistory, later, owned, removeInSlices, type ShardChange } from './shard-changes.ts'
import { joined, Publication } from './publication.ts'
import type { ShardState } from './reader.ts'
import { detached, received } from './record.ts'
import { ShardContent } from './shard-content.ts'
import { ShardHistory } from './shard-history.ts'
import { deletion, differences, Staging, type Difference, type StagingTarget } from './staging.ts'
import type { ShardSpec } from './writer.ts'

/** Where a client stands before and after a change: see shard-history.ts. */
export interface ChangeMoment {
  readonly before: ResourceVersion
  readonly after: ResourceVersion
  readonly atMs: number
}

/** Who is told. Nothing is told of a shard that has not been listed yet. */
export interface ShardSink {
  changed(shard: Shard, change: ShardChange, moment: ChangeMoment): void
  /** The version moved without a change. */
  moved(shard: Shard): void
  /** The content was replaced; `first` the first time, when no changes are told. */
  listed(shard: Shard, first: boolean): void
}

export class Shard implements StagingTarget {
  readonly cluster: ClusterName
  readonly clusterUid: string
  readonly gvr: GroupVersionResource
  readonly history = new ShardHistory()
  readonly #identity: ObjectIdentity
  readonly #namespaced: boolean
  readonly #redactor: Redactor | undefined
  readonly #sink: ShardSink
  readonly #clock: Clock
  readonly #maxObjects: number
  readonly #key = new KeyBuffer()
  readonly #staged = new Set<Staging>()
  /** Namespaces replaced one by one while the shard waits for the last of them. */
  readonly #listedNamespaces = new Set<string>()
  #content: ShardContent
  #publication: Publication | undefined
  #namespaces: ReadonlySet<string> | undefined
  #version = '' as ResourceVersion
  #synced = false
  #closed = false
  #reflector: ReflectorState = { phase: 'listing' }
  #heardAtMs: number | undefined

  constructor(spec: ShardSpec, sink: ShardSink, clock: Clock, maxObjects: number) {
    this.#maxObjects = maxObjects
    this.cluster = spec.cluster
    this.clusterUid = spec.clusterUid
    this.gvr = spec.gvr
    this.#identity = { apiVersion: apiVersionOf(spec.gvr), kind: spec.kind, cluster: spec.cluster }
    this.#namespaced = spec.namespaced
    this.#redactor = (spec.redaction ?? '') === '' ? undefined : new Redactor(spec.redaction ?? '')
    this.#namespaces = spec.namespaces
    this.#sink = sink
    this.#clock = clock
    this.#content = new ShardContent(spec.cluster)
  }

  get reflector(): ReflectorState {
    return this.#reflector
  }

  get content(): ShardContent {
    return this.#content
  }

  get synced(): boolean {
    return this.#synced
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Empty until the shard is synced. */
  get version(): ResourceVersion {
    return this.#version
  }

  state(): ShardState {
    return {
      cluster: this.cluster,
      clusterUid: this.clusterUid,
      gvr: this.gvr,
      synced: this.#synced,
      version: this.#synced ? this.#version : undefined,
      objects: this.#synced ? this.#content.order.length : 0,
      bytes: this.#content.objectBytes,
      reflector: this.#reflector,
      heardAtMs: this.#heardAtMs,
      namespaces: this.#namespaces,
    }
  }

  takes(namespace: string): boolean {
    return !this.#namespaced || this.#namespaces === undefined || this.#namespaces.has(namespace)
  }

  /** Throws where a replacement leaves no room for one object more. */
  requireRoom({ namespace, order }: Staging): void {
    const isWhole = namespace === undefined
    const most = isWhole ? order.length : this.#content.order.length + this.#staging()
    if (most < this.#maxObjects) return
    // Looked for last: it takes a search for each namespace, and room is asked for with each object.
    if (isWhole || most - this.#replaced() >= this.#maxObjects) throw tooManyObjects(this, this.#maxObjects)
  }

  receive(object: Uint8Array): CanonicalObject {
    this.#heard()
    const canonical = canonicalize(object, this.#identity)
    const bytes = this.#redactor?.redact(canonical.bytes) ?? canonical.bytes
    return bytes === canonical.bytes ? canonical : { bytes, meta: scanHead(bytes) }
  }

  /** Replaces everything, or what is in one namespace. Earlier replacements of the same objects end here. */
  beginReplace(namespace: string | undefined): Replacement {
    this.#supersede(namespace)
    const staging = new Staging(this, namespace)
    this.#staged.add(staging)
    return staging
  }

  install(staging: Staging, version: ResourceVersion): void {
    this.settle()
    this.#staged.delete(staging)
    this.#heard()
    const content = this.#content
    const [from, to] =
      staging.namespace === undefined ? [0, content.order.length] : content.namespaceRange(staging.namespace)
    const before = content.order.slice(from, to)
    content.order.splice(from, to, staging.order)
    const gone: number[] = []
    const changes = differences(content, before, staging.order, gone)
    if (staging.namespace !== undefined) this.#listedNamespaces.add(staging.namespace)
    if (this.#synced) return this.#tell(changes, gone, version)
    for (const _ of changes) continue
    content.removeAll(gone)
    if (!this.#isComplete(staging.namespace)) this.#version = version
    else this.#begin(version)
    if (this.#synced) this.#sink.listed(this, true)
  }

  /** Tells a replacement's differences: a few at once, many in slices. */
  #tell(changes: Generator<Difference | undefined>, gone: number[], version: ResourceVersion): void {
    const content = this.#content
    const first: (Difference | undefined)[] = []
    while (first.length <= FEW_CHANGES) {
      const next = changes.next()
      if (next.done === true) {
        content.removeAll(gone)
        this.#publish(owned(first.filter((change) => change !== undefined)), version)
        return this.#sink.listed(this, false)
      }
      if (next.value !== undefined) first.push(next.value)
    }
    const before = this.#version
    const atMs = this.#clock.monotonicMs()
    this.#publication = new Publication(joined(first, changes), {
      tell: (change, last) => {
        if (last) this.#version = version
        this.#sink.changed(this, change, { before, after: last ? version : before, atMs })
      },
      done: () => {
        this.#publication = undefined
        if (isOtherHistory(before, version)) this.#resetHistory(before, version)
        removeInSlices(content, gone)
        this.#sink.listed(this, false)
      },
    })
    this.#publication.start()
  }

  /**
   * Tells at once what is left of a replacement. Until then the shard shows its new content at the version before, so whoever
   * needs a state and a version that belong together for good (pages, watches) calls this first.
   */
  settle(): void {
    this.#publication?.finish()
  }

  forget(staging: Staging): void {
    this.#staged.delete(staging)
  }

  /** Without a version: the shard stands at the object's own afterwards, if that is newer. */
  apply(type: WatchEventType, bytes: Uint8Array, version: ResourceVersion | undefined): void {
    this.settle()
    const object = this.receive(bytes)
    const { namespace, name, resourceVersion } = object.meta
    this.#supersede(namespace)
    const changes = this.takes(namespace) ? this.#change(type, object, this.#key.set(namespace, name)) : []
    const next = version ?? later(this.#version, resourceVersion)
    if (this.#synced) this.#publish(changes, next)
    else this.#version = next
  }

  bookmark(version: ResourceVersion): void {
    this.settle()
    this.#heard()
    if (this.#synced) this.#publish([], later(this.#version, version))
  }

  report(state: ReflectorState): void {
    this.#reflector = state
    if (state.phase === 'watching') this.#heard()
  }

  setNamespaces(namespaces: ReadonlySet<string> | undefined): void {
    this.settle()
    this.#namespaces = namespaces
    for (const staging of this.#staged) staging.narrow()
    const changes = this.#narrow()
    if (this.#synced) return this.#publish(owned(changes), this.#version)
    if (namespaces === undefined || this.#listedNamespaces.size === 0 || !this.#isComplete('')) return
    this.#begin(this.#version)
    this.#sink.listed(this, true)
  }

  /** Another writer takes over: replacements of the one before end without a trace. */
  abandonReplacements(): void {
    for (const staging of [...this.#staged]) staging.abandon()
  }

  /** Lets go of everything; what still comes is ignored. */
  close(): void {
    this.#closed = true
    this.#synced = false
    this.#publication?.abandon()
    this.#publication = undefined
    this.#staged.clear()
    this.#content = new ShardContent(this.cluster)
  }

  /** Objects that the replacements of single namespaces have. */
  #staging(): number {
    let objects = 0
    for (const { namespace, order } of this.#staged) if (namespace !== undefined) objects += order.length
    return objects
  }

  /** Objects that go when they come. */
  #replaced(): number {
    let objects = 0
    for (const { namespace } of this.#staged) {
      if (namespace === undefined) continue
      const [from, to] = this.#content.namespaceRange(namespace)
      objects += to - from
    }
    return objects
  }

  #begin(version: ResourceVersion): void {
    this.#synced = true
    this.#version = version
    this.history.reset(version)
  }

  /** Whether, with a replacement of that namespace (undefined: of everything), all that is registered has been listed. */
  #isComplete(namespace: string | undefined): boolean {
    if (namespace === undefined || this.#namespaces === undefined) return true
    return [...this.#namespaces].every((name) => this.#listedNamespaces.has(name))
  }

  #heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs()
  }

  #supersede(namespace: string | undefined): void {
    if (this.#staged.size === 0) return
    for (const staging of [...this.#staged]) {
      const covers = staging.namespace === undefined || namespace === undefined || staging.namespace === namespace
      if (covers) staging.supersede()
    }
  }

  /** Brings one object in or out; returns what watchers are to be told. */
  #change(type: WatchEventType, object: CanonicalObject, key: KeyBuffer): ShardChange[] {
    const content = this.#content
    const index = content.find(key)
    const slot = index === -1 ? undefined : content.order.at(index)
    const stored = slot === undefined ? undefined : content.object(slot)
    if (isOld(type, object, stored)) return []
    const incoming = received(this.cluster, object)
    const previous = stored === undefined ? undefined : detached(stored)
    if (slot === undefined || previous === undefined) {
      if (content.order.length >= this.#maxObjects) throw tooManyObjects(this, this.#maxObjects)
      content.order.insertAt(content.lowerBound(content.order, key), content.insert(key, object))
      return [{ type: 'ADDED', object: incoming, previous: undefined }]
    }
    if (type === 'DELETED') {
      content.order.removeAt(index)
      content.remove(slot)
      return [{ type: 'DELETED', object: previous.uid === incoming.uid ? incoming : previous, previous }]
    }
    content.rewrite(slot, key, object)
    if (previous.uid === incoming.uid) return [{ type: 'MODIFIED', object: incoming, previous }]
    return [
      { type: 'DELETED', object: previous, previous },
      { type: 'ADDED', object: incoming, previous: undefined },
    ]
  }

  /** Takes out what is outside the registered namespaces, a namespace at a time. */
  #narrow(): Difference[] {
    if (!this.#namespaced || this.#namespaces === undefined) return []
    const { order } = this.#content
    const kept = new KeyOrder()
    const gone: number[] = []
    for (let i = 0; i < order.length;) {
      const { namespace } = this.#content.object(order.at(i))
      const end = namespace === '' ? i + 1 : this.#content.namespaceRange(namespace)[1]
      const stays = this.takes(namespace)
      for (; i < end; i++) {
        if (stays) kept.append(order.at(i))
        else gone.push(order.at(i))
      }
    }
    if (gone.length === 0) return []
    const changes = gone.map((slot) => deletion(this.#content.object(slot)))
    order.splice(0, order.length, kept)
    this.#content.removeAll(gone)
    return changes
  }

  /** All but the last change leave the version where it was, so that a client cut off in between gets them again. */
  #publish(changes: readonly ShardChange[], version: ResourceVersion): void {
    const before = this.#version
    const isReset = isOtherHistory(before, version)
    this.#version = version
    if (changes.length > 0) {
      const atMs = this.#clock.monotonicMs()
      const within: ChangeMoment = { before, after: before, atMs }
      const last: ChangeMoment = { before, after: version, atMs }
      changes.forEach((change, i) => {
        this.#sink.changed(this, change, i === changes.length - 1 ? last : within)
      })
    }
    if (isReset) this.#resetHistory(before, version)
    if (changes.length > 0 || version === before) return
    this.history.moved(version)
    this.#sink.moved(this)
  }

  #resetHistory(before: ResourceVersion, version: ResourceVersion): void {
    this.history.supersede(before)
    this.history.reset(version)
  }
}

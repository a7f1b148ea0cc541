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
import { changeObject, takeOut } from './change-content.ts'
import { KeyBuffer } from './key-buffer.ts'
import type { ShardState } from './reader.ts'
import { Replacements } from './replacements.ts'
import { later, owned, type ShardChange } from './shard-changes.ts'
import { ShardContent } from './shard-content.ts'
import type { ShardHistory } from './shard-history.ts'
import { ShardProgress, type ChangeMoment } from './shard-progress.ts'
import { differences, Staging, type StagingTarget } from './staging.ts'
import type { ShardSpec } from './writer.ts'

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
  readonly #identity: ObjectIdentity
  readonly #namespaced: boolean
  readonly #redactor: Redactor | undefined
  readonly #clock: Clock
  readonly #maxObjects: number
  readonly #key = new KeyBuffer()
  readonly #replacements = new Replacements()
  readonly #progress: ShardProgress
  #content: ShardContent
  #namespaces: ReadonlySet<string> | undefined
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
    this.#clock = clock
    this.#content = new ShardContent(spec.cluster)
    this.#progress = new ShardProgress(
      {
        changed: (change, moment) => sink.changed(this, change, moment),
        moved: () => sink.moved(this),
        listed: (first) => sink.listed(this, first),
      },
      clock,
    )
  }

  get reflector(): ReflectorState {
    return this.#reflector
  }

  get content(): ShardContent {
    return this.#content
  }

  get history(): ShardHistory {
    return this.#progress.history
  }

  get synced(): boolean {
    return this.#progress.synced
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Empty until the shard is synced. */
  get version(): ResourceVersion {
    return this.#progress.version
  }

  state(): ShardState {
    const { synced, version } = this.#progress
    return {
      cluster: this.cluster,
      clusterUid: this.clusterUid,
      gvr: this.gvr,
      synced,
      version: synced ? version : undefined,
      objects: synced ? this.#content.order.length : 0,
      bytes: this.#content.objectBytes,
      reflector: this.#reflector,
      heardAtMs: this.#heardAtMs,
      namespaces: this.#namespaces,
    }
  }

  takes(namespace: string): boolean {
    return !this.#namespaced || this.#namespaces === undefined || this.#namespaces.has(namespace)
  }

  requireRoom(staging: Staging): void {
    this.#requireRoom(this.#replacements.hasRoom(staging, this.#content, this.#maxObjects))
  }

  receive(object: Uint8Array): CanonicalObject {
    this.#heard()
    const canonical = canonicalize(object, this.#identity)
    const bytes = this.#redactor?.redact(canonical.bytes) ?? canonical.bytes
    return bytes === canonical.bytes ? canonical : { bytes, meta: scanHead(bytes) }
  }

  /** Replaces everything, or what is in one namespace. Earlier replacements of the same objects end here. */
  beginReplace(namespace: string | undefined): Replacement {
    const staging = new Staging(this, namespace)
    this.#replacements.begin(staging)
    return staging
  }

  install(staging: Staging, version: ResourceVersion): void {
    this.settle()
    this.#replacements.installed(staging)
    this.#heard()
    const content = this.#content
    const [from, to] =
      staging.namespace === undefined ? [0, content.order.length] : content.namespaceRange(staging.namespace)
    const before = content.order.slice(from, to)
    content.order.splice(from, to, staging.order)
    const gone: number[] = []
    const changes = differences(content, before, staging.order, gone)
    if (this.synced) return this.#progress.publishReplacement(content, changes, gone, version)
    for (const _ of changes) continue
    content.removeAll(gone)
    const isComplete = staging.namespace === undefined || this.#isComplete()
    if (isComplete) this.#progress.begin(version)
    else this.#progress.stand(version)
  }

  /**
   * Tells at once what is left of a replacement. Until then the shard shows its new content at the version before, so whoever
   * needs a state and a version that belong together for good (pages, watches) calls this first.
   */
  settle(): void {
    this.#progress.settle()
  }

  forget(staging: Staging): void {
    this.#replacements.forget(staging)
  }

  /** Without a version: the shard stands at the object's own afterwards, if that is newer. */
  apply(type: WatchEventType, bytes: Uint8Array, version: ResourceVersion | undefined): void {
    this.settle()
    const object = this.receive(bytes)
    const { namespace, name, resourceVersion } = object.meta
    this.#replacements.supersede(namespace)
    const key = this.#key.set(namespace, name)
    const requireRoom = (): void => this.#requireRoom(this.#content.order.length < this.#maxObjects)
    const event = { cluster: this.cluster, type, object, key, requireRoom }
    const changes = this.takes(namespace) ? changeObject(this.#content, event) : []
    const next = version ?? later(this.version, resourceVersion)
    if (this.synced) this.#progress.publish(changes, next)
    else this.#progress.stand(next)
  }

  bookmark(version: ResourceVersion): void {
    this.settle()
    this.#heard()
    if (this.synced) this.#progress.publish([], later(this.version, version))
  }

  report(state: ReflectorState): void {
    this.#reflector = state
    if (state.phase === 'watching') this.#heard()
  }

  setNamespaces(namespaces: ReadonlySet<string> | undefined): void {
    this.settle()
    this.#namespaces = namespaces
    this.#replacements.narrow()
    const isNarrowed = this.#namespaced && namespaces !== undefined
    const changes = isNarrowed ? takeOut(this.#content, (namespace) => this.takes(namespace)) : []
    if (this.synced) return this.#progress.publish(owned(changes), this.version)
    if (namespaces !== undefined && this.#isComplete()) this.#progress.begin(this.version)
  }

  /** Another writer takes over: replacements of the one before end without a trace. */
  abandonReplacements(): void {
    this.#replacements.abandon()
  }

  /** Lets go of everything; what still comes is ignored. */
  close(): void {
    this.#closed = true
    this.#progress.close()
    this.#replacements.clear()
    this.#content = new ShardContent(this.cluster)
  }

  /** Whether all that is registered has been listed, namespace by namespace. */
  #isComplete(): boolean {
    return this.#namespaces === undefined || this.#replacements.hasListed(this.#namespaces)
  }

  #heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs()
  }

  #requireRoom(isThere: boolean): void {
    if (!isThere) throw tooManyObjects(this, this.#maxObjects)
  }
}

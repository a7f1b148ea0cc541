/**
 * The objects of one demo cluster: what etcd and the watch cache are to a kube-apiserver. One counter versions every
 * write; each resource keeps a bounded history, from which watches resume and lists at an older version are rebuilt.
 *
 * Contract: listeners are called synchronously, in the order of versions. Objects handed in are taken over, never copied,
 * and must not be changed afterwards. Values made by `JSON.rawJSON` are served as they stand.
 */
import { expired, notFound } from '../../kube/status-error.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import type { JsonObject } from '../../kube/columns/column.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import type { Clock } from '../../util/clock.ts'
import { rfc3339 } from './timestamp.ts'
import { hasGeneration, isStored, kindKey, typeKey, type ResourceType } from './resource-type.ts'
import { StoredObject, type DemoMeta, type NewObject } from './stored-object.ts'

export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  /** The new state; of a deletion the last one, under the version of the deletion. */
  readonly object: StoredObject
  /** What it replaced. */
  readonly previous: StoredObject | undefined
}

export interface ObjectStoreOptions {
  readonly clock: Clock
  /** A UUID for each new object. */
  readonly newUid: () => string
  /** The version before the first write; default 0. */
  readonly startVersion?: number
  /** Events kept for each resource; default 1 000. */
  readonly historyLimit?: number
}

interface Collection {
  readonly objects: Map<string, StoredObject>
  /** In byte order; undefined after an addition or removal. */
  keys: readonly string[] | undefined
  /** In the order of `keys`; undefined after any change. */
  sorted: readonly StoredObject[] | undefined
  readonly history: StoreEvent[]
  /** The oldest version that `history` can still start from. */
  oldest: number
  readonly listeners: Set<(event: StoreEvent) => void>
}

export class ObjectStore {
  readonly #options: ObjectStoreOptions
  readonly #types = new Map<string, ResourceType>()
  readonly #kinds = new Map<string, ResourceType>()
  readonly #collections = new Map<string, Collection>()
  #version: number

  constructor(options: ObjectStoreOptions) {
    this.#options = options
    this.#version = options.startVersion ?? 0
  }

  /** The version of the last write. */
  get version(): number {
    return this.#version
  }

  /** In the order of their registration. */
  types(): readonly ResourceType[] {
    return [...this.#types.values()]
  }

  /** The type of `group/version/resource`. */
  type(resourceKey: string): ResourceType | undefined {
    return this.#types.get(resourceKey)
  }

  typeOfKind(apiVersion: string, kind: string): ResourceType | undefined {
    return this.#kinds.get(kindKey(apiVersion, kind))
  }

  register(...types: readonly ResourceType[]): void {
    for (const type of types) {
      this.#types.set(typeKey.resource(type), type)
      this.#kinds.set(typeKey.kind(type), type)
    }
  }

  /** Takes a type away, and with its last version its objects, as deleting a CustomResourceDefinition does. */
  unregister(type: ResourceType): void {
    this.#types.delete(typeKey.resource(type))
    this.#kinds.delete(typeKey.kind(type))
    const storage = typeKey.storage(type)
    if (this.types().some((other) => typeKey.storage(other) === storage)) return
    for (const object of this.list(type)) this.#remove(object)
    this.#collections.delete(storage)
  }

  /**
   * Creates or replaces an object. Fills in uid, creationTimestamp and, for types that have one, the generation, which
   * grows with each change of the spec. A write that changes nothing makes no event, as in Kubernetes.
   */
  put(object: NewObject): StoredObject {
    const type = this.typeOfKind(object.apiVersion, object.kind)
    if (type === undefined || !isStored(type)) throw new Error(`no stored type ${object.apiVersion} ${object.kind}`)
    const collection = this.#collection(type)
    const key = keyOf(object.metadata.namespace, object.metadata.name)
    const previous = collection.objects.get(key)
    const version = this.#version + 1
    const stored = new StoredObject(type, this.#complete(type, object, previous, version), version)
    if (previous?.sameAs(stored) === true) return previous
    this.#version = version
    collection.objects.set(key, stored)
    if (previous === undefined) collection.keys = undefined
    collection.sorted = undefined
    this.#record(collection, { type: previous === undefined ? 'ADDED' : 'MODIFIED', version, object: stored, previous })
    return stored
  }

  /** Returns the last state; undefined where there was none. */
  delete(type: ResourceType, namespace: string | undefined, name: string): StoredObject | undefined {
    const object = this.get(type, namespace, name)
    return object === undefined ? undefined : this.#remove(object)
  }

  get(type: ResourceType, namespace: string | undefined, name: string): StoredObject | undefined {
    return this.#collection(type).objects.get(keyOf(namespace, name))
  }

  /** As `get`, or 404. */
  require(type: ResourceType, namespace: string | undefined, name: string): StoredObject {
    const object = this.get(type, namespace, name)
    if (object === undefined) throw notFound(type, name)
    return object
  }

  /** All objects in the byte order of their keys. The array is a snapshot. */
  list(type: ResourceType): readonly StoredObject[] {
    const collection = this.#collection(type)
    const { objects } = collection
    collection.keys ??= [...objects.keys()].sort(compareUtf8)
    collection.sorted ??= collection.keys.flatMap((key) => objects.get(key) ?? [])
    return collection.sorted
  }

  /** The list as it stood at `version`; 410 where the history no longer reaches back. */
  listAt(type: ResourceType, version: number): readonly StoredObject[] {
    if (version >= this.#version) return this.list(type)
    const later = this.eventsSince(type, version)
    if (later.length === 0) return this.list(type)
    const objects = new Map(this.#collection(type).objects)
    for (const event of later.toReversed()) {
      if (event.previous === undefined) objects.delete(event.object.key)
      else objects.set(event.object.key, event.previous)
    }
    return [...objects.values()].sort((a, b) => compareUtf8(a.key, b.key))
  }

  /** Events after `version`; 410 where the history no longer reaches back. */
  eventsSince(type: ResourceType, version: number): readonly StoreEvent[] {
    const { history, oldest } = this.#collection(type)
    if (version < oldest) throw expired(`too old resource version: ${version} (${oldest})`)
    const first = history.findIndex((event) => event.version > version)
    return first === -1 ? [] : history.slice(first)
  }

  /** Hears every event of a resource; returns how to stop. */
  subscribe(type: ResourceType, listener: (event: StoreEvent) => void): () => void {
    const { listeners } = this.#collection(type)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }

  /** Moves the counter on to `version`, as writes elsewhere in the cluster do; never back. */
  advance(version: number): void {
    this.#version = Math.max(this.#version, version)
  }

  /** Forgets the history of everything up to now: older watches and continue tokens get 410. */
  compact(): void {
    for (const collection of this.#collections.values()) {
      collection.history.length = 0
      collection.oldest = this.#version
    }
  }

  #remove(object: StoredObject): StoredObject {
    const collection = this.#collection(object.type)
    collection.objects.delete(object.key)
    collection.keys = undefined
    collection.sorted = undefined
    const version = ++this.#version
    const last = object.at(version)
    this.#record(collection, { type: 'DELETED', version, object: last, previous: object })
    return last
  }

  #record(collection: Collection, event: StoreEvent): void {
    collection.history.push(event)
    const surplus = collection.history.length - (this.#options.historyLimit ?? 1_000)
    const dropped = surplus > 0 ? collection.history.splice(0, surplus).at(-1) : undefined
    if (dropped !== undefined) collection.oldest = dropped.version
    for (const listener of [...collection.listeners]) listener(event)
  }

  #complete(
    type: ResourceType,
    object: NewObject,
    previous: StoredObject | undefined,
    version: number,
  ): JsonObject & { readonly metadata: DemoMeta } {
    const { apiVersion: _apiVersion, kind: _kind, metadata, ...content } = object
    const { name, generateName, namespace, uid, resourceVersion: _version, generation, ...others } = metadata
    const { creationTimestamp, ...rest } = others
    const defined = (key: string, value: unknown): JsonObject => (value === undefined ? {} : { [key]: value })
    const full: DemoMeta = {
      name,
      ...defined('generateName', generateName),
      ...defined('namespace', namespace),
      uid: (uid ?? previous?.metadata.uid ?? this.#options.newUid()) as string,
      // A caller that edits what it read hands in the old version: it is always the store that numbers.
      resourceVersion: String(version),
      ...defined('generation', generation ?? (hasGeneration(type) ? nextGeneration(content, previous) : undefined)),
      creationTimestamp:
        creationTimestamp ?? previous?.metadata['creationTimestamp'] ?? rfc3339(this.#options.clock.nowMs()),
      ...rest,
    }
    return { metadata: full, ...content }
  }

  #collection(type: ResourceType): Collection {
    const key = typeKey.storage(type)
    const known = this.#collections.get(key)
    if (known !== undefined) return known
    const oldest = this.#options.startVersion ?? 0
    const made: Collection = {
      objects: new Map(),
      keys: undefined,
      sorted: undefined,
      history: [],
      oldest,
      listeners: new Set(),
    }
    this.#collections.set(key, made)
    return made
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** A changed spec counts one up. */
function nextGeneration(content: JsonObject, previous: StoredObject | undefined): number {
  const before = previous?.metadata['generation']
  if (previous === undefined || typeof before !== 'number') return 1
  return JSON.stringify(previous.value['spec']) === JSON.stringify(content['spec']) ? before : before + 1
}

/** The object as `put` takes it, to change and hand back in. */
export function editable(object: StoredObject): NewObject {
  const { generation: _generation, ...metadata } = object.metadata
  return { apiVersion: apiVersionOf(object.type), kind: object.type.kind, ...object.value, metadata }
}

/**
 * The naive model for the property tests: members that keep objects in Maps and queue their watch events, and beside them
 * what the cache should hold of each. Every operation is done to the cache and to the model.
 */
import { canonicalize } from '../../src/kube/canonical-object.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import type { WatchEventType } from '../../src/informer/reflector-store.ts'
import type { ShardWriter } from '../../src/cache/writer.ts'
import type { LabelSelector } from '../../src/kube/label-selector.ts'
import { cluster, newCache, pod, version, type TestCache } from './objects.ts'

export const NAMESPACES = ['a', 'a-b', 'b'] as const

interface StoredPod {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly version: number
  readonly raw: Buffer
}

/** One incarnation of a cluster counts in steps of 10 with a last digit of its own: versions never meet by accident. */
const STEP = 10

class Member {
  readonly name: ClusterName
  uid = 'uid-0'
  incarnation = 0
  now = STEP
  readonly objects = new Map<string, StoredPod>()
  pending: { readonly type: WatchEventType; readonly object: StoredPod }[] = []
  writer: ShardWriter | undefined
  scope: ReadonlySet<string> | undefined
  /** What the cache should hold; undefined: not listed since the shard was opened. */
  cached: Map<string, StoredPod> | undefined
  /** Events of an unlisted or newly widened shard mean nothing before the next list. */
  needsList = true

  constructor(name: string) {
    this.name = cluster(name)
  }
}

export class World {
  readonly test: TestCache
  readonly members: readonly Member[]
  /** Counts what makes older versions worthless: shards dropped, histories begun anew. */
  epoch = 0
  #serial = 0

  constructor(names: readonly string[], windowBytes: number) {
    this.test = newCache({ windowBytes })
    this.members = names.map((name) => new Member(name))
    for (const member of this.members) this.open(member)
  }

  member(index: number): Member {
    const member = this.members[index % this.members.length]
    if (member === undefined) throw new RangeError('no members')
    return member
  }

  open(member: Member): void {
    member.writer = this.test.open(member.name, {
      clusterUid: member.uid,
      ...(member.scope && { namespaces: member.scope }),
    })
  }

  /** A change in the member: creates, modifies, deletes, or deletes and creates again. */
  write(
    member: Member,
    namespace: string,
    name: string,
    how: 'put' | 'delete' | 'recreate',
    labels: StoredPod['labels'],
  ): void {
    const key = `${namespace}/${name}`
    const before = member.objects.get(key)
    if (how !== 'put' && before !== undefined) this.#delete(member, key, before)
    if (how === 'delete') return
    const uid = how === 'put' && before !== undefined ? uidOf(before) : `uid-${this.#serial++}`
    const object = this.#object(member, namespace, name, uid, labels)
    member.objects.set(key, object)
    member.pending.push({ type: before !== undefined && how === 'put' ? 'MODIFIED' : 'ADDED', object })
  }

  #delete(member: Member, key: string, before: StoredPod): void {
    member.objects.delete(key)
    const { namespace, name, labels } = before
    const object = this.#object(member, namespace, name, uidOf(before), labels)
    member.pending.push({ type: 'DELETED', object })
  }

  #object(member: Member, namespace: string, name: string, uid: string, labels: StoredPod['labels']): StoredPod {
    member.now += STEP
    const padding = 'x'.repeat((this.#serial * 37) % 200)
    const raw = pod({ namespace, name, uid, labels, padding }, member.now)
    return { namespace, name, labels, version: member.now, raw }
  }

  /** The reflector receives the next `count` events. */
  deliver(member: Member, count: number): void {
    if (member.needsList || member.cached === undefined) return
    for (const { type, object } of member.pending.splice(0, count)) {
      member.writer?.apply(type, object.raw)
      if (!inScope(member, object)) continue
      const key = `${object.namespace}/${object.name}`
      if (type === 'DELETED') member.cached.delete(key)
      else member.cached.set(key, object)
    }
  }

  /** An event that the reflector had already, after a reconnect. */
  replay(member: Member, index: number): void {
    const stored = [...(member.cached?.values() ?? [])]
    const object = stored[index % Math.max(1, stored.length)]
    if (object !== undefined) member.writer?.apply(index % 2 === 0 ? 'ADDED' : 'MODIFIED', object.raw)
  }

  bookmark(member: Member): void {
    if (member.needsList || member.pending.length > 0) return
    member.now += STEP
    member.writer?.bookmark(version(member.now))
  }

  /** The reflector lists: in key order or not, an object twice, or broken off half way. */
  relist(
    member: Member,
    how: 'sorted' | 'shuffled' | 'doubled' | 'discarded',
    scopeMeanwhile?: ReadonlySet<string>,
  ): void {
    if (member.writer === undefined) return
    const objects = [...member.objects.values()]
    if (how === 'sorted') objects.sort((a, b) => Buffer.compare(keyBytes(a), keyBytes(b)))
    if (how === 'doubled') objects.push(...objects.slice(0, 2))
    const replacement = member.writer.beginReplace()
    objects.forEach((object, i) => {
      if (i === objects.length >> 1 && scopeMeanwhile !== undefined) this.narrow(member, scopeMeanwhile)
      replacement.add(object.raw)
    })
    if (how === 'discarded') return replacement.discard()
    replacement.commit(version(member.now))
    member.pending = []
    member.needsList = false
    member.cached = new Map()
    for (const [key, object] of member.objects) if (inScope(member, object)) member.cached.set(key, object)
  }

  /** Registries change the namespaces; a wider scope waits for the next list. */
  rescope(member: Member, scope: ReadonlySet<string> | undefined): void {
    const isWider =
      member.scope !== undefined && (scope === undefined || [...scope].some((ns) => !member.scope?.has(ns)))
    member.scope = scope
    member.writer?.setNamespaces(scope)
    if (isWider) member.needsList = true
    for (const [key, object] of member.cached ?? []) if (!inScope(member, object)) member.cached?.delete(key)
  }

  /** Only ever smaller than the present scope. */
  narrow(member: Member, wanted: ReadonlySet<string>): void {
    this.rescope(member, new Set([...wanted].filter((ns) => member.scope === undefined || member.scope.has(ns))))
  }

  drop(member: Member): void {
    if (member.writer === undefined) return
    member.writer.drop()
    member.writer = undefined
    member.cached = undefined
    member.needsList = true
    // The store's revision is that of all resources: a list after a shard was dropped never stands where it stood before.
    member.now += STEP
    this.epoch += 1
  }

  /** Under the same name: the same cluster again, or another one that counts from elsewhere. */
  reopen(member: Member, isAnother: boolean, from: number): void {
    if (isAnother) {
      this.#restart(member, from)
      member.uid = `uid-${member.incarnation}`
      if (member.writer !== undefined) this.epoch += 1
      member.cached = undefined
      member.needsList = true
    }
    this.open(member)
  }

  /** The member's store is lost: same cluster, other objects, versions from elsewhere. It is listed at once. */
  loseHistory(member: Member, from: number): void {
    this.#restart(member, from)
    member.needsList = true
    this.epoch += 1
    this.relist(member, 'sorted')
  }

  #restart(member: Member, from: number): void {
    member.incarnation += 1
    member.now = from * STEP + (member.incarnation % STEP)
    const survivors = [...member.objects.values()].filter((_, i) => i % 2 === 0)
    member.objects.clear()
    member.pending = []
    for (const { namespace, name, labels } of survivors) this.write(member, namespace, name, 'put', labels)
    member.pending = []
  }

  /** What the cache should hold, in its order: `cluster/namespace/name` and the canonical JSON. */
  expected(filter: { namespace?: string; labels?: LabelSelector } = {}): [string, string][] {
    const result: [string, string][] = []
    for (const member of this.members) {
      const objects = [...(member.cached?.values() ?? [])].sort((a, b) => Buffer.compare(keyBytes(a), keyBytes(b)))
      for (const object of objects) {
        if (filter.namespace !== undefined && filter.namespace !== object.namespace) continue
        if (filter.labels !== undefined && !filter.labels.matches((key) => object.labels[key])) continue
        const identity = { apiVersion: 'v1', kind: 'Pod', cluster: member.name }
        const key = `${member.name}/${object.namespace}/${object.name}`
        result.push([key, canonicalize(object.raw, identity).bytes.toString()])
      }
    }
    return result
  }
}

function inScope(member: Member, object: StoredPod): boolean {
  return member.scope === undefined || member.scope.has(object.namespace)
}

function keyBytes(object: StoredPod): Buffer {
  return Buffer.from(`${object.namespace}/${object.name}`)
}

function uidOf(object: StoredPod): string {
  return (JSON.parse(object.raw.toString()) as { metadata: { uid: string } }).metadata.uid
}

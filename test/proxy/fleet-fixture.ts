/** A cache fed as reflectors feed it, and a proxy or search/cache over it. */
import { readFileSync } from 'node:fs'
import type { CacheOptions } from '../../src/cache/cache.ts'
import { Cache } from '../../src/cache/cache.ts'
import type { ShardWriter } from '../../src/cache/writer.ts'
import { createColumnSource } from '../../src/http/column-source.ts'
import type { GroupVersionResource } from '../../src/kube/group-version.ts'
import type { ClusterName, ResourceVersion } from '../../src/kube/names.ts'
import type { KnownResource, KnownResources } from '../../src/search/known-resources.ts'
import { FakeClock } from '../support/fake-clock.ts'

export const PODS: GroupVersionResource = { group: '', version: 'v1', resource: 'pods' }
export const NODES: GroupVersionResource = { group: '', version: 'v1', resource: 'nodes' }

export const clusterName = (name: string): ClusterName => name as ClusterName
export const versionOf = (value: string | number): ResourceVersion => String(value) as ResourceVersion

/** The token of a version map, as a client would compute it. */
export function token(map: Record<string, string>): string {
  return Buffer.from(JSON.stringify(map)).toString('base64url')
}

export function decodeToken(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
}

export interface TestObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Record<string, string>
    readonly [key: string]: unknown
  }
  readonly [key: string]: unknown
}

export function pod(namespace: string, name: string, rest: Partial<TestObject> = {}): TestObject {
  const { metadata, ...others } = rest
  return { metadata: { uid: `uid-${namespace}-${name}`, ...metadata, name, namespace }, ...others }
}

/** One cluster's shard of one resource, written as a reflector writes it. */
export class TestShard {
  readonly writer: ShardWriter
  constructor(writer: ShardWriter) {
    this.writer = writer
  }

  /** A whole list; objects get `version` unless they have their own. */
  list(objects: readonly TestObject[], version: string | number): this {
    const replacement = this.writer.beginReplace()
    for (const object of objects) replacement.add(encode(object, version))
    replacement.commit(versionOf(version))
    this.writer.report({ phase: 'watching' })
    return this
  }

  put(object: TestObject, version: string | number): void {
    this.writer.apply('MODIFIED', encode(object, version))
  }

  delete(object: TestObject, version: string | number): void {
    this.writer.apply('DELETED', encode(object, version))
  }
}

function encode({ metadata, ...rest }: TestObject, version: string | number): Buffer {
  return Buffer.from(JSON.stringify({ metadata: { resourceVersion: String(version), ...metadata }, ...rest }))
}

export class TestFleet {
  readonly clock = new FakeClock()
  readonly cache: Cache
  readonly columns = createColumnSource([])
  readonly clusters: ClusterName[] = []
  readonly knownResources: KnownResource[] = []

  constructor(options: Partial<CacheOptions> = {}) {
    this.cache = new Cache({ clock: this.clock, ...options })
  }

  /** The handlers' ports. */
  readonly known: KnownResources = {
    known: (group, version, resource) =>
      this.knownResources.find((r) => r.group === group && r.version === version && r.resource === resource),
    heard: () => this.knownResources.length > 0,
  }

  /** `redaction`: as `redactionOf` says it. */
  register(gvr: GroupVersionResource, kind: string, namespaced: boolean, redaction = ''): this {
    this.cache.register(gvr, kind, namespaced, redaction)
    this.knownResources.push({ ...gvr, kind, namespaced })
    return this
  }

  shard(name: string, gvr: GroupVersionResource, kind = 'Pod', namespaced = true, uid = `uid-${name}`): TestShard {
    const cluster = clusterName(name)
    if (!this.clusters.includes(cluster)) this.clusters.push(cluster)
    return new TestShard(
      this.cache.openShard({
        cluster,
        clusterUid: uid,
        gvr,
        kind,
        namespaced,
        redaction: this.cache.resource(gvr)?.redaction,
      }),
    )
  }

  close(): void {
    this.cache.close()
  }
}

/** Pods of some clusters, each with the collection version given. */
export function podFleet(shards: Record<string, { objects: readonly TestObject[]; version: number }>): TestFleet {
  const fleet = new TestFleet().register(PODS, 'Pod', true)
  for (const [name, { objects, version }] of Object.entries(shards)) fleet.shard(name, PODS).list(objects, version)
  return fleet
}

export function fixture<T>(name: string): T {
  const url = new URL(`../fixtures/karmada-search/${name}`, import.meta.url)
  return JSON.parse(readFileSync(url, 'utf8')) as T
}

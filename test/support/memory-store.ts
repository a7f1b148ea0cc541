/** A backend store in memory that can misbehave: fail, stall, refuse single objects. Keeps names and versions only. */
import type {
  BackendStoreWriter,
  Change,
  ManifestEntry,
  ObjectName,
  ShardIdentity,
  StoreCapabilities,
  StoredShard,
  WriteSummary,
} from '../../src/backendstore/backend-store.ts'

interface Kept extends ShardIdentity, ObjectName {
  readonly uid: string
  readonly resourceVersion: string
}

const keyOf = ({
  cluster,
  group,
  resource,
  namespace,
  name,
}: Omit<Kept, 'uid' | 'resourceVersion' | 'version' | 'kind'>) => [cluster, group, resource, namespace, name].join('|')

export class MemoryStore implements BackendStoreWriter {
  readonly name = 'memory'
  readonly capabilities: StoreCapabilities = { atomicBatches: true, shared: false }
  readonly kept = new Map<string, Kept>()
  /** Every batch that was taken, and how many objects it had. */
  readonly batches: number[] = []
  /** Calls in their order: `write 3`, `compare member1/pods`, `drop member1/pods`. */
  readonly calls: string[] = []
  /** Thrown by the next calls. */
  failure: Error | undefined
  /** Names that are refused for good. */
  readonly refused = new Set<string>()
  written = 0
  underWay = 0
  mostUnderWay = 0
  #gate: Promise<void> = Promise.resolve()
  #open: () => void = () => undefined

  /** Until `release`, nothing gets through. */
  stall(): void {
    this.#gate = new Promise((resolve) => (this.#open = resolve))
  }

  release(): void {
    this.#open()
  }

  async write(batch: readonly Change[]): Promise<WriteSummary> {
    this.underWay++
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay)
    try {
      await this.#call(`write ${batch.length}`)
      this.batches.push(batch.length)
      return this.#apply(batch)
    } finally {
      this.underWay--
    }
  }

  async compare(
    shard: ShardIdentity,
    manifest: AsyncIterable<readonly ManifestEntry[]>,
  ): Promise<readonly ObjectName[]> {
    await this.#call(`compare ${shard.cluster}/${shard.resource}`)
    const differing: ObjectName[] = []
    const named = new Set<string>()
    for await (const entries of manifest) {
      for (const entry of entries) {
        const key = keyOf({ ...shard, ...entry })
        named.add(key)
        const kept = this.kept.get(key)
        if (kept?.uid !== entry.uid || kept.resourceVersion !== entry.resourceVersion) differing.push(entry)
      }
    }
    for (const [key, kept] of this.kept) if (this.#isOf(kept, shard) && !named.has(key)) differing.push(kept)
    return differing
  }

  async dropShard(shard: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): Promise<void> {
    await this.#call(`drop ${shard.cluster}/${shard.resource}`)
    for (const [key, kept] of this.kept) if (this.#isOf(kept, shard)) this.kept.delete(key)
  }

  async shards(): Promise<readonly StoredShard[]> {
    await this.#call('shards')
    const found = new Map<string, StoredShard>()
    for (const { cluster, group, resource } of this.kept.values()) {
      const key = `${cluster}|${group}|${resource}`
      found.set(key, { cluster, group, resource, objects: (found.get(key)?.objects ?? 0) + 1 })
    }
    return [...found.values()]
  }

  /** `cluster/namespace/name@version`, sorted. */
  names(): string[] {
    return [...this.kept.values()]
      .map(({ cluster, namespace, name, resourceVersion }) => `${cluster}/${namespace}/${name}@${resourceVersion}`)
      .sort()
  }

  #apply(batch: readonly Change[]): WriteSummary {
    let written = 0
    let deleted = 0
    const rejected: (ShardIdentity & ObjectName & { reason: string })[] = []
    for (const change of batch) {
      const key = keyOf(change)
      if (change.type === 'delete') deleted += this.kept.delete(key) ? 1 : 0
      else if (this.refused.has(change.name)) rejected.push({ ...change, reason: 'refused' })
      else if (this.#isNews(key, change)) {
        this.kept.set(key, change)
        written++
      }
    }
    this.written += written
    return { written, deleted, unchanged: batch.length - written - deleted - rejected.length, rejected }
  }

  #isNews(key: string, { uid, resourceVersion }: Kept): boolean {
    const kept = this.kept.get(key)
    return kept?.uid !== uid || kept.resourceVersion !== resourceVersion
  }

  #isOf(kept: Kept, { cluster, group, resource }: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): boolean {
    return kept.cluster === cluster && kept.group === group && kept.resource === resource
  }

  async #call(what: string): Promise<void> {
    this.calls.push(what)
    await this.#gate
    if (this.failure !== undefined) throw this.failure
  }
}

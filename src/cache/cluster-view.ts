/** A resource as somebody sees it to whom only some of its clusters are shown: the others might as well not be there. */
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName } from '../kube/names.ts'
import type { CachedObject, ResourceReader, ShardState, WatchItem, WatchOptions } from './reader.ts'
import type { Snapshot, SnapshotFilter } from './reader.ts'

export function clusterView(reader: ResourceReader, clusters: ReadonlySet<ClusterName>): ResourceReader {
  return new ClusterView(reader, clusters)
}

class ClusterView implements ResourceReader {
  readonly #reader: ResourceReader
  readonly #clusters: ReadonlySet<ClusterName>

  constructor(reader: ResourceReader, clusters: ReadonlySet<ClusterName>) {
    this.#reader = reader
    this.#clusters = clusters
  }

  get gvr(): ResourceReader['gvr'] {
    return this.#reader.gvr
  }

  get kind(): string {
    return this.#reader.kind
  }

  get namespaced(): boolean {
    return this.#reader.namespaced
  }

  shards(): readonly ShardState[] {
    return this.#reader.shards().filter(({ cluster }) => this.#clusters.has(cluster))
  }

  versions(): VersionMap {
    return new Map([...this.#reader.versions()].filter(([cluster]) => this.#clusters.has(cluster)))
  }

  covers(versions: VersionMap): boolean {
    return this.#hidden(versions) === undefined && this.#reader.covers(versions)
  }

  get(cluster: ClusterName, namespace: string, name: string): CachedObject | undefined {
    return this.#clusters.has(cluster) ? this.#reader.get(cluster, namespace, name) : undefined
  }

  snapshot(filter: SnapshotFilter): Snapshot {
    return this.#reader.snapshot({ ...filter, clusters: this.#within(filter.clusters) })
  }

  /** A cluster that is not shown any more is one that left: a client that knew it has to list again. */
  watch(options: WatchOptions): AsyncIterable<readonly WatchItem[]> {
    const hidden = options.from === undefined ? undefined : this.#hidden(options.from)
    if (hidden !== undefined) return expiredAtOnce(hidden)
    return this.#reader.watch({ ...options, clusters: this.#within(options.clusters) })
  }

  #within(clusters: ReadonlySet<ClusterName> | undefined): ReadonlySet<ClusterName> {
    if (clusters === undefined) return this.#clusters
    return new Set([...clusters].filter((cluster) => this.#clusters.has(cluster)))
  }

  #hidden(versions: VersionMap): ClusterName | undefined {
    return [...versions.keys()].find((cluster) => !this.#clusters.has(cluster))
  }
}

async function* expiredAtOnce(cluster: ClusterName): AsyncGenerator<readonly WatchItem[], void, void> {
  yield await Promise.resolve([
    { type: 'EXPIRED', message: `too old resource version: cluster ${cluster} is not shown` },
  ])
}

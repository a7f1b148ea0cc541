/**
 * A `VersionMap` that is cheap to change by one: the names are shared by all vectors of the same clusters, only the
 * versions are copied (8 bytes a cluster). Clusters stand in byte order, as tokens want them.
 */
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'

interface Roster {
  readonly names: readonly ClusterName[]
  readonly places: ReadonlyMap<ClusterName, number>
}

function rosterOf(names: readonly ClusterName[]): Roster {
  return { names, places: new Map(names.map((name, place) => [name, place])) }
}

const NOBODY = rosterOf([])

export class VersionVector implements VersionMap {
  static readonly EMPTY = new VersionVector(NOBODY, [])

  readonly #roster: Roster
  readonly #versions: readonly ResourceVersion[]

  private constructor(roster: Roster, versions: readonly ResourceVersion[]) {
    this.#roster = roster
    this.#versions = versions
  }

  static of(map: VersionMap): VersionVector {
    const names = [...map.keys()].sort(compareUtf8)
    return new VersionVector(
      rosterOf(names),
      names.map((name) => map.get(name) ?? ('' as ResourceVersion)),
    )
  }

  /** The same with one version changed or one cluster more. */
  with(cluster: ClusterName, version: ResourceVersion): VersionVector {
    const place = this.#roster.places.get(cluster)
    if (place === undefined) return VersionVector.of(new Map([...this, [cluster, version]]))
    if (this.#versions[place] === version) return this
    const versions = this.#versions.slice()
    versions[place] = version
    return new VersionVector(this.#roster, versions)
  }

  without(cluster: ClusterName): VersionVector {
    return this.has(cluster) ? VersionVector.of(new Map([...this].filter(([name]) => name !== cluster))) : this
  }

  only(clusters: ReadonlySet<ClusterName>): VersionVector {
    return VersionVector.of(new Map([...this].filter(([name]) => clusters.has(name))))
  }

  get size(): number {
    return this.#versions.length
  }

  get(cluster: ClusterName): ResourceVersion | undefined {
    const place = this.#roster.places.get(cluster)
    return place === undefined ? undefined : this.#versions[place]
  }

  has(cluster: ClusterName): boolean {
    return this.#roster.places.has(cluster)
  }

  equals(other: VersionVector): boolean {
    if (other === this) return true
    return other.size === this.size && other.#roster.names.every((name, i) => this.get(name) === other.#versions[i])
  }

  forEach(visit: (version: ResourceVersion, cluster: ClusterName, map: VersionMap) => void): void {
    for (const [cluster, version] of this) visit(version, cluster, this)
  }

  entries(): MapIterator<[ClusterName, ResourceVersion]> {
    return this.#map().entries()
  }

  keys(): MapIterator<ClusterName> {
    return this.#map().keys()
  }

  values(): MapIterator<ResourceVersion> {
    return this.#map().values()
  }

  [Symbol.iterator](): MapIterator<[ClusterName, ResourceVersion]> {
    return this.entries()
  }

  #map(): Map<ClusterName, ResourceVersion> {
    return new Map(this.#roster.names.map((name, place) => [name, this.#versions[place] ?? ('' as ResourceVersion)]))
  }
}

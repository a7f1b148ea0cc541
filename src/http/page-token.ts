/**
 * Where a page of a list of many clusters begins. The envelope is the original's (kube/continue-token.ts); the position
 * in it is ours: `after:<namespace>/<name>`, the last object of the page before, or empty for a cluster's beginning.
 *
 * The first page pins the clusters and the version, and every page shows the state of that version: each of its objects
 * appears once, whatever happens meanwhile, and a watch from it misses nothing.
 */
import { decodeContinueToken, encodeContinueToken } from '../kube/continue-token.ts'
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import { decodeVersionMap, encodeVersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName, ObjectKey, ResourceVersion } from '../kube/names.ts'
import { compareResourceVersions } from '../kube/names.ts'
import { badRequest, expired, StatusError } from '../kube/status-error.ts'
import { compareUtf8 } from '../util/bytes.ts'

/** The part of a cached resource that a token is checked against; structurally a `ResourceReader`. */
export interface PinSource {
  shards(): readonly {
    readonly cluster: ClusterName
    readonly synced: boolean
    readonly version: ResourceVersion | undefined
  }[]
  versions(): VersionMap
  /** False when a watch from these versions would be told 410: then a list pinned to them is of no use any more. */
  covers?(versions: VersionMap): boolean
}

export interface PageStart {
  /** The list's resourceVersion, the same on every page. */
  readonly version: string
  /** The same, decoded. */
  readonly versions: VersionMap
  readonly clusters: ReadonlySet<ClusterName>
  readonly after: PagePosition | undefined
}

export interface PagePosition {
  readonly cluster: ClusterName
  /** The page starts behind it; empty: with the cluster's first object. */
  readonly key: ObjectKey
}

const BEGINNING = '' as ObjectKey
const AFTER = 'after:'

export function encodePageToken(version: string, position: PagePosition): string {
  const at = position.key === BEGINNING ? '' : AFTER + position.key
  return encodeContinueToken({ rv: version, cluster: position.cluster, continue: at })
}

/**
 * Throws `badRequest` for what is no token, `expired` (with a token to go on with) where a cluster of it left or was
 * replaced, its history is gone or its position is not ours, and `serviceUnavailable` while one of its clusters loads.
 */
export function decodePageToken(text: string, source: PinSource): PageStart {
  const token = decodeContinueToken(text)
  const pinned = token === undefined ? undefined : decodeVersionMap(token.rv)
  if (token === undefined || pinned === undefined) throw badRequest('continue key is not valid: it was not made here')
  const cluster = token.cluster as ClusterName
  const broken = brokenPin(pinned, cluster, source)
  if (broken !== undefined) throw expired(broken, tokenBehind(source, cluster))
  const position = positionOf(token.continue, cluster)
  if (position === 'foreign') {
    const again = tokenBehind(source, cluster)
    throw expired('the continue token has a position of another server; the one in this answer starts over', again)
  }
  if (source.covers?.(pinned) === false) {
    const now = encodeVersionMap(source.versions())
    const further = encodePageToken(now, position ?? { cluster, key: BEGINNING })
    throw expired('the continue token is too old: what changed since its first page is not known any more', further)
  }
  return { version: token.rv, versions: pinned, clusters: new Set(pinned.keys()), after: position }
}

function positionOf(text: string, cluster: ClusterName): PagePosition | undefined | 'foreign' {
  if (cluster === '') return undefined
  if (text === '') return { cluster, key: BEGINNING }
  return text.startsWith(AFTER) ? { cluster, key: text.slice(AFTER.length) as ObjectKey } : 'foreign'
}

/** Why the list can not be continued; undefined where it can. */
function brokenPin(pinned: VersionMap, cluster: ClusterName, source: PinSource): string | undefined {
  const shards = new Map(source.shards().map((shard) => [shard.cluster, shard]))
  if (cluster !== '' && !pinned.has(cluster))
    return `the continue token names cluster ${cluster}, which is not part of its list`
  for (const [name, version] of pinned) {
    const shard = shards.get(name)
    if (shard === undefined) return `cluster ${name} of the continue token has left`
    if (!shard.synced || shard.version === undefined) throw loading(name)
    const order = compareResourceVersions(shard.version, version)
    if (order !== undefined && order < 0) return `cluster ${name} of the continue token has been replaced`
  }
  return undefined
}

function loading(cluster: string): StatusError {
  return new StatusError('serviceUnavailable', `cluster ${cluster} of the continue token is being listed; try again`, {
    details: { retryAfterSeconds: 1 },
  })
}

/** Goes on at the present version with the next cluster in order; from the beginning where there is none. */
function tokenBehind(source: PinSource, gone: ClusterName): string {
  const versions = source.versions()
  const next = [...versions.keys()].filter((name) => compareUtf8(name, gone) >= 0).sort(compareUtf8)[0]
  const cluster = next ?? ('' as ClusterName)
  return encodePageToken(encodeVersionMap(versions), { cluster, key: BEGINNING })
}

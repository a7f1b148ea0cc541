/**
 * What a member serves: groups, versions, resources. One or two requests where it speaks aggregated discovery (Kubernetes
 * ≥ 1.26) and none of them with a body while nothing changes; else one request for each group and version.
 * Source: client-go discovery/discovery_client.go, apidiscovery.k8s.io v2.
 */
import { isDeepStrictEqual } from 'node:util'
import { aggregatedPart } from './discovery/aggregated.ts'
import type { DiscoveredResource, DiscoveryPart } from './discovery/discovered.ts'
import { fetchDocument, type DiscoveryRoot } from './discovery/document.ts'
import { plainCore, plainGroups } from './discovery/plain.ts'
import type { MemberClient } from './member.ts'

export interface Discovery {
  /** In the member's own order: preferred versions before others of their group. Frozen: share it, do not change it. */
  readonly resources: readonly DiscoveredResource[]
  /**
   * Groups of which the member could not say (all of) what they serve just now, e.g. because an aggregated API is down.
   * What is missing from them is not known to be gone.
   */
  readonly failedGroups: readonly string[]
  /** Stands for the content; undefined where the member gives none. */
  readonly etag?: string
}

export interface FetchDiscoveryOptions {
  /** The last result of this member: returned itself, the same object, where nothing has changed. */
  readonly previous?: Discovery
  readonly signal: AbortSignal
}

const parts = new WeakMap<Discovery, Readonly<Record<DiscoveryRoot, DiscoveryPart>>>()

/** Rejects with `MemberError` where the roots themselves do not answer (code `rejected` for an error status). */
export async function fetchDiscovery(client: MemberClient, options: FetchDiscoveryOptions): Promise<Discovery> {
  const { previous, signal } = options
  const known = previous === undefined ? undefined : parts.get(previous)
  const [core, groups] = await Promise.all([
    fetchPart(client, '/api', known?.['/api'], signal),
    fetchPart(client, '/apis', known?.['/apis'], signal),
  ])
  if (previous !== undefined && known !== undefined && core === known['/api'] && groups === known['/apis'])
    return previous
  const etags = [core.etag, groups.etag].filter((etag) => etag !== undefined)
  const discovery: Discovery = Object.freeze({
    resources: Object.freeze([...core.resources, ...groups.resources]),
    failedGroups: Object.freeze([...core.failedGroups, ...groups.failedGroups]),
    ...(etags.length === 2 ? { etag: etags.join(' ') } : {}),
  })
  parts.set(discovery, { '/api': core, '/apis': groups })
  return discovery
}

async function fetchPart(
  client: MemberClient,
  root: DiscoveryRoot,
  known: DiscoveryPart | undefined,
  signal: AbortSignal,
): Promise<DiscoveryPart> {
  const document = await fetchDocument(client, root, known?.etag, signal)
  if (document === undefined) return known ?? { resources: [], failedGroups: [], etag: undefined }
  if (document.body.kind === 'APIGroupDiscoveryList') return aggregatedPart(document.body, document.etag)
  const part = await (root === '/api'
    ? plainCore(client, document.body, signal)
    : plainGroups(client, document.body, signal))
  // Nothing says whether it changed, so the content has to: a caller may compare by identity.
  return known !== undefined && isDeepStrictEqual(known, part) ? known : part
}

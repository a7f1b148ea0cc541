/**
 * What an answer says of the clusters behind it. A list has no place for that in its body (typed clients drop unknown
 * fields of ListMeta), so it stands in two bounded headers: `Fleetsearch-Freshness` for programs, `Warning` for people
 * (kubectl prints it).
 */
import type { OutgoingHttpHeaders } from 'node:http'

/** The part of a cache's shard that freshness is told from; structurally a `ShardState`. */
export interface FreshnessSource {
  readonly cluster: string
  readonly synced: boolean
  /** Monotonic ms. */
  readonly heardAtMs: number | undefined
  readonly reflector:
    | { readonly phase: 'listing' }
    | { readonly phase: 'watching'; readonly leftOut?: number }
    | { readonly phase: 'failing'; readonly message: string }
}

/**
 * `live`: watched, or being listed again within a minute; `stale`: shown as it was when its member was last heard;
 * `syncing`: not listed yet, absent from the answer; `missing`: cannot be listed, absent from the answer.
 */
export type FreshnessState = 'live' | 'stale' | 'syncing' | 'missing'

export interface ClusterFreshness {
  readonly cluster: string
  readonly state: FreshnessState
  /** Since the member was last heard; undefined where it never was. */
  readonly ageMs?: number | undefined
  /** Why it is stale or missing: short, free of secrets. */
  readonly reason?: string | undefined
  /** The caller may see only some of its namespaces or objects. */
  readonly inPart?: boolean
  /** Objects that could not be read and are absent from the answer; default 0. */
  readonly leftOut?: number
}

/** A relist after an expired watch takes seconds; a minute without a word is more than that. */
const RELIST_MS = 60_000

/** Room for about 80 clusters; proxies in front of us often allow 8 KiB of headers in all. */
const FRESHNESS_BYTES = 2_000

/** Clusters that one warning names. */
const NAMED = 8

/** RFC 9110 allows any length; kubectl prints the whole. */
const WARNING_CHARS = 1_000

export function freshnessOf(source: FreshnessSource, nowMs: number): ClusterFreshness {
  const { cluster, synced, reflector } = source
  const ageMs = source.heardAtMs === undefined ? undefined : Math.max(0, nowMs - source.heardAtMs)
  if (reflector.phase === 'failing') {
    return { cluster, state: synced ? 'stale' : 'missing', ageMs, reason: reflector.message }
  }
  if (!synced) return { cluster, state: 'syncing', ageMs }
  const late = reflector.phase === 'listing' && (ageMs ?? 0) > RELIST_MS
  const { leftOut = 0 } = reflector.phase === 'watching' ? reflector : {}
  return { cluster, state: late ? 'stale' : 'live', ageMs, ...(leftOut === 0 ? {} : { leftOut }) }
}

/** The headers of an answer that covers `clusters`; none for no clusters. */
export function freshnessHeaders(clusters: readonly ClusterFreshness[]): OutgoingHttpHeaders {
  if (clusters.length === 0) return {}
  const absent = clusters.filter(({ state }) => state === 'missing' || state === 'syncing')
  const stale = clusters.filter(({ state }) => state === 'stale')
  const warnings = [
    ...warning(absent, clusters.length, 'missing from this answer', describeAbsence),
    ...warning(stale, clusters.length, 'stale', describeAge),
    ...warning(
      clusters.filter(({ inPart }) => inPart === true),
      clusters.length,
      'shown in part',
      () => 'what you may list there',
    ),
    ...warning(
      clusters.filter(({ leftOut = 0 }) => leftOut > 0),
      clusters.length,
      'incomplete',
      ({ leftOut = 0 }) => `objects that could not be read: ${leftOut}`,
    ),
  ]
  const headers: Record<string, string | string[]> = {
    'fleetsearch-freshness': freshnessValue([...absent, ...stale, ...clusters.filter(({ state }) => state === 'live')]),
  }
  if (warnings.length > 0) headers['warning'] = warnings
  return headers as OutgoingHttpHeaders // whose own `warning` knows one value only; Node sends each of an array
}

/** The same headers with one warning more. */
export function withWarning(headers: OutgoingHttpHeaders, text: string): OutgoingHttpHeaders {
  const all = { ...headers } as Record<string, string | string[]>
  const { warning = [] } = all
  all['warning'] = [...(typeof warning === 'string' ? [warning] : warning), warningValue(text)]
  return all as OutgoingHttpHeaders
}

/** A Warning header's value (code 299), which kubectl prints. Cut to a bounded length; other than ASCII becomes `?`. */
export function warningValue(text: string): string {
  const cut = text.length > WARNING_CHARS ? `${text.slice(0, WARNING_CHARS)}…` : text
  const ascii = cut.replace(/…/g, '...').replace(/[^\x20-\x7e]/g, '?')
  return `299 - "${ascii.replace(/["\\]/g, '\\$&')}"`
}

/** `name;state;age-in-seconds`, comma-separated; `*;omitted;<count>` stands for those that found no room. */
function freshnessValue(clusters: readonly ClusterFreshness[]): string {
  const parts: string[] = []
  let length = 0
  for (const { cluster, state, ageMs } of clusters) {
    const age = ageMs === undefined ? '-' : String(Math.floor(ageMs / 1000))
    const part = `${headerName(cluster)};${state};${age}`
    if (length + part.length + 1 > FRESHNESS_BYTES) break
    length += part.length + 1
    parts.push(part)
  }
  if (parts.length < clusters.length) parts.push(`*;omitted;${clusters.length - parts.length}`)
  return parts.join(',')
}

/** Names of kubeconfig contexts may hold anything: what would break the header's syntax is percent-encoded. */
function headerName(cluster: string): string {
  return cluster.replace(/[^A-Za-z0-9._:@/+=-]/gu, (c) => encodeURIComponent(c))
}

function warning(
  some: readonly ClusterFreshness[],
  all: number,
  what: string,
  describe: (cluster: ClusterFreshness) => string,
): string[] {
  if (some.length === 0) return []
  const named = some.slice(0, NAMED).map((cluster) => `${cluster.cluster} (${describe(cluster)})`)
  const more = some.length > NAMED ? ` and ${some.length - NAMED} more` : ''
  const verb = some.length === 1 ? 'is' : 'are'
  return [warningValue(`${some.length} of ${all} clusters ${verb} ${what}: ${named.join(', ')}${more}`)]
}

function describeAbsence({ state, reason }: ClusterFreshness): string {
  return state === 'syncing' ? 'not listed yet' : (reason ?? 'cannot be reached')
}

function describeAge({ ageMs, reason }: ClusterFreshness): string {
  const age = `as of ${Math.floor((ageMs ?? 0) / 1000)} s ago`
  return reason === undefined ? age : `${age}; ${reason}`
}

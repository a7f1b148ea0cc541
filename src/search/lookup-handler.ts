/**
 * `search/lookup`: addresses of pods, and whose an address is.
 *
 *     ?key=nsip:shop:web-1&key=nsip:shop:web-2&timeout=5s      the IPs of pods, in every cluster that has them
 *     ?ip=10.2.3.4                                             pods, nodes, Services, endpoints, load balancers
 *
 * POST takes the same as JSON: `{"key": ["nsip:shop:web-1"], "ip": ["10.2.3.4"]}`, up to 1,000 keys and 50 addresses.
 * Answers a LookupResult: `pods` of `{key, found: [{cluster, state, ips, …}]}`, `ips` of `{ip, found: [{role, …}], more}`.
 * `timeout` (0 to 30s, default none) waits for pods that are there and have no address yet.
 */
import { isIP } from 'node:net'
import { sendBody } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import { parseGoDuration } from '../kube/duration.ts'
import { badRequest } from '../kube/status-error.ts'
import { parseClusterFilter } from './cluster-filter.ts'
import { ownersOf, type IpOwner } from './ip-owners.ts'
import { MAX_REMEMBERED, PodIpLookup, type PodIps } from './pod-ips.ts'
import { clusterNames } from './read-query.ts'
import { CONTENT_TYPES, headRow, row } from './row-format.ts'
import { createSearchEndpoint, tailOf, type SearchCall } from './search-call.ts'
import type { SearchParts } from './search-parts.ts'
import { VisibleObjects } from './visible-objects.ts'

const MAX_KEYS = 1_000
const MAX_IPS = 50
const MAX_WAIT_MS = 30_000

interface FoundPods {
  readonly key: string
  readonly found: readonly PodIps[]
}

interface FoundOwners {
  readonly ip: string
  readonly found: readonly IpOwner[]
  readonly more: boolean
}

export function createLookupHandler(parts: SearchParts): ApiHandler {
  const lookup = new PodIpLookup(() => parts.clock.monotonicMs())
  parts.usage?.watch('pod_addresses', { now: () => lookup.remembered, most: MAX_REMEMBERED })
  return createSearchEndpoint(parts, (call) => answer(call, lookup))
}

interface Asked {
  readonly keys: readonly { readonly key: string; readonly namespace: string; readonly name: string }[]
  readonly ips: readonly string[]
  readonly waitMs: number
  readonly clusters: readonly string[] | undefined
}

async function answer(call: SearchCall, lookup: PodIpLookup): Promise<void> {
  const question = readQuestion(call)
  const pods = await podsOf(call, lookup, question)
  lookup.remember(
    call.exchange.request.user.name,
    pods.flatMap(({ found }) => found),
  )
  const ips: FoundOwners[] = []
  for (const ip of question.ips) {
    const { owners, more } = await ownersOf(call, ip, question.clusters)
    ips.push({ ip, found: owners, more })
  }
  const headers = { 'content-type': CONTENT_TYPES[call.format], ...call.headers }
  await sendBody(call.exchange, { headers }, (body) => {
    body.writeText(call.format === 'json' ? jsonOf(call, pods, ips) : rowsOf(call, pods, ips))
    return Promise.resolve()
  })
}

function jsonOf(call: SearchCall, pods: readonly FoundPods[], ips: readonly FoundOwners[]): string {
  const total = [...pods, ...ips].reduce((sum, { found }) => sum + found.length, 0)
  const totalIsExact = ips.every(({ more }) => !more) && (ips.length === 0 || call.index?.complete !== false)
  const head = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'LookupResult', total, totalIsExact }
  return JSON.stringify({ ...head, pods, ips, ...tailOf(call) })
}

const COLUMNS = ['key', 'cluster', 'kind', 'namespace', 'name', 'state', 'ips', 'node'] as const

function rowsOf({ format }: SearchCall, pods: readonly FoundPods[], ips: readonly FoundOwners[]): string {
  const rows = [
    ...pods.flatMap(({ key, found }) =>
      found.map(({ cluster, namespace, name, state, ips: own, node }) => [
        key,
        cluster,
        'Pod',
        namespace,
        name,
        state,
        own,
        node,
      ]),
    ),
    ...ips.flatMap(({ ip, found }) =>
      found.map(({ cluster, kind, namespace, name, role }) => [
        `ip:${ip}`,
        cluster,
        kind,
        namespace,
        name,
        role,
        [ip],
        '',
      ]),
    ),
  ]
  return headRow(format, COLUMNS) + rows.map((cells) => row(format, COLUMNS, cells)).join('')
}

function readQuestion({ parameters, parts }: SearchCall): Asked {
  const texts = parameters.getAll('key').flatMap((text) => text.split(','))
  const keys = [...new Set(texts.filter((text) => text !== ''))]
  if (keys.length > MAX_KEYS) throw badRequest(`key: more than ${MAX_KEYS}`)
  const ips = [
    ...new Set(
      parameters
        .getAll('ip')
        .flatMap((text) => text.split(','))
        .filter((text) => text !== ''),
    ),
  ]
  if (ips.length > MAX_IPS) throw badRequest(`ip: more than ${MAX_IPS}`)
  for (const ip of ips) if (isIP(ip) === 0) throw badRequest(`ip: ${JSON.stringify(ip.slice(0, 60))} is no address`)
  if (keys.length + ips.length === 0) throw badRequest('nothing is asked for: key=nsip:NAMESPACE:NAME or ip=ADDRESS')
  const chosen = parseClusterFilter(parameters, { names: () => clusterNames(parts) })
  return { keys: keys.map(keyOf), ips, waitMs: waitOf(parameters.get('timeout')), clusters: chosen && [...chosen] }
}

function keyOf(key: string): Asked['keys'][number] {
  const [, namespace, name] = /^nsip:([a-z0-9.-]{1,253}):([a-z0-9.-]{1,253})$/.exec(key) ?? []
  if (namespace === undefined || name === undefined) {
    throw badRequest(`key: ${JSON.stringify(key.slice(0, 80))} reads nsip:NAMESPACE:NAME`)
  }
  return { key, namespace, name }
}

function waitOf(text: string | null): number {
  if (text === null || text === '' || text === '0') return 0
  const ms = parseGoDuration(text) ?? Number.NaN
  if (!(ms >= 0 && ms <= MAX_WAIT_MS)) throw badRequest('timeout: a duration from 0 to 30s')
  return ms
}

async function podsOf(call: SearchCall, lookup: PodIpLookup, { keys, waitMs, clusters }: Asked): Promise<FoundPods[]> {
  const { parts, visible } = call
  const objects = new VisibleObjects(parts.cache, visible.documents)
  const among = clusters ?? clusterNames(parts)
  const caller = call.exchange.request.user.name
  const read = (): FoundPods[] =>
    keys.map(({ key, ...pod }) => ({ key, found: lookup.find(caller, objects, among, pod) }))
  const deadline = parts.clock.monotonicMs() + waitMs
  for (;;) {
    const leftMs = deadline - parts.clock.monotonicMs()
    if (leftMs <= 0) return read()
    const changed = changeOf(parts, leftMs, call.exchange.request.signal)
    const found = read()
    if (!found.some((each) => each.found.some(({ state }) => state === 'waiting'))) {
      changed.cancel()
      return found
    }
    await changed.happened
    call.exchange.request.signal.throwIfAborted()
  }
}

/** Resolves when a pod changes, when the time is over, or when nobody waits any more. */
function changeOf(
  { cache, clock }: SearchParts,
  ms: number,
  signal: AbortSignal,
): { happened: Promise<void>; cancel(): void } {
  let cancel = (): void => undefined
  const happened = new Promise<void>((resolve) => {
    const stop = clock.setTimeout(() => cancel(), ms)
    const isPods = ({ gvr }: { gvr: { group: string; resource: string } }): boolean =>
      gvr.group === '' && gvr.resource === 'pods'
    const unlisten = cache.onChange({ changed: (resource) => (isPods(resource) ? cancel() : undefined) })
    cancel = () => {
      stop()
      unlisten()
      signal.removeEventListener('abort', cancel)
      resolve()
    }
    signal.addEventListener('abort', cancel, { once: true })
  })
  return { happened, cancel: () => cancel() }
}

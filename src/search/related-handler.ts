/**
 * `search/related`: what belongs to an object.
 *
 *     ?cluster=member1&kind=Deployment&namespace=shop&name=web&depth=2
 *
 * Owners and what it owns, what it selects and is selected by, mounts, where it runs, what refers to it; with Karmada from a
 * policy over binding and Work to the objects in members and their pods. Answers a RelatedResult: `object`, `items` of
 * `{relation, cluster, apiVersion, kind, namespace, name, uid, found, depth, via}`. `depth` 1 to 5 (1).
 */
import type { OutgoingHttpHeaders } from 'node:http'
import { sendBody } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import { withWarning } from '../http/freshness.ts'
import { apiVersionOf } from '../kube/group-version.ts'
import { badRequest, StatusError } from '../kube/status-error.ts'
import { chainKindNamed, isChainCached } from './chain-kinds.ts'
import { clusterNotFound } from './cluster-filter.ts'
import { chainUnavailable, controlPlanePlaces, ControlPlaneReads, KARMADA } from './control-plane.ts'
import { wholeNumber } from './parameters.ts'
import type { Places } from './places.ts'
import { clusterNames } from './read-query.ts'
import { relatedTo, type RelatedResult } from './related.ts'
import { CONTENT_TYPES, headRow, row } from './row-format.ts'
import { createSearchEndpoint, isComplete, tailOf, type SearchCall } from './search-call.ts'
import type { SearchParts } from './search-parts.ts'
import { cachedStanding, type Standing } from './standing.ts'
import { VisibleObjects } from './visible-objects.ts'

export function createRelatedHandler(parts: SearchParts): ApiHandler {
  const places = controlPlanePlaces()
  parts.usage?.watch('control_plane_answers', places)
  return createSearchEndpoint(parts, (call) => answer(call, places))
}

const MAX_DEPTH = 5
const COLUMNS = [
  'depth',
  'relation',
  'cluster',
  'apiVersion',
  'kind',
  'namespace',
  'name',
  'uid',
  'found',
  'via',
] as const

async function answer(call: SearchCall, places: Places): Promise<void> {
  const depth = wholeNumber(call.parameters, 'depth', 1, MAX_DEPTH)
  const plane = planeOf(call, places)
  let found: Found
  try {
    const start = await startOf(call, plane)
    const result = await relatedTo(call, plane, start, depth)
    found = { start, ...result, warnings: plane?.warnings ?? [], isWhole: plane?.isWhole ?? true }
  } finally {
    plane?.dispose()
  }
  await send(call, found)
}

interface Found extends RelatedResult {
  readonly start: Standing
  /** Of the control plane. */
  readonly warnings: readonly string[]
  readonly isWhole: boolean
}

/** Undefined where there is none, or Karmada's kinds are cached. */
function planeOf({ parts, exchange: { request } }: SearchCall, places: Places): ControlPlaneReads | undefined {
  const { controlPlane: plane, cache, clock } = parts
  if (plane === undefined || isChainCached(cache)) return undefined
  return new ControlPlaneReads({ plane, places, clock, user: request.user, signal: request.signal })
}

async function send(call: SearchCall, found: Found): Promise<void> {
  const { items, warnings } = found
  const own: OutgoingHttpHeaders = { 'content-type': CONTENT_TYPES[call.format], ...call.headers }
  const headers = warnings.reduce(withWarning, own)
  await sendBody(call.exchange, { headers }, (body) => {
    if (call.format === 'json') body.writeText(jsonOf(call, found))
    else {
      body.writeText(headRow(call.format, COLUMNS))
      for (const item of items)
        body.writeText(
          row(
            call.format,
            COLUMNS,
            COLUMNS.map((name) => item[name] ?? null),
          ),
        )
    }
    return Promise.resolve()
  })
}

function jsonOf(call: SearchCall, { start: { reader, object }, items, more, isWhole, warnings }: Found): string {
  const { cluster, namespace, name, uid } = object
  const shown = { cluster, apiVersion: apiVersionOf(reader.gvr), kind: reader.kind, namespace, name, uid }
  const head = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'RelatedResult', total: items.length }
  const all = more ? [...warnings, 'there is more that belongs to it than is shown'] : warnings
  return JSON.stringify({
    ...head,
    totalIsExact: !more && isWhole && isComplete(call),
    object: shown,
    items,
    ...tailOf(call, all),
  })
}

/** Throws `notFound` for an object that is not there or not for the caller to see: nobody can tell which. */
async function startOf(call: SearchCall, plane: ControlPlaneReads | undefined): Promise<Standing> {
  const { parameters, parts } = call
  const [cluster, name] = [parameters.get('cluster') ?? '', parameters.get('name') ?? '']
  const kind = (parameters.get('kind') ?? parameters.get('resource') ?? '').toLowerCase()
  if (cluster === '' || kind === '' || name === '') throw badRequest('cluster, kind and name say which object')
  const place = { cluster, kind, group: parameters.get('group'), namespace: parameters.get('namespace') ?? '', name }
  const isControlPlane = cluster === KARMADA && parts.controlPlane !== undefined
  if (!isControlPlane && !clusterNames(parts).some((each) => each === cluster)) throw clusterNotFound(cluster)
  const start = isControlPlane ? await controlPlaneStart(plane, place) : cachedStart(call, place)
  if (start !== undefined) return start
  throw new StatusError('notFound', `${kind} ${JSON.stringify(name)} not found in cluster ${JSON.stringify(cluster)}`, {
    details: { name, kind },
  })
}

interface StartPlace {
  readonly cluster: string
  /** Or resource, in lower case. */
  readonly kind: string
  /** Null: any. */
  readonly group: string | null
  readonly namespace: string
  readonly name: string
}

function cachedStart({ parts, visible }: SearchCall, place: StartPlace): Standing | undefined {
  const { kind, group, namespace } = place
  const objects = new VisibleObjects(parts.cache, visible.documents)
  const readers = objects
    .resources()
    .filter((each) => each.kind.toLowerCase() === kind || each.gvr.resource === kind)
    .filter((each) => group === null || each.gvr.group === group)
  for (const reader of readers) {
    const object = objects.get({ ...place, ...reader.gvr, namespace: reader.namespaced ? namespace : '' })
    if (object !== undefined) return cachedStanding(reader, object)
  }
  return undefined
}

async function controlPlaneStart(
  plane: ControlPlaneReads | undefined,
  { kind, group, namespace, name }: StartPlace,
): Promise<Standing | undefined> {
  const resource = chainKindNamed(kind, group)
  if (resource === undefined) return undefined
  if (plane === undefined) throw badRequest(`${kind} is cached: name the cluster that is the control plane`)
  const start = await plane.get(resource, namespace, name)
  if (start === undefined && !plane.isWhole) throw chainUnavailable(plane)
  return start
}

/**
 * `search/related`: what belongs to an object.
 *
 *     ?cluster=member1&kind=Deployment&namespace=shop&name=web&depth=2
 *
 * Owners and what it owns, what it selects and is selected by, mounts, where it runs, what refers to it; with Karmada from a
 * policy over binding and Work to the objects in members and their pods. Answers a RelatedResult: `object`, `items` of
 * `{relation, cluster, apiVersion, kind, namespace, name, uid, found, depth, via}`. `depth` 1 to 5 (1).
 */
import { sendBody } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import { apiVersionOf } from '../kube/group-version.ts'
import { badRequest, StatusError } from '../kube/status-error.ts'
import { clusterNotFound } from './cluster-filter.ts'
import { wholeNumber } from './parameters.ts'
import { clusterNames } from './read-query.ts'
import { relatedTo, type RelatedObject, type Standing } from './related.ts'
import { CONTENT_TYPES, headRow, row } from './row-format.ts'
import { createSearchEndpoint, isComplete, tailOf, type SearchCall } from './search-call.ts'
import type { SearchParts } from './search-parts.ts'
import { VisibleObjects } from './visible-objects.ts'

export function createRelatedHandler(parts: SearchParts): ApiHandler {
  return createSearchEndpoint(parts, answer)
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

async function answer(call: SearchCall): Promise<void> {
  const depth = wholeNumber(call.parameters, 'depth', 1, MAX_DEPTH)
  const start = startOf(call)
  const { items, more } = await relatedTo(call, start, depth)
  const headers = { 'content-type': CONTENT_TYPES[call.format], ...call.headers }
  await sendBody(call.exchange, { headers }, (body) => {
    if (call.format === 'json') body.writeText(jsonOf(call, start, items, more))
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

function jsonOf(
  call: SearchCall,
  { reader, object }: Standing,
  items: readonly RelatedObject[],
  more: boolean,
): string {
  const { cluster, namespace, name, uid } = object
  const shown = { cluster, apiVersion: apiVersionOf(reader.gvr), kind: reader.kind, namespace, name, uid }
  const head = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'RelatedResult', total: items.length }
  const warnings = more ? ['there is more that belongs to it than is shown'] : []
  return JSON.stringify({
    ...head,
    totalIsExact: !more && isComplete(call),
    object: shown,
    items,
    ...tailOf(call, warnings),
  })
}

/** Throws `notFound` for an object that is not there or not for the caller to see: nobody can tell which. */
function startOf({ parameters, parts, visible }: SearchCall): Standing {
  const [cluster, name] = [parameters.get('cluster') ?? '', parameters.get('name') ?? '']
  const kind = (parameters.get('kind') ?? parameters.get('resource') ?? '').toLowerCase()
  if (cluster === '' || kind === '' || name === '') throw badRequest('cluster, kind and name say which object')
  if (!clusterNames(parts).some((each) => each === cluster)) throw clusterNotFound(cluster)
  const group = parameters.get('group')
  const objects = new VisibleObjects(parts.cache, visible.documents)
  const readers = objects
    .resources()
    .filter((each) => each.kind.toLowerCase() === kind || each.gvr.resource === kind)
    .filter((each) => group === null || each.gvr.group === group)
  const namespace = parameters.get('namespace') ?? ''
  for (const reader of readers) {
    const place = { ...reader.gvr, cluster, namespace: reader.namespaced ? namespace : '', name }
    const object = objects.get(place)
    if (object !== undefined) return { reader, object }
  }
  throw new StatusError('notFound', `${kind} ${JSON.stringify(name)} not found in cluster ${JSON.stringify(cluster)}`, {
    details: { name, kind },
  })
}

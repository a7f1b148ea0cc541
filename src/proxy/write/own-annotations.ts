/** The cluster annotations that the member's own object has: ours hide them, so that only the member can tell. */
import type { CachedObject } from '../../cache/reader.ts'
import { mayHaveOwnAnnotations } from '../../kube/canonical-object.ts'
import { REDACTED_ANNOTATION } from '../../kube/redaction.ts'
import { scanHead } from '../../kube/object-scanner.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Destination } from '../forward/destination.ts'
import type { Forwarder } from '../forward/forward.ts'
import type { ProxyRequest } from '../plugin.ts'
import { isClusterAnnotation, type Rules } from '../translate/rules.ts'

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const MAX_BYTES = 2 * 1024 * 1024

export type OwnAnnotations = Pick<Rules, 'own' | 'annotated' | 'others'>

const NONE: OwnAnnotations = { own: new Map(), annotated: undefined, others: [] }

/**
 * As the cache has the object, unless that leaves a doubt; then the member is asked as the caller. A caller who may write the
 * object and not read it puts nothing back.
 */
export async function ownAnnotations(
  forwarder: Forwarder,
  request: ProxyRequest,
  destination: Destination,
  object: CachedObject | undefined,
): Promise<OwnAnnotations> {
  const { verb, resource } = request
  if ((verb !== 'update' && verb !== 'patch') || resource?.subresource === 'scale') return NONE
  if (object === undefined) return ask(forwarder, request, destination)
  const isDoubtful = mayHaveOwnAnnotations(object.bytes) || Buffer.from(object.bytes).includes(REDACTED_ANNOTATION)
  if (isDoubtful) return ask(forwarder, request, destination)
  return { own: new Map(), annotated: countAnnotations(object.bytes) > 2, others: [] }
}

/** Of a canonical object, our two included. */
function countAnnotations(bytes: Uint8Array): number {
  const { annotationsStart, annotationsEnd } = scanHead(bytes)
  const text = Buffer.from(bytes.subarray(annotationsStart, annotationsEnd)).toString('utf8')
  return Object.keys(JSON.parse(text) as object).length
}

async function ask(forwarder: Forwarder, request: ProxyRequest, destination: Destination): Promise<OwnAnnotations> {
  const answer = await forwarder.ask(objectOnly(request), destination, {
    method: 'GET',
    rawQuery: '',
    body: undefined,
    headers: { accept: METADATA, 'content-type': undefined, 'content-length': undefined },
    decoded: true,
  })
  const bytes = await answer.bytes(MAX_BYTES)
  if (answer.status === 404 || answer.status === 403) return NONE
  if (answer.status !== 200) {
    throw new StatusError('badGateway', `${destination.name} does not show the object that is to be written`)
  }
  const { metadata } = JSON.parse(bytes.toString('utf8')) as {
    metadata?: { annotations?: Record<string, string> | null }
  }
  const annotations = Object.entries(metadata?.annotations ?? {})
  const others = annotations.map(([key]) => key).filter((key) => !isClusterAnnotation(key))
  return {
    own: new Map(annotations.filter(([key]) => isClusterAnnotation(key))),
    annotated: annotations.length > 0,
    others,
  }
}

/** To read it: its path without the subresource. */
function objectOnly(request: ProxyRequest): ProxyRequest {
  const { resource, path } = request
  if (resource?.subresource === undefined) return { ...request, verb: 'get' }
  const depth = resource.subresource.split('/').length
  return { ...request, verb: 'get', path: path.replace(/\/$/, '').split('/').slice(0, -depth).join('/') }
}

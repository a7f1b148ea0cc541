/** What a member answers to a write, shown as a read would be: with both annotations and the version of many clusters. */
import type { MemberResponse } from '../../fleet/member.ts'
import type { Representation } from '../../http/accept.ts'
import { negotiate } from '../../http/accept.ts'
import { sendBytes } from '../../http/answer.ts'
import { jsonToYaml } from '../../http/yaml.ts'
import { canonicalize, withResourceVersion } from '../../kube/canonical-object.ts'
import { encodeVersionMap } from '../../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../../kube/names.ts'
import { scanObject } from '../../kube/object-scanner.ts'
import type { ObjectMetaSpans } from '../../kube/object-spans.ts'
import { StatusError } from '../../kube/status-error.ts'
import { answerHeaders } from '../forward/headers.ts'
import { isMalformed } from '../live/malformed.ts'
import { isTable, joinTables, parseMemberTable } from '../live/member-table.ts'
import type { ProxyRequest } from '../plugin.ts'

/** Larger than what etcd takes; a collection that was deleted is answered as a list. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** What a member is asked for, so that its answer can be shown as the caller wants it. Throws `notAcceptable`. */
export function memberAccept(accept: string | undefined): string {
  const { as, ...form } = negotiate(accept, 'object')
  const meta = `g=meta.k8s.io;v=${'version' in form ? form.version : 'v1'}`
  switch (as) {
    case 'object':
      return 'application/json'
    case 'partial':
      return `application/json;as=PartialObjectMetadata;${meta},application/json`
    case 'table':
      return `application/json;as=Table;${meta},application/json`
    default:
      return as satisfies never
  }
}

/** What the caller was told. */
export interface Told {
  /** Of the object in the answer, the member's own; undefined where there is none. */
  readonly object: ObjectMetaSpans | undefined
  /** The whole body, as the member sent it. */
  readonly bytes: Buffer
}

/** Relays an answer that is a success and JSON, when `onAnswer` is done; `accept` is what the member was asked for. */
export async function sendAnswer(
  request: ProxyRequest,
  answer: MemberResponse,
  cluster: ClusterName,
  accept: string,
  onAnswer: (told: Told) => Promise<void>,
): Promise<void> {
  const bytes = await answer.bytes(MAX_ANSWER_BYTES)
  const object = scanned(bytes, cluster)
  await onAnswer({ object, bytes })
  const shown = isTable(bytes, accept) ? table(bytes, cluster, request) : annotated(bytes, object, cluster)
  const { format } = representationOf(request)
  const { 'content-length': _length, 'content-type': _type, ...headers } = answerHeaders(request, answer)
  const options = { status: answer.status, headers: { ...headers, 'content-type': `application/${format}` } }
  await sendBytes(request, options, format === 'json' ? shown : Buffer.from(jsonToYaml(shown)))
}

const representationOf = ({ request }: ProxyRequest): Representation =>
  negotiate(request.incoming.headers.accept, 'object')

function scanned(bytes: Buffer, cluster: ClusterName): ObjectMetaSpans | undefined {
  try {
    const object = scanObject(bytes)
    return object.name === '' || object.resourceVersion === '' ? undefined : object
  } catch (error) {
    if (!isMalformed(error)) throw error
    throw new StatusError('badGateway', `cluster ${cluster} has carried it out, and its answer is no JSON`, {
      cause: error,
    })
  }
}

/** A Status, a review, a token: nothing that a cluster keeps, so that there is nothing to say of it. */
function annotated(bytes: Buffer, object: ObjectMetaSpans | undefined, cluster: ClusterName): Buffer {
  if (object === undefined) return bytes
  const { bytes: canonical, meta } = canonicalize(bytes, { apiVersion: object.apiVersion, kind: object.kind, cluster })
  const { versionStart, versionEnd, resourceVersion } = meta
  const version = encodeVersionMap(new Map([[cluster, resourceVersion]]))
  return withResourceVersion({ bytes: canonical, versionStart, versionEnd }, version)
}

function table(bytes: Buffer, cluster: ClusterName, request: ProxyRequest): Buffer {
  const parsed = parseMemberTable(bytes, cluster)
  const representation = representationOf(request)
  const version = encodeVersionMap(new Map([[cluster, parsed.version as ResourceVersion]]))
  const apiVersion = representation.as === 'table' ? representation.version : 'v1'
  return joinTables([parsed], { apiVersion, listMeta: { resourceVersion: version }, objectVersion: version })
}

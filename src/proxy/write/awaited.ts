/** What a cache has to show after a write, by what its member answered; where that does not say, by what the member has now. */
import type { GroupVersionResource } from '../../kube/group-version.ts'
import { resourcePath } from '../../kube/group-version.ts'
import type { ResourceVersion } from '../../kube/names.ts'
import type { Clock } from '../../util/clock.ts'
import { isMemberError } from '../../fleet/member-error.ts'
import { withDeadline } from '../../http/deadline.ts'
import type { OwnerRoute } from '../forward/route.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { Told } from './answer.ts'
import type { Awaited } from './fence.ts'

const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
/** The caller waits for his answer meanwhile. */
const ANSWER_MS = 2_000
const MAX_BYTES = 2 * 1024 * 1024

export async function awaitedAfter(
  request: ProxyRequest,
  route: OwnerRoute,
  gvr: GroupVersionResource,
  told: Told,
  clock: Clock,
): Promise<Awaited> {
  const { resource: path, verb } = request
  const written = told.object
  const namespace = path?.namespace ?? written?.namespace ?? ''
  const name = path?.name ?? written?.name ?? ''
  if (verb === 'delete' && path?.subresource === undefined) {
    const known = lastKnown(route, told)
    // What is only marked for deletion has a new version; what is gone may be answered as it was before.
    if (written?.deletionTimestamp === undefined && known !== undefined) {
      return { kind: 'gone', namespace, name, ...known }
    }
  }
  if (written !== undefined && verb !== 'deletecollection') {
    return { kind: 'version', version: written.resourceVersion, namespace, name }
  }
  return (
    (await askMember(request, route, gvr, { namespace, name: path?.name ?? '' }, clock)) ?? {
      kind: 'unknown',
      namespace,
    }
  )
}

/** Of the object that was deleted: its UID, and a version that it had. */
function lastKnown({ object }: OwnerRoute, told: Told): { uid: string; version: ResourceVersion } | undefined {
  const uid = told.object?.uid ?? deletedUid(told.bytes) ?? object?.uid ?? ''
  const version = object?.uid === uid ? object.resourceVersion : told.object?.resourceVersion
  return uid === '' || version === undefined ? undefined : { uid, version }
}

/** A Status of success names what it is about. */
function deletedUid(bytes: Buffer): string | undefined {
  const { kind, details } = JSON.parse(bytes.toString('utf8')) as { kind?: unknown; details?: { uid?: unknown } | null }
  return kind === 'Status' && typeof details?.uid === 'string' ? details.uid : undefined
}

interface MetadataList {
  readonly metadata?: { readonly resourceVersion?: string }
  readonly items?:
    readonly { readonly metadata?: { readonly name?: string; readonly resourceVersion?: string } }[] | null
}

/** With the service's own credentials, and for metadata alone; undefined where the member does not say. */
async function askMember(
  { request }: ProxyRequest,
  { member }: OwnerRoute,
  gvr: GroupVersionResource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  clock: Clock,
): Promise<Awaited | undefined> {
  const path = resourcePath(gvr, namespace === '' ? undefined : namespace)
  const query = new URLSearchParams({ limit: '1', ...(name === '' ? {} : { fieldSelector: `metadata.name=${name}` }) })
  const deadline = withDeadline(ANSWER_MS, clock, request.signal)
  try {
    const answer = await member.client.request({
      method: 'GET',
      path: `${path}?${query.toString()}`,
      headers: { accept: METADATA },
      headersTimeoutMs: ANSWER_MS,
      signal: deadline.signal,
    })
    const bytes = await answer.bytes(MAX_BYTES)
    if (answer.status !== 200) return undefined
    const list = JSON.parse(bytes.toString('utf8')) as MetadataList | null
    // A kube-apiserver has `null` in the place of no items.
    const items = Array.isArray(list?.items) ? list.items : []
    const object = name === '' ? undefined : items.find((item) => item.metadata?.name === name)
    const version = object?.metadata?.resourceVersion ?? list?.metadata?.resourceVersion ?? ''
    if (version === '') return undefined
    const found = object === undefined ? '' : name
    return { kind: 'version', version: version as ResourceVersion, namespace, name: found }
  } catch (error) {
    if (request.signal.aborted || isMemberError(error) || deadline.signal.aborted || error instanceof SyntaxError)
      return undefined
    throw error
  } finally {
    deadline.dispose()
  }
}

/** One list request to one member. */
import type { Member, MemberResponse } from '../../fleet/member.ts'
import type { CanonicalObject } from '../../kube/canonical-object.ts'
import { canonicalize } from '../../kube/canonical-object.ts'
import { apiVersionOf, resourcePath } from '../../kube/group-version.ts'
import { ListSplitter } from '../../kube/list-splitter.ts'
import type { ClusterName, ResourceVersion } from '../../kube/names.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import { DeadlineError, withDeadline } from '../../http/deadline.ts'
import { parseObject, type Selection } from '../../http/selection.ts'
import { faultOfError, faultOfResponse, MemberFault } from './member-fault.ts'
import type { MemberTable } from './member-table.ts'
import { isTable, parseMemberTable } from './member-table.ts'
import type { LiveTarget } from './target.ts'

export interface LiveReadOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** JSON, or a Table that falls back to it. */
  readonly accept: string
  /** Which objects are kept; default: all. */
  readonly fields?: Selection['fields']
  /** When the whole answer has to be there, by the monotonic clock: who has not answered then is named. Default: no limit. */
  readonly untilMs?: number | undefined
  /** Asked for room before a part of a list is kept; throws where there is none. Default: there always is. */
  readonly hold?: ((bytes: number) => void) | undefined
}

export interface MemberPage {
  readonly cluster: ClusterName
  readonly version: ResourceVersion
  /** The member's own token; empty on its last page. */
  readonly continue: string
  readonly objects: readonly CanonicalObject[]
  /** Instead of objects, where a Table was asked for and the member made one. */
  readonly table: MemberTable | undefined
}

/** A slow member must not hold up an answer: its head within 15 s, the whole within 40 s (the aggregator allows 60). */
const HEAD_MS = 15_000
const WHOLE_MS = 40_000

/** As for the reflectors: larger objects than etcd ever takes. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024
/** Of one member for one answer; a larger list is read in pages. */
const MAX_LIST_BYTES = 256 * 1024 * 1024

/** Rejects with `MemberFault` for whatever is the member's fault. */
export async function readMemberList(
  member: Member,
  target: LiveTarget,
  namespace: string | undefined,
  query: URLSearchParams,
  options: LiveReadOptions,
): Promise<MemberPage> {
  const path = resourcePath(target.gvr, namespace)
  return readMember(member, query.size === 0 ? path : `${path}?${query.toString()}`, options, (response) =>
    pageOf(response, member.facts.name, target, options),
  )
}

/** Sends one GET and reads its answer within the time allowed; `read` gets answers of status 200 only. */
export async function readMember<Result>(
  { facts: { name }, client }: Member,
  path: string,
  { clock, signal, accept, untilMs = Infinity }: LiveReadOptions,
  read: (response: MemberResponse) => Promise<Result>,
): Promise<Result> {
  const leftMs = untilMs - clock.monotonicMs()
  if (leftMs <= 0) throw new MemberFault(name, undefined, 'others took all the time that there was for an answer')
  const deadline = withDeadline(Math.min(WHOLE_MS, leftMs), clock, signal)
  try {
    const headers = { accept }
    const request = { method: 'GET', path, headers, headersTimeoutMs: HEAD_MS, signal: deadline.signal }
    const response = await client.request(request)
    if (response.status !== 200) throw await faultOfResponse(name, response)
    return await read(response)
  } catch (error) {
    if (error instanceof DeadlineError) throw new MemberFault(name, undefined, error.message, error)
    throw faultOfError(name, error)
  } finally {
    deadline.dispose()
  }
}

async function pageOf(
  response: MemberResponse,
  cluster: ClusterName,
  target: LiveTarget,
  { accept, hold, fields }: LiveReadOptions,
): Promise<MemberPage> {
  const objects: CanonicalObject[] = []
  const splitter = new ListSplitter({
    maxObjectBytes: MAX_OBJECT_BYTES,
    onItem: collector(objects, cluster, target, fields),
  })
  let bytes = 0
  let table: Uint8Array[] | undefined
  for await (const chunk of response.body) {
    if (bytes === 0 && isTable(chunk, accept)) table = []
    bytes += chunk.length
    if (bytes > MAX_LIST_BYTES) throw tooLarge(cluster)
    hold?.(chunk.length)
    if (table === undefined) splitter.push(chunk)
    else table.push(chunk)
  }
  if (table !== undefined) {
    const parsed = parseMemberTable(Buffer.concat(table), cluster)
    return { cluster, version: parsed.version, continue: parsed.continue, objects, table: parsed }
  }
  const head = splitter.end()
  return { cluster, version: head.resourceVersion as ResourceVersion, continue: head.continue, objects, table }
}

function collector(
  objects: CanonicalObject[],
  cluster: ClusterName,
  target: LiveTarget,
  fields: Selection['fields'],
): (item: Uint8Array) => void {
  const allowed = target.namespaces(cluster)
  const identity = { apiVersion: apiVersionOf(target.gvr), kind: target.kind, cluster }
  return (item) => {
    const object = canonicalize(item, identity)
    if (allowed?.has(object.meta.namespace) === false) return
    if (fields === undefined || fields(parseObject(object.bytes))) objects.push(object)
  }
}

function tooLarge(cluster: string): StatusError {
  return new StatusError('requestEntityTooLarge', `the list of cluster ${cluster} is too large: read it with a limit`)
}

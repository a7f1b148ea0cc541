/**
 * `/openapi/v2` and `/openapi/v3` of many clusters. A member that serves everything the others do answers for all; where
 * none does, the documents of those that add something are united (merge-documents.ts).
 */
import { createHash } from 'node:crypto'
import type { Member } from '../../fleet/member.ts'
import { sendBytes, sendJson } from '../../http/answer.ts'
import { pathNotFound } from '../../http/status-response.ts'
import type { GroupVersion } from '../../kube/group-version.ts'
import type { Clock } from '../../util/clock.ts'
import { relayFromAny } from '../live/any-member.ts'
import { MemberFault, unanswered } from '../live/member-fault.ts'
import { mapParallel, PARALLEL_MEMBERS } from '../live/parallel.ts'
import { readMember } from '../live/read-list.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { MemberDiscovery } from '../ports.ts'
import { coverOf } from './covering.ts'
import { firstOfEach, mergeOpenApi, mergeOpenApiProtobuf } from './merge-documents.ts'

export interface OpenApiOptions {
  readonly discovery: MemberDiscovery
  readonly clock: Clock
}

/** Members whose documents are united for one answer: each is a few MB. */
const MAX_DOCUMENTS = 16

const PATH = /^\/openapi\/v[23](\/.*)?$/

export function isOpenApiPath(path: string): boolean {
  return PATH.test(path)
}

export async function serveOpenApi(
  request: ProxyRequest,
  members: readonly Member[],
  options: OpenApiOptions,
): Promise<void> {
  const path = request.path.replace(/\/$/, '')
  if (path === '/openapi/v3' && members.length > 1) {
    return sendJson(request, await readOpenApiIndex(members, options, request.request.signal))
  }
  const gv = openApiGroupVersion(path)
  const cover = coverOf(members, options.discovery, gv)
  if (gv !== undefined && cover.members.length === 0) throw pathNotFound()
  if (path === '/openapi/v3' || cover.members.length <= 1 || cover.whole.length > 0) {
    return relayFromAny(request, cover.whole.length > 0 ? cover.whole : members, options)
  }
  await sendMerged(request, path, cover.members.slice(0, MAX_DOCUMENTS), options)
}

/** `/openapi/v3/apis/apps/v1`: of the members, only those that serve it can tell. */
export function openApiGroupVersion(path: string): GroupVersion | undefined {
  const match = /^\/openapi\/v3\/(?:api\/([^/]+)|apis\/([^/]+)\/([^/]+))$/.exec(path)
  if (match === null) return undefined
  return { group: match[2] ?? '', version: match[3] ?? match[1] ?? '' }
}

interface Found {
  readonly type: string
  readonly bytes: Buffer
}

async function sendMerged(
  request: ProxyRequest,
  path: string,
  members: readonly Member[],
  { clock }: OpenApiOptions,
): Promise<void> {
  const { signal, incoming } = request.request
  // Of OpenAPI 3 every client takes JSON; the protobuf of OpenAPI 2 is the only form that older ones ask for.
  const accept = path === '/openapi/v2' ? (incoming.headers.accept ?? 'application/json') : 'application/json'
  const outcomes = await mapParallel(members, PARALLEL_MEMBERS, async (member): Promise<Found | MemberFault> => {
    try {
      return await readMember(member, path, { clock, signal, accept }, async (response) => ({
        type: contentType(response.headers['content-type']),
        bytes: await response.bytes(),
      }))
    } catch (error) {
      if (error instanceof MemberFault) return error
      throw error
    }
  })
  const found = outcomes.filter((outcome): outcome is Found => !(outcome instanceof MemberFault))
  const [first] = found
  if (first === undefined)
    throw unanswered(
      outcomes.filter((outcome) => outcome instanceof MemberFault),
      [],
    )
  const same = found.filter(({ type }) => type === first.type).map(({ bytes }) => bytes)
  const merged = first.type.includes('protobuf') ? mergeOpenApiProtobuf(same) : mergeJson(same)
  await sendDocumentBytes(request, first.type, merged ?? first.bytes)
}

function contentType(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : 'application/json'
}

function mergeJson(documents: readonly Buffer[]): Buffer {
  const parsed = documents.map((bytes) => JSON.parse(bytes.toString('utf8')) as Record<string, unknown>)
  return Buffer.from(JSON.stringify(mergeOpenApi(parsed)))
}

async function sendDocumentBytes(request: ProxyRequest, type: string, bytes: Buffer): Promise<void> {
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32).toUpperCase()}"`
  if (request.request.incoming.headers['if-none-match'] === etag) {
    request.response.writeHead(304, { etag }).end()
    return
  }
  await sendBytes(request, { headers: { 'content-type': type, etag, vary: 'Accept' } }, bytes)
}

export interface OpenApiIndex {
  readonly paths: Readonly<Record<string, unknown>>
}

/** Under each path the first member's entry; its `serverRelativeURL` begins with /openapi/v3, so clients keep our prefix. */
export async function readOpenApiIndex(
  members: readonly Member[],
  { clock }: OpenApiOptions,
  signal: AbortSignal,
): Promise<OpenApiIndex> {
  const outcomes = await mapParallel(members, PARALLEL_MEMBERS, (member) => readIndex(member, clock, signal))
  const found = outcomes.filter((outcome): outcome is OpenApiIndex => !(outcome instanceof MemberFault))
  if (found.length === 0)
    throw unanswered(
      outcomes.filter((outcome) => outcome instanceof MemberFault),
      [],
    )
  return { paths: firstOfEach(found.map(({ paths }) => paths)) }
}

async function readIndex(member: Member, clock: Clock, signal: AbortSignal): Promise<OpenApiIndex | MemberFault> {
  try {
    return await readMember(member, '/openapi/v3', { clock, signal, accept: 'application/json' }, async (response) => {
      const { paths = {} } = JSON.parse((await response.bytes()).toString('utf8')) as Partial<OpenApiIndex>
      return { paths }
    })
  } catch (error) {
    if (error instanceof MemberFault) return error
    throw error
  }
}

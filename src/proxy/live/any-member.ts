/** Paths that are no resource and the same in every cluster: `/version`, `/openapi`, health. One member answers. */
import type { Member, MemberResponse } from '../../fleet/member.ts'
import type { Clock } from '../../util/clock.ts'
import type { ProxyRequest } from '../plugin.ts'
import { faultOfError, faultOfResponse, MemberFault, unanswered } from './member-fault.ts'
import { forwardedHeaders, relay } from './relay.ts'
import { withDeadline } from '../../http/deadline.ts'

const PUBLIC = /^\/(version|healthz|livez|readyz)(\/.*)?$|^\/openapi\/v[23](\/.*)?$/

export function isPublicPath(path: string): boolean {
  return PUBLIC.test(path)
}

/** A member that takes longer is passed over for the next. */
const HEAD_MS = 5_000
const WHOLE_MS = 30_000

export interface AnyMemberOptions {
  readonly clock: Clock
}

/**
 * What another member may well answer: our credentials there are wrong or know too little (its own affair, not the
 * caller's), it has no such path, it is busy.
 */
const PASSED_OVER: ReadonlySet<number> = new Set([401, 403, 404, 408, 429])

/** Asks the members in order until one has an answer, or a refusal that the request itself has earned. */
export async function relayFromAny(
  request: ProxyRequest,
  members: readonly Member[],
  { clock }: AnyMemberOptions,
): Promise<void> {
  const faults: MemberFault[] = []
  for (const member of members) {
    const deadline = withDeadline(WHOLE_MS, clock, request.request.signal)
    try {
      const answer = await ask(request, member, deadline.signal)
      return await relay(request, answer)
    } catch (error) {
      const fault = deadline.signal.aborted ? late(member) : faultOfError(member.facts.name, error)
      if (request.response.headersSent) throw unanswered([fault], [])
      faults.push(fault)
    } finally {
      deadline.dispose()
    }
  }
  throw unanswered(faults, [])
}

function late({ facts }: Member): MemberFault {
  return new MemberFault(facts.name, undefined, 'it did not answer in time')
}

async function ask(request: ProxyRequest, { facts, client }: Member, signal: AbortSignal): Promise<MemberResponse> {
  const answer = await client.request({
    method: 'GET',
    path: request.path + queryFor(request),
    headers: forwardedHeaders(request),
    headersTimeoutMs: HEAD_MS,
    signal,
  })
  if (PASSED_OVER.has(answer.status) || answer.status >= 500) throw await faultOfResponse(facts.name, answer)
  return answer
}

/**
 * `hash` names one member's edition of an OpenAPI document; to another, a server answers with a redirect that would lose
 * our prefix. Without it everyone answers with what it has.
 */
function queryFor({ path, request: { rawQuery } }: ProxyRequest): string {
  if (rawQuery === '') return ''
  if (!path.startsWith('/openapi/v3')) return `?${rawQuery}`
  const query = new URLSearchParams(rawQuery)
  query.delete('hash')
  return query.size === 0 ? '' : `?${query.toString()}`
}

/** Why a member gave no usable answer to a live read. */
import { isMemberError } from '../../fleet/member-error.ts'
import type { MemberResponse } from '../../fleet/member.ts'
import { redact } from '../../fleet/redact.ts'
import type { ClusterFreshness } from '../../http/freshness.ts'
import { isMalformed } from './malformed.ts'
import type { ClusterName } from '../../kube/names.ts'
import { statusFrom } from '../../kube/status-body.ts'
import { badRequest, expired, type Status, StatusError } from '../../kube/status-error.ts'

export class MemberFault extends Error {
  readonly cluster: ClusterName
  /** The member's HTTP status; undefined where there was no answer. */
  readonly http: number | undefined
  /** What the member gave, with its 410, to go on with a list; else empty. */
  readonly continue: string

  constructor(
    cluster: ClusterName,
    http: number | undefined,
    message: string,
    cause?: unknown,
    continueToken: string = '',
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'MemberFault'
    this.cluster = cluster
    this.http = http
    this.continue = continueToken
  }
}

const STATUS_BYTES = 64 * 1024

/** The fault that an answer other than 200 is. Reads its body. */
export async function faultOfResponse(cluster: ClusterName, response: MemberResponse): Promise<MemberFault> {
  const body = await response.bytes(STATUS_BYTES).catch(() => Buffer.alloc(0))
  const said = statusOf(body)
  const message = said?.message === undefined ? `it answered ${response.status}` : redact(said.message)
  return new MemberFault(cluster, response.status, message, undefined, said?.metadata.continue)
}

function statusOf(body: Buffer): Status | undefined {
  try {
    return statusFrom(JSON.parse(body.toString('utf8')))
  } catch {
    return undefined // a proxy's page, or nothing: the number says enough
  }
}

/** The fault that an error of the member client, or an answer that makes no sense, is; anything else is thrown on. */
export function faultOfError(cluster: ClusterName, error: unknown): MemberFault {
  if (error instanceof MemberFault) return error
  if (isMemberError(error) || isMalformed(error)) return new MemberFault(cluster, undefined, error.message, error)
  throw error
}

export function absenceOf({ cluster, message }: MemberFault): ClusterFreshness {
  return { cluster, state: 'missing', reason: message }
}

/** The error of a read that nobody answered: what they all say, or 503 with each one's reason. */
export function unanswered(faults: readonly MemberFault[], absent: readonly ClusterFreshness[]): StatusError {
  const [first] = faults
  const agreed = faults.every(({ http }) => http === first?.http) && absent.length === 0
  if (first !== undefined && agreed) {
    switch (first.http) {
      case 400:
        return badRequest(first.message)
      case 403:
        return new StatusError('forbidden', first.message)
      case 404:
        return new StatusError('notFound', first.message)
      case 410:
        return expired(first.message)
      // Too long, in whole or its headers: asking again would not help.
      case 413:
      case 414:
      case 431:
        return badRequest(`the request is too long for the member clusters: ${first.message}`)
      default:
    }
  }
  const reasons = [...faults.map(absenceOf), ...absent].map(({ cluster, reason }) => `${cluster}: ${reason ?? ''}`)
  return new StatusError('serviceUnavailable', `no member cluster answered: ${reasons.slice(0, 8).join('; ')}`, {
    details: { retryAfterSeconds: 1 },
  })
}

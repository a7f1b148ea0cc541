/** Reads what a member's refusal says: its `Status`, and when to come back. */
import { redact } from '../fleet/redact.ts'
import type { MemberResponse } from '../fleet/member.ts'
import type { Status } from '../kube/status-error.ts'
import { ReflectorError, codeOfStatus, type ReflectorPhase } from './reflector-error.ts'

const STATUS_LIMIT = 256 * 1024 // bytes; a Status is a few hundred, a proxy's error page may be longer
const LONGEST_WAIT_MS = 300_000 // whatever a Retry-After claims

/** The error for an answer that is not 200. Reads the body, which frees the connection. */
export async function answerError(
  name: string,
  phase: ReflectorPhase,
  response: MemberResponse,
): Promise<ReflectorError> {
  const { status } = response
  const retryAfterMs = retryAfter(response.headers['retry-after'])
  const message = messageOf(await response.bytes(STATUS_LIMIT).catch(() => Buffer.alloc(0)))
  return new ReflectorError(codeOfStatus(status, retryAfterMs), phase, `${name}: ${status} ${message}`.trimEnd(), {
    httpStatus: status,
    retryAfterMs,
  })
}

/** The error for an ERROR event inside a watch. */
export function eventError(name: string, status: Status): ReflectorError {
  const seconds = status.details?.retryAfterSeconds
  const retryAfterMs = seconds === undefined ? undefined : bounded(seconds * 1_000)
  const gone = status.reason === 'Expired' || status.reason === 'Gone'
  const code = gone ? 'expired' : codeOfStatus(status.code, retryAfterMs)
  const text = redact(status.message ?? status.reason ?? '')
  return new ReflectorError(code, 'watch', `${name}: ${status.code} ${text}`.trimEnd(), {
    httpStatus: status.code,
    retryAfterMs,
  })
}

/** Seconds, as Kubernetes sends it. Dates (a load balancer's) are not read: the backoff decides then. */
function retryAfter(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header
  if (text === undefined || !/^\s*[0-9]+\s*$/.test(text)) return undefined
  return bounded(Number(text) * 1_000)
}

function bounded(ms: number): number {
  return Math.min(Math.max(0, ms), LONGEST_WAIT_MS)
}

function messageOf(body: Buffer): string {
  const text = body.toString('utf8')
  try {
    const status = JSON.parse(text) as { message?: unknown }
    if (typeof status.message === 'string') return redact(status.message)
  } catch {
    // Not a Status: a proxy's page, or nothing.
  }
  return redact(text.replace(/<[^>]*>/g, ' '))
}

/** What a reflector does after each kind of failure: where it goes on, how fast, and whether good news may wake it. */
import type { MemberErrorCode } from '../fleet/member-error.ts'
import type { ReflectorErrorCode, ReflectorPhase } from './reflector-error.ts'

export interface RetryPolicy {
  /** Where to go on when the failure was not in a LIST (after a failed LIST comes another). */
  readonly next: ReflectorPhase
  /** Retried after five seconds, then up to every five minutes: only an administrator can mend it. */
  readonly slow: boolean
  /** The wait ends early when the member answers somebody else again. */
  readonly wakes: boolean
}

const relist: RetryPolicy = { next: 'list', slow: false, wakes: false }
const resume: RetryPolicy = { next: 'watch', slow: false, wakes: false }
/** The connection is to blame; the member behind it may have been replaced meanwhile. */
const reconnect: RetryPolicy = { next: 'verify', slow: false, wakes: true }

const POLICIES: Readonly<Record<ReflectorErrorCode | MemberErrorCode, RetryPolicy>> = {
  expired: relist,
  regressed: relist,
  throttled: resume,
  serverError: resume,
  malformed: resume,
  shortWatch: resume,
  tooLarge: resume,
  rejected: resume,
  refused: reconnect,
  dns: reconnect,
  tls: reconnect,
  proxy: reconnect,
  timeout: reconnect,
  closed: reconnect,
  protocol: reconnect,
  tooMany: { next: 'list', slow: true, wakes: false },
  forbidden: { next: 'verify', slow: true, wakes: false },
  notFound: { next: 'list', slow: true, wakes: false },
  unauthorized: { next: 'verify', slow: true, wakes: true },
  auth: { next: 'verify', slow: true, wakes: true },
  unreachable: { next: 'verify', slow: true, wakes: true },
}

export function policyOf(code: ReflectorErrorCode | MemberErrorCode): RetryPolicy {
  return POLICIES[code]
}

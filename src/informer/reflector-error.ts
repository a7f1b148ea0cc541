/** Why a LIST or WATCH that the member did answer brought nothing usable. No answer at all is a `MemberError` (fleet/). */
import { isMemberError, type MemberErrorCode } from '../fleet/member-error.ts'
import { gvrKey, type GroupVersionResource } from '../kube/group-version.ts'
import { MalformedError } from '../kube/malformed-error.ts'

/**
 * `expired` 410 as HTTP status or ERROR event · `throttled` 429, or a 5xx that says when to come back · `unauthorized` 401 ·
 * `forbidden` 403 · `notFound` 404 or 405: the member does not serve this resource · `serverError` any other status ·
 * `malformed` the body is no list or no event stream · `shortWatch` a watch that ended at once and brought nothing ·
 * `regressed` the member stands at an older version than we have seen of it: its history was replaced · `tooMany` it has more
 * objects than are kept of one resource.
 */
export type ReflectorErrorCode =
  | 'expired'
  | 'throttled'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'serverError'
  | 'malformed'
  | 'shortWatch'
  | 'regressed'
  | 'tooMany'

export type ReflectorPhase = 'list' | 'verify' | 'watch'

export interface ReflectorErrorOptions {
  readonly httpStatus?: number | undefined
  /** What the member asked us to wait; undefined where it did not. */
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

export class ReflectorError extends Error {
  readonly code: ReflectorErrorCode
  readonly phase: ReflectorPhase
  readonly httpStatus: number | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: ReflectorErrorCode, phase: ReflectorPhase, message: string, options: ReflectorErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ReflectorError'
    this.code = code
    this.phase = phase
    this.httpStatus = options.httpStatus
    this.retryAfterMs = options.retryAfterMs
  }
}

/** There is no room for an object more of this resource of this cluster. */
export function tooManyObjects(
  { cluster, gvr }: { readonly cluster: string; readonly gvr: GroupVersionResource },
  limit: number,
): ReflectorError {
  const message = `${cluster}/${gvrKey(gvr)}: has more than the ${limit} objects that are kept of one resource`
  return new ReflectorError('tooMany', 'list', message)
}

/** The code of a member's fault, which is retried; undefined for anything else, which is a fault of ours. */
export function faultCode(error: unknown): ReflectorErrorCode | MemberErrorCode | undefined {
  if (error instanceof ReflectorError || isMemberError(error)) return error.code
  if (error instanceof MalformedError) return 'malformed'
  return undefined
}

const CODES: Readonly<Record<number, ReflectorErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  405: 'notFound',
  410: 'expired',
  429: 'throttled',
}

/** For a status the member answered. A 5xx with a Retry-After counts as throttled, as client-go takes it. */
export function codeOfStatus(httpStatus: number, retryAfterMs: number | undefined): ReflectorErrorCode {
  if (httpStatus >= 500 && retryAfterMs !== undefined) return 'throttled'
  return CODES[httpStatus] ?? 'serverError'
}

/** What an engine answers instead of what was asked, in our words. Nothing of a request stands in them: no credentials. */
import { badRequest, StatusError } from '../../kube/status-error.ts'
import { BackendStoreError, type BackendStoreErrorCode } from '../errors.ts'

/** `status` 0: no answer. `type` as engines name their exceptions, '' where there is none. */
export class EngineError extends Error {
  readonly status: number
  readonly type: string

  constructor(status: number, type: string, message: string) {
    super(message)
    this.name = 'EngineError'
    this.status = status
    this.type = type
  }
}

export function isEngineError(error: unknown, ...types: readonly string[]): error is EngineError {
  return error instanceof EngineError && (types.length === 0 || types.includes(error.type))
}

export interface ErrorBody {
  readonly type?: unknown
  readonly reason?: unknown
  readonly root_cause?: readonly ErrorBody[]
  readonly caused_by?: ErrorBody
}

/** The body of an answer with a status of 400 and above. */
export function engineError(status: number, body: unknown): EngineError {
  const error = typeof body === 'object' && body !== null ? (body as { error?: unknown }).error : undefined
  if (typeof error !== 'object' || error === null) return failureError(status, failuresOf(body))
  const cause = (error as ErrorBody).root_cause?.[0] ?? (error as ErrorBody)
  return new EngineError(status, typeText(cause), reasonText(cause))
}

/** What an engine tells of parts of what was asked: a cause and a status, or only words. */
export function failureError(status: number, failures: readonly unknown[]): EngineError {
  const [first] = failures
  if (typeof first === 'string') return new EngineError(503, '', shortened(first))
  const { cause, status: own } = (first ?? {}) as { readonly cause?: ErrorBody; readonly status?: number }
  if (typeof cause !== 'object' || cause === null) return new EngineError(status, '', `HTTP ${status}`)
  return new EngineError(own ?? status, typeText(cause), reasonText(cause))
}

function failuresOf(body: unknown): readonly unknown[] {
  const failures = typeof body === 'object' && body !== null ? (body as { failures?: unknown }).failures : undefined
  return Array.isArray(failures) ? failures : []
}

/** The type and the innermost reason of an engine's error, in a line of bounded length. */
export function reasonText(error: ErrorBody): string {
  let inner = error
  while (inner.caused_by?.reason !== undefined && inner.caused_by.reason !== null) inner = inner.caused_by
  return shortened(`${typeText(inner) || typeText(error)}: ${typeof inner.reason === 'string' ? inner.reason : ''}`)
}

function shortened(reason: string): string {
  const text = reason.replace(/\s+/g, ' ')
  return text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text
}

const MAX_REASON = 300

export function typeText({ type }: ErrorBody): string {
  return typeof type === 'string' ? type : ''
}

const BLOCKED = 'cluster_block_exception'

/** Ours: a client found that what answers is another product. */
export const OTHER_PRODUCT = 'product_not_supported'

const MESSAGES: Partial<Record<BackendStoreErrorCode, string>> = {
  unreachable: 'the search engine does not answer',
  unavailable: 'the search engine is not available',
  overloaded: 'the search engine has too much to do',
  unauthorized: 'the search engine does not accept the credentials',
  forbidden: 'the search engine does not allow it',
  readOnly: 'the search engine only lets itself be read',
  unsupported: 'not a supported search engine',
}

export function codeOf({ status, type }: Pick<EngineError, 'status' | 'type'>): BackendStoreErrorCode {
  if (type === OTHER_PRODUCT) return 'unsupported'
  if (type === BLOCKED) return status === 429 ? 'full' : status === 403 ? 'readOnly' : 'unavailable'
  switch (status) {
    case 0:
    case 408:
      return 'unreachable'
    case 401:
      return 'unauthorized'
    case 403:
      return 'forbidden'
    case 429:
      return 'overloaded'
    default:
      return status >= 500 ? 'unavailable' : 'failed'
  }
}

export function toStoreError(error: unknown): BackendStoreError {
  if (error instanceof BackendStoreError) return error
  const code = error instanceof EngineError ? codeOf(error) : 'failed'
  const detail = error instanceof Error ? error.message : String(error)
  return new BackendStoreError(code, `${MESSAGES[code] ?? 'the search engine failed'}: ${detail}`)
}

/** A search that the engine takes for wrong is one that cannot be asked: too large, a pattern too hard to compile. */
export function toSearchError(error: unknown): Error {
  if (error instanceof StatusError) return error
  if (isEngineError(error) && error.status === 400) {
    return badRequest(`the search engine cannot answer this query: ${error.message}`)
  }
  return toStoreError(error)
}

/** What engines say of the request itself: of others they might name what documents hold. */
const ABOUT_REQUEST: ReadonlySet<string> = new Set([
  'illegal_argument_exception',
  'invalid_aggregation_path',
  'number_format_exception',
  'parse_exception',
  'parsing_exception',
  'query_shard_exception',
  'too_many_clauses',
  'too_many_nested_clauses',
  'x_content_parse_exception',
])

/** Between brackets or quotes engines put what they speak of. */
const QUOTED = /\[[^[\]]*\]|"[^"]*"/g

/**
 * As `toSearchError`, of a search in the engine's own language: what the engine quotes is shown where it stands in what was
 * asked, so that nothing of documents is told.
 */
export function toNativeError(error: unknown, asked: object): Error {
  if (!isEngineError(error) || error.status !== 400) return toSearchError(error)
  const request = JSON.stringify(asked)
  const type = error.type === '' ? 'an error' : error.type
  if (!ABOUT_REQUEST.has(error.type)) return badRequest(`the search engine cannot answer this query: ${type}`)
  const text = error.message.replace(QUOTED, (quoted) => {
    const inner = JSON.stringify(quoted.slice(1, -1)).slice(1, -1)
    return inner !== '' && request.includes(inner) ? quoted : `${quoted.charAt(0)}…${quoted.at(-1) ?? ''}`
  })
  return badRequest(`the search engine cannot answer this query: ${text}`)
}

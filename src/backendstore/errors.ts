/** What can go wrong with a backend store. Codes, never texts, decide what is done about it. */

/**
 * All but `closed` are tried again.
 *
 * - Of any store: `full`: no space left; `closed`: used after `close`; `failed`: anything else, a fault of ours.
 * - Of an embedded one: `busy`: another process holds it; `io`: the medium fails; `corrupt`: what is stored cannot be read.
 * - Of an engine: `unreachable`: no answer, or none in time; `unavailable`: 5xx; `overloaded`: 429; `unauthorized`: 401, or no
 *   credentials; `forbidden`: 403; `readOnly`: 403 `cluster_block_exception`; `unsupported`: not such an engine, or not such
 *   a version.
 */
export const BACKEND_STORE_ERROR_CODES = [
  'full',
  'busy',
  'io',
  'corrupt',
  'closed',
  'failed',
  'unreachable',
  'unavailable',
  'overloaded',
  'unauthorized',
  'forbidden',
  'readOnly',
  'unsupported',
] as const

export type BackendStoreErrorCode = (typeof BACKEND_STORE_ERROR_CODES)[number]

export class BackendStoreError extends Error {
  readonly code: BackendStoreErrorCode

  constructor(code: BackendStoreErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'BackendStoreError'
    this.code = code
  }
}

export function isBackendStoreError(error: unknown, code?: BackendStoreErrorCode): error is BackendStoreError {
  return error instanceof BackendStoreError && (code === undefined || error.code === code)
}

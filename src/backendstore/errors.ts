/** What can go wrong with a backend store. Codes, never texts, decide what is done about it. */

/**
 * `full`: no space left, tried again later; `busy`: another process holds it; `io`: the medium fails; `corrupt`: what is
 * stored cannot be read (an embedded store is made anew at the next start); `closed`: used after `close`; `failed`:
 * anything else, a fault of ours.
 */
export type BackendStoreErrorCode = 'full' | 'busy' | 'io' | 'corrupt' | 'closed' | 'failed'

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

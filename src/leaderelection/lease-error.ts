/** Why the Lease could not be read or written. */

/**
 * `conflict` somebody else wrote it first · `refused` the control plane does not allow it (no right, no such namespace) ·
 * `unavailable` no answer, not in time, or 429 and 5xx: it may have been written nevertheless.
 */
export type LeaseErrorCode = 'conflict' | 'refused' | 'unavailable'

export class LeaseError extends Error {
  readonly code: LeaseErrorCode

  constructor(code: LeaseErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'LeaseError'
    this.code = code
  }
}

export function isLeaseError(error: unknown, code?: LeaseErrorCode): error is LeaseError {
  return error instanceof LeaseError && (code === undefined || error.code === code)
}

/**
 * Errors as Kubernetes says them: one table from code to HTTP status and reason, one error class, one constructor and
 * one predicate for each code. docs/errors.md is held equal to the table by a test.
 * Source: apimachinery pkg/api/errors and pkg/apis/meta/v1 StatusReason*.
 */
export const STATUS_CODES = {
  badRequest: {
    http: 400,
    reason: 'BadRequest',
    meaning: 'The request itself is malformed: a selector, a token, a body.',
  },
  unauthorized: { http: 401, reason: 'Unauthorized', meaning: 'No identity could be established.' },
  forbidden: { http: 403, reason: 'Forbidden', meaning: 'The caller may not do this.' },
  notFound: { http: 404, reason: 'NotFound', meaning: 'The object, resource or path does not exist.' },
  methodNotAllowed: { http: 405, reason: 'MethodNotAllowed', meaning: 'The resource does not support the verb.' },
  notAcceptable: { http: 406, reason: 'NotAcceptable', meaning: 'None of the media types asked for is spoken here.' },
  alreadyExists: { http: 409, reason: 'AlreadyExists', meaning: 'An object of that name exists.' },
  conflict: { http: 409, reason: 'Conflict', meaning: 'A version is stale, or several clusters hold the object.' },
  expired: { http: 410, reason: 'Expired', meaning: 'The resourceVersion or continue token is too old; list again.' },
  requestEntityTooLarge: { http: 413, reason: 'RequestEntityTooLarge', meaning: 'The body exceeds the limit.' },
  unsupportedMediaType: { http: 415, reason: 'UnsupportedMediaType', meaning: 'The body is of a type not taken here.' },
  invalid: {
    http: 422,
    reason: 'Invalid',
    meaning: 'The object or the options fail validation; every fault is listed.',
  },
  tooManyRequests: { http: 429, reason: 'TooManyRequests', meaning: 'Retry after the seconds in Retry-After.' },
  internal: { http: 500, reason: 'InternalError', meaning: 'A fault of Fleetsearch; it is counted and logged.' },
  notImplemented: { http: 501, reason: 'NotImplemented', meaning: 'Not served by this version.' },
  badGateway: { http: 502, reason: 'BadGateway', meaning: 'A member cluster answered something unusable.' },
  serviceUnavailable: {
    http: 503,
    reason: 'ServiceUnavailable',
    meaning: 'Not ready, or a member cluster cannot be reached.',
  },
  timeout: {
    http: 504,
    reason: 'Timeout',
    meaning: 'The answer did not come in time, or the version is from the future.',
  },
} as const satisfies Record<string, { http: number; reason: string; meaning: string }>

export type StatusCode = keyof typeof STATUS_CODES

/** One fault of an `Invalid` Status. `field` is a path such as `spec.resourceSelectors[0].apiVersion`. */
export interface StatusCause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** `metav1.Status` as it goes over the wire. */
export interface Status {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string }
  readonly status: 'Failure' | 'Success'
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  readonly code: number
}

export interface StatusErrorOptions {
  readonly details?: StatusDetails
  /** A continue token that the client can go on with (410 on lists). */
  readonly continueToken?: string
  readonly cause?: unknown
}

/** Thrown anywhere below a request; the HTTP layer renders it. `message` is shown to the caller: no secrets in it. */
export class StatusError extends Error {
  readonly code: StatusCode
  readonly details: StatusDetails | undefined
  readonly continueToken: string | undefined

  constructor(code: StatusCode, message: string, options: StatusErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StatusError'
    this.code = code
    this.details = options.details
    this.continueToken = options.continueToken
  }

  get http(): number {
    return STATUS_CODES[this.code].http
  }

  toStatus(): Status {
    const { http, reason } = STATUS_CODES[this.code]
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      reason,
      ...(this.details === undefined ? {} : { details: this.details }),
      code: http,
    }
  }
}

export function isStatusError(error: unknown, code?: StatusCode): error is StatusError {
  return error instanceof StatusError && (code === undefined || error.code === code)
}

export const badRequest = (message: string): StatusError => new StatusError('badRequest', message)

/** `pods "web-0" not found`, with the details a client reads. `resource` is plural; the original puts it under `kind`. */
export function notFound(resource: { group: string; resource: string }, name: string): StatusError {
  const kind = resource.resource
  const what = resource.group === '' ? kind : `${kind}.${resource.group}`
  const group = resource.group === '' ? {} : { group: resource.group }
  return new StatusError('notFound', `${what} ${JSON.stringify(name)} not found`, { details: { name, ...group, kind } })
}

/** 410 for a list or watch that starts too far back, or names a cluster that is gone. */
export function expired(message: string, continueToken?: string): StatusError {
  return new StatusError('expired', message, continueToken === undefined ? {} : { continueToken })
}

export const notImplemented = (message: string): StatusError => new StatusError('notImplemented', message)

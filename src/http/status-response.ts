/** Errors on the wire. */
import type { ServerResponse } from 'node:http'
import type { Status } from '../kube/status-error.ts'
import { isStatusError, StatusError } from '../kube/status-error.ts'

export interface StatusOptions {
  /** Repeat the message in a top-level `error`, for scripts made for the original's search/cache. */
  readonly errorField?: boolean
}

/** Ends the response with a Status as JSON. Nothing may have been sent yet. */
export function sendStatus(response: ServerResponse, status: Status, options: StatusOptions = {}): void {
  const shown = options.errorField ? { ...status, error: status.message ?? '' } : status
  const body = Buffer.from(`${JSON.stringify(shown)}\n`)
  const retryAfter = status.details?.retryAfterSeconds
  response.writeHead(status.code, {
    'cache-control': 'no-cache, private',
    'content-type': 'application/json',
    'content-length': body.length,
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  })
  response.end(body)
}

/** The Status of anything thrown. What is no `StatusError` is our fault: its text stays in the log. */
export function statusOf(error: unknown): Status {
  if (isStatusError(error)) return error.toStatus()
  return new StatusError('internal', 'Internal error occurred: the server could not finish the request').toStatus()
}

/** As a kube-apiserver answers a path that no API serves. */
export function pathNotFound(): StatusError {
  return new StatusError('notFound', 'the server could not find the requested resource', { details: {} })
}

/** `create is not supported on resources of kind "pods"`. */
export function methodNotAllowed(resource: { group: string; resource: string }, verb: string): StatusError {
  const group = resource.group === '' ? {} : { group: resource.group }
  const name = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`
  return new StatusError('methodNotAllowed', `${verb} is not supported on resources of kind ${JSON.stringify(name)}`, {
    details: { ...group, kind: resource.resource },
  })
}

/** Parameters of a request: of its query, or of a JSON object in the body of a POST, whose names and meanings are the same. */
import { badRequest, StatusError } from '../kube/status-error.ts'
import type { ApiRequest } from './api-request.ts'
import { readBytes } from './request-body.ts'

/** A question of thousands of names; the API server's own limit is 3 MiB. */
const MAX_BYTES = 1024 * 1024

/**
 * Values are texts, numbers, booleans, or lists of these. Those of the body go before those of the query. Throws
 * `badRequest`, `unsupportedMediaType`, `requestEntityTooLarge`.
 */
export async function readParameters(request: ApiRequest): Promise<URLSearchParams> {
  if (request.method !== 'POST') return request.query
  const type = (request.incoming.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== '' && type !== 'application/json') {
    throw new StatusError('unsupportedMediaType', 'parameters are taken as application/json')
  }
  const text = (await readBytes(request.incoming, MAX_BYTES)).toString('utf8')
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(text.trim() === '' ? {} : parse(text))) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const shown = textOf(each)
      if (shown === undefined)
        throw badRequest(`${JSON.stringify(name.slice(0, 80))} is no text, number, boolean or list`)
      parameters.append(name, shown)
    }
  }
  for (const name of new Set(request.query.keys())) {
    if (!parameters.has(name)) for (const value of request.query.getAll(name)) parameters.append(name, value)
  }
  return parameters
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

function parse(text: string): object {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badRequest('the body of the request is no JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('the body of the request is no JSON object of parameters')
  }
  return value
}

/**
 * The continue token of a query: where its last page ended. Holds no state of the server and does not expire; a client
 * must not look inside. base64url of JSON `{"q": <sum of query and order>, "now": <ms>, "after": <cursor>}`.
 */
import { crc32 } from 'node:zlib'
import { badRequest } from '../kube/status-error.ts'
import type { SearchCursor } from '../query/search-request.ts'

export interface QueryToken {
  /** Wall clock of the first page: ages in the query count from it, so that all pages are of one result. */
  readonly nowMs: number
  readonly cursor: SearchCursor
}

/** `signature`: all that must be the same on every page. */
export function encodeQueryToken({ nowMs, cursor }: QueryToken, signature: string): string {
  const json = JSON.stringify({ q: crc32(signature), now: nowMs, after: cursor })
  return Buffer.from(json, 'utf8').toString('base64url')
}

/** Undefined for no token. Throws `badRequest` for one that is none, or of another query. */
export function decodeQueryToken(text: string, signature: string): QueryToken | undefined {
  if (text === '') return undefined
  const { q, now, after } = parse(text)
  if (typeof now !== 'number' || !Number.isSafeInteger(now) || now < 0 || now > 8.64e15 || !isCursor(after)) {
    throw badRequest('continue: no continue token of a query')
  }
  if (q !== crc32(signature)) throw badRequest('continue: the token is of another query or order')
  return { nowMs: now, cursor: after }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function isCursor(value: unknown): value is SearchCursor {
  const isKey = (key: unknown): boolean => key === null || typeof key === 'string' || typeof key === 'number'
  return Array.isArray(value) && value.every(isKey)
}

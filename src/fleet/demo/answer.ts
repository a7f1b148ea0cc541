/** Whole answers of a demo API server: JSON with back-pressure, compressed where it is big and the client takes gzip. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { StatusError } from '../../kube/status-error.ts'

/** A kube-apiserver compresses answers above this size, at level 1. */
const GZIP_ABOVE_BYTES = 128 << 10

/** Pieces of a list are joined up to this size before they are written. */
const CHUNK_CHARACTERS = 64 << 10

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendText(response, status, 'application/json', `${JSON.stringify(value)}\n`)
}

export function sendText(response: ServerResponse, status: number, contentType: string, text: string): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

/** Renders what a handler threw: a `StatusError` as it is, anything else as 500. Cuts an answer already under way. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const status = error instanceof StatusError ? error : new StatusError('internal', String(error), { cause: error })
  const retryAfter = status.details?.retryAfterSeconds
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
  sendJson(response, status.http, status.toStatus())
}

/** Streams pieces of one JSON document. The first chunk is made before the head, so that a refusal still is one. */
export async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  pieces: Iterator<string, unknown>,
): Promise<void> {
  const first = nextChunk(pieces)
  const whole = first.length < CHUNK_CHARACTERS
  const zip = !whole && first.length * 2 > GZIP_ABOVE_BYTES && acceptsGzip(request)
  response.writeHead(200, { 'content-type': 'application/json', ...(zip ? { 'content-encoding': 'gzip' } : {}) })
  if (whole) {
    response.end(first)
    return
  }
  const source = Readable.from(chunks(first, pieces), { objectMode: false })
  if (zip) await pipeline(source, createGzip({ level: 1 }), response)
  else await pipeline(source, response)
}

function* chunks(first: string, rest: Iterator<string, unknown>): Generator<Buffer> {
  for (let chunk = first; chunk !== ''; chunk = nextChunk(rest)) yield Buffer.from(chunk, 'utf8')
}

function nextChunk(pieces: Iterator<string, unknown>): string {
  const parts: string[] = []
  for (let characters = 0; characters < CHUNK_CHARACTERS;) {
    const next = pieces.next()
    if (next.done === true) break
    parts.push(next.value)
    characters += next.value.length
  }
  return parts.join('')
}

function acceptsGzip(request: IncomingMessage): boolean {
  return /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
}

/** What can go wrong between us and a member, one fault for each way it shows on the wire. */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { STATUS_CODES, StatusError, type StatusCode } from '../../src/kube/status-error.ts'
import type { Clock } from '../../src/util/clock.ts'
import { sleep } from '../../src/util/sleep.ts'

export type Fault =
  /** An error Status, e.g. 500, 403, 410, 429. `continueToken` stands in its metadata (410 of a list). */
  | {
      readonly type: 'status'
      readonly code: number
      readonly message?: string
      readonly retryAfterSeconds?: number
      readonly continueToken?: string
    }
  /** A body of your own, as it stands. */
  | {
      readonly type: 'body'
      readonly text: string | Uint8Array
      readonly code?: number
      readonly headers?: Readonly<Record<string, string>>
    }
  /** A JSON body of any size, made piece by piece and no faster than it is read. */
  | { readonly type: 'stream'; readonly pieces: () => Iterable<Uint8Array> }
  /** The connection breaks before any answer. */
  | { readonly type: 'drop' }
  /** No answer ever. */
  | { readonly type: 'stall' }
  /** The real answer, begun after `ms` on the clock. */
  | { readonly type: 'slow'; readonly ms: number }
  /** The real answer, silent for ever after that many bytes of the body. */
  | { readonly type: 'stallAfter'; readonly bytes: number }
  /** The real answer, the connection broken after that many bytes of the body. */
  | { readonly type: 'cutAfter'; readonly bytes: number }
  /** The real answer, its body ended cleanly after that many bytes: truncated JSON that looks whole to HTTP. */
  | { readonly type: 'truncateAfter'; readonly bytes: number }
  /** The real answer in pieces of that many bytes, each in a write of its own. */
  | { readonly type: 'split'; readonly bytes: number }
  /** A watch that is accepted and says 410 in an ERROR event. */
  | { readonly type: 'errorEvent'; readonly code: number; readonly message?: string }

/** True: the fault is the whole answer. False: the API server goes on, its answer changed on the way. */
export async function applyFault(
  fault: Fault,
  response: ServerResponse,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  switch (fault.type) {
    case 'status':
      sendStatus(fault, response)
      return true
    case 'body':
      response.writeHead(fault.code ?? 200, { 'content-type': 'application/json', ...fault.headers })
      response.end(fault.text)
      return true
    case 'stream':
      response.writeHead(200, { 'content-type': 'application/json' })
      Readable.from(fault.pieces(), { objectMode: false }).pipe(response)
      return true
    case 'drop':
      response.socket?.destroy()
      return true
    case 'stall':
      return true
    case 'slow':
      await Promise.race([sleep(fault.ms, clock, signal).catch(() => undefined), closed(response)])
      return response.destroyed
    case 'stallAfter':
    case 'cutAfter':
    case 'truncateAfter':
    case 'split':
      alterBody(fault, response)
      return false
    case 'errorEvent': {
      const status = { ...statusOf(fault.code, fault.message).toStatus(), code: fault.code }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
      return true
    }
    default:
      return fault satisfies never
  }
}

function closed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve)
  })
}

function sendStatus(fault: Extract<Fault, { type: 'status' }>, response: ServerResponse): void {
  const retry = fault.retryAfterSeconds
  const error = statusOf(fault.code, fault.message, retry, fault.continueToken)
  const headers = retry === undefined ? {} : { 'retry-after': String(retry) }
  response.writeHead(fault.code, { 'content-type': 'application/json', ...headers })
  response.end(`${JSON.stringify({ ...error.toStatus(), code: fault.code })}\n`)
}

function statusOf(code: number, message?: string, retryAfterSeconds?: number, continueToken?: string): StatusError {
  const known = (Object.keys(STATUS_CODES) as StatusCode[]).find((name) => STATUS_CODES[name].http === code)
  return new StatusError(known ?? 'internal', message ?? `made to fail with ${code}`, {
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
    ...(continueToken === undefined ? {} : { continueToken }),
  })
}

type BodyFault = Extract<Fault, { bytes: number }>

/** Stands between the API server and its response: only bytes of the body are touched, never the head. */
function alterBody(fault: BodyFault, response: ServerResponse): void {
  const write = response.write.bind(response) as (chunk: Uint8Array, done?: () => void) => boolean
  const end = response.end.bind(response) as () => ServerResponse
  let left = fault.type === 'split' ? Infinity : fault.bytes
  // A length announced for the whole body would give the fault away, or make Node refuse to send less.
  const writeHead = response.writeHead.bind(response) as (code: number, headers: object) => ServerResponse
  response.writeHead = ((code: number, headers: Record<string, unknown> = {}) => {
    const { 'content-length': _length, ...rest } = headers
    return writeHead(code, rest)
  }) as ServerResponse['writeHead']

  let struck = false
  const strike = (): void => {
    if (struck) return
    struck = true
    if (fault.type === 'cutAfter') response.socket?.destroy()
    else if (fault.type === 'truncateAfter') end()
  }
  const pass = (chunk: Buffer): void => {
    if (fault.type === 'split') {
      for (let at = 0; at < chunk.length; at += fault.bytes) write(chunk.subarray(at, at + fault.bytes))
    } else if (left > 0) {
      const part = chunk.subarray(0, left)
      left -= part.length
      write(part, left === 0 ? strike : undefined)
    } else {
      response.flushHeaders()
      strike()
    }
  }
  response.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    pass(toBuffer(chunk))
    const done = rest.find((value) => typeof value === 'function') as (() => void) | undefined
    if (done !== undefined) queueMicrotask(done)
    return true
  }) as ServerResponse['write']
  response.end = ((chunk?: string | Uint8Array | (() => void)) => {
    if (chunk !== undefined && typeof chunk !== 'function') pass(toBuffer(chunk))
    // What is shorter than the fault allows ends as it should; otherwise the fault decides how it ends.
    if (left > 0) end()
    return response
  }) as ServerResponse['end']
}

function toBuffer(chunk: string | Uint8Array): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : Buffer.from(chunk)
}

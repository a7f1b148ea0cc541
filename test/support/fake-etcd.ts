/**
 * A server that speaks gRPC over plain HTTP/2 and answers as a test says, well or badly: what a real etcd does once in a
 * thousand hours, on demand. What real ones do every day is tested on a real one.
 */
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { ProtoWriter, readMessage } from '../../src/registry/etcd/protobuf.ts'

export type Reply =
  | { readonly message: Buffer }
  /** A status of gRPC, in the headers as servers do where there is no message. */
  | { readonly status: number; readonly text?: string }
  /** No answer ever. */
  | 'silence'
  /** The connection is cut. */
  | 'cut'
  /** Bytes as they stand, then the end without a status. */
  | { readonly bytes: Buffer }
  /** A server of something else. */
  | { readonly http: number }

export interface WatchStream {
  /** Of the watch request. */
  readonly start: bigint
  send(message: Buffer): void
  /** Ends with a status of gRPC. */
  end(status: number): void
  cut(): void
  readonly closed: boolean
}

export interface FakeEtcd {
  readonly url: string
  /** Replies to the next unary calls, in their order; afterwards `onCall` answers. */
  readonly script: Reply[]
  onCall: (path: string, request: Buffer) => Reply
  readonly calls: string[]
  readonly watches: WatchStream[]
  readonly connections: number
  close(): Promise<void>
}

export async function startFakeEtcd(): Promise<FakeEtcd> {
  const sessions = new Set<ServerHttp2Session>()
  const script: Reply[] = []
  const calls: string[] = []
  const watches: WatchStream[] = []
  let connections = 0
  const server = createServer()
  server.on('session', (session) => {
    connections += 1
    sessions.add(session)
    session.on('error', () => undefined)
    session.once('close', () => sessions.delete(session))
  })
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined)
    const path = String(headers[':path'])
    if (path.endsWith('/Watch')) {
      stream.once('data', (frame: Buffer) => watches.push(watchStream(stream, frame)))
      return
    }
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      calls.push(path)
      const request = Buffer.concat(chunks).subarray(5)
      answer(stream, script.shift() ?? fake.onCall(path, request))
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const fake: FakeEtcd = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script,
    onCall: () => ({ status: 12, text: 'not scripted' }),
    calls,
    watches,
    get connections() {
      return connections
    },
    async close() {
      for (const session of sessions) session.destroy()
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
      })
    },
  }
  return fake
}

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' }

function answer(stream: ServerHttp2Stream, reply: Reply): void {
  if (reply === 'silence') return
  if (reply === 'cut') {
    stream.session?.destroy()
  } else if ('message' in reply) {
    stream.respond(HEADERS, { waitForTrailers: true })
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': '0' })
    })
    stream.end(framed(reply.message))
  } else if ('bytes' in reply) {
    stream.respond(HEADERS)
    stream.end(reply.bytes)
  } else if ('http' in reply) {
    stream.respond({ ':status': reply.http, 'content-type': 'text/html' })
    stream.end('<html>')
  } else {
    const text = encodeURIComponent(reply.text ?? '')
    stream.respond({ ...HEADERS, 'grpc-status': String(reply.status), 'grpc-message': text }, { endStream: true })
  }
}

function watchStream(stream: ServerHttp2Stream, frame: Buffer): WatchStream {
  let start = 0n
  readMessage(frame.subarray(5), {
    bytes: {
      1: (create) => {
        readMessage(create, { numbers: { 3: (value) => (start = value) } })
      },
    },
  })
  stream.on('data', () => undefined)
  stream.respond(HEADERS, { waitForTrailers: true })
  return {
    start,
    send: (message) => stream.write(framed(message)),
    end(status) {
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'grpc-status': String(status) })
      })
      stream.end()
    },
    cut: () => stream.session?.destroy(),
    get closed() {
      return stream.closed || stream.destroyed
    },
  }
}

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

export interface FakeKeyValue {
  readonly key: string
  readonly value: string
  readonly revision: number
  readonly created?: number
}

function keyValue({ key, value, revision, created = revision }: FakeKeyValue): Buffer {
  return new ProtoWriter().bytes(1, key).number(2, created).number(3, revision).bytes(5, value).finish()
}

function header(revision: number, cluster = 1): Buffer {
  return new ProtoWriter().number(1, cluster).number(3, revision).finish()
}

export function rangeReply(revision: number, kvs: readonly FakeKeyValue[] = [], more = false): Reply {
  const writer = new ProtoWriter().message(1, header(revision))
  for (const kv of kvs) writer.message(2, keyValue(kv))
  return { message: writer.bool(3, more).finish() }
}

/** Not done where something else was found. */
export function writeReply(revision: number, found?: FakeKeyValue | 'nothing'): Reply {
  const writer = new ProtoWriter().message(1, header(revision)).bool(2, found === undefined)
  if (found === undefined) return { message: writer.finish() }
  const range = new ProtoWriter().message(1, header(revision))
  if (found !== 'nothing') range.message(2, keyValue(found))
  return { message: writer.message(3, new ProtoWriter().message(1, range.finish()).finish()).finish() }
}

export interface FakeWatchAnswer {
  readonly revision: number
  readonly cluster?: number
  readonly created?: boolean
  readonly compacted?: number
  readonly fragment?: boolean
  readonly puts?: readonly FakeKeyValue[]
}

export function watchAnswer(answer: FakeWatchAnswer): Buffer {
  const { revision, cluster, created = false, compacted = 0, fragment = false, puts = [] } = answer
  const writer = new ProtoWriter()
    .message(1, header(revision, cluster))
    .bool(3, created)
    .bool(4, compacted > 0)
    .number(5, compacted)
    .bool(7, fragment)
  for (const kv of puts) writer.message(11, new ProtoWriter().message(2, keyValue(kv)).finish())
  return writer.finish()
}

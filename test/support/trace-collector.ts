/** A collector of traces: takes OTLP over gRPC, as the one that an operator runs, and keeps the spans it was sent. */
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { readFields, textOf, type ProtobufFields } from '../../src/kube/protobuf.ts'

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty of the first of a trace. */
  readonly parentSpanId: string
  readonly name: string
  /** Strings as they are; numbers are not read. */
  readonly attributes: Readonly<Record<string, string>>
  readonly service: string
}

export interface TraceCollector {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** What came, byte for byte: nothing secret may be in it. */
  readonly raw: readonly Buffer[]
  close(): Promise<void>
}

/** `silent`: takes connections and calls, and never answers one. */
export async function startTraceCollector({ silent = false } = {}): Promise<TraceCollector> {
  const spans: CollectedSpan[] = []
  const raw: Buffer[] = []
  const sessions = new Set<ServerHttp2Session>()
  const server = createServer()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => undefined)
    session.once('close', () => sessions.delete(session))
  })
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined)
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const body = Buffer.concat(chunks)
      raw.push(body)
      if (silent) return
      const known = headers[':path'] === '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
      if (known && body[0] === 0) spans.push(...spansIn(body.subarray(5)))
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': known ? '0' : '12' }))
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.end(Buffer.alloc(5))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    raw,
    async close() {
      for (const session of sessions) session.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Source: opentelemetry-proto, collector/trace/v1/trace_service.proto, trace/v1/trace.proto. */
function spansIn(request: Buffer): CollectedSpan[] {
  return messages(fields(request), 1).flatMap((resourceSpans) => {
    const [resource = NOTHING] = messages(resourceSpans, 1)
    const service = attributesOf(resource, 1)['service.name'] ?? ''
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: textOf(span, 5),
        attributes: attributesOf(span, 9),
        service,
      }))
  })
}

const NOTHING: ProtobufFields = new Map()

function fields(bytes: Buffer): ProtobufFields {
  const read = readFields(bytes)
  if (read === undefined) throw new Error('the exporter sent what is no message')
  return read
}

function messages(parent: ProtobufFields, number: number): ProtobufFields[] {
  return (parent.get(number) ?? []).map(fields)
}

function hex(span: ProtobufFields, number: number): string {
  return span.get(number)?.at(-1)?.toString('hex') ?? ''
}

function attributesOf(parent: ProtobufFields, number: number): Record<string, string> {
  const pairs = messages(parent, number).map((pair) => {
    const [value = NOTHING] = messages(pair, 2)
    return [textOf(pair, 1), textOf(value, 1)] as const
  })
  return Object.fromEntries(pairs)
}

/**
 * Traces of requests: a span for each request that is served and for each question it makes us ask of others. As long as
 * no tracer is installed nothing of this costs more than a look at a variable, and nothing of OpenTelemetry is loaded.
 *
 * The tracer is one for the process, as OpenTelemetry's own API has it: who asks others (clients of members, of etcd, of a
 * store) need not be handed one. Spans find their parent by the asynchronous context they run in.
 *
 * Attributes hold no secrets and nothing of objects but their names: no query, no header but the user agent, no body.
 */
export type SpanKind = 'server' | 'client'

export type Attributes = Readonly<Record<string, string | number | boolean>>

export interface SpanStart {
  /** Of few values: `GET /apis/…/search/cache`. */
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
  /** Of who asked: the trace goes on there. */
  readonly caller?: TraceHeaders
}

/** W3C Trace Context. */
export interface TraceHeaders {
  readonly traceparent?: string
  readonly tracestate?: string
}

export interface Span {
  set(attributes: Attributes): void
  /** It failed; `type` is of few values: a code, a class of errors. */
  fail(type: string): void
}

export interface Tracer {
  /** Runs `work` inside a new span, which ends when its promise is settled. */
  span<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>
  /** Whether there is a span to be the parent of another. */
  readonly active: boolean
  /** For whoever is asked next. */
  headers(): TraceHeaders
}

const NO_SPAN: Span = { set: () => undefined, fail: () => undefined }

let installed: Tracer | undefined

/** Returns how to take it away again. Throws where there is one already. */
export function installTracer(tracer: Tracer): () => void {
  if (installed !== undefined) throw new Error('there is a tracer already')
  installed = tracer
  return () => {
    installed = undefined
  }
}

/** A request that comes in. */
export function traceServer<T>(start: () => SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
  return installed === undefined ? work(NO_SPAN) : installed.span(start(), work)
}

/** A question to somebody else; only inside a request: what runs by itself leaves no spans. */
export function traceClient<T>(start: () => Omit<SpanStart, 'kind'>, work: (span: Span) => Promise<T>): Promise<T> {
  if (installed?.active !== true) return work(NO_SPAN)
  return installed.span({ ...start(), kind: 'client' }, work)
}

/** Headers that carry the trace on; empty outside of one. */
export function traceHeaders(): Readonly<Record<string, string>> {
  return installed?.active === true ? { ...installed.headers() } : {}
}

/** What follows the `proxy` of a Pod, a Service or a Node is an application's, and may hold what should stay there. */
const APPLICATION_PATH = /(\/(?:pods|services|nodes)\/[^/]+\/proxy)\/.*$/

/** A path as a span may show it: without its query. */
export function tracedPath(path: string): string {
  const at = path.indexOf('?')
  return (at === -1 ? path : path.slice(0, at)).replace(APPLICATION_PATH, '$1/…')
}

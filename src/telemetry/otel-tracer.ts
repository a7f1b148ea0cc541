/**
 * Spans to an OpenTelemetry collector by OTLP over gRPC, as a kube-apiserver's. Imported where an endpoint is configured,
 * and only there: the libraries take 20 MiB and a third of a second.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  createNoopMeter,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes as OtelAttributes,
  type Context,
  type Meter,
  type Span as OtelSpan,
  type SpanContext,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import { Counter, type Registry } from './metrics.ts'
import type { Attributes, Span, SpanStart, TraceHeaders, Tracer } from './tracing.ts'

export interface OtelTracerOptions {
  /** `http://HOST:PORT`, or `https://` for TLS. */
  readonly endpoint: string
  readonly sampling: Sampling
  /** `service.name`, `service.version`, … */
  readonly resource: Attributes
  /** Ended spans that wait for the collector; more are dropped, and counted. Default 2,048, as the libraries'. */
  readonly queueSize?: number
  readonly metrics: Registry
}

export interface Sampling {
  /** Of the traces that begin here, how many are recorded: 0 to 1. */
  readonly ratio: number
  /** A caller's decision holds for its trace, whatever the ratio. */
  readonly parentBased: boolean
}

export interface OtelTracer extends Tracer {
  /** Sends what is waiting, for at most `limitMs`, and closes the connection. Never rejects. */
  close(limitMs: number): Promise<void>
}

const QUEUE = 2_048
/** Spans sent at once at most: the libraries' own default. */
const BATCH = 512
/** A collector that does not answer by then has lost the batch: the next one waits behind it. */
const EXPORT_TIMEOUT_MS = 5_000

export function createOtelTracer(options: OtelTracerOptions): OtelTracer {
  const { queueSize = QUEUE } = options
  const exporter = new OTLPTraceExporter({ url: options.endpoint, timeoutMillis: EXPORT_TIMEOUT_MS })
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: queueSize,
    maxExportBatchSize: Math.min(BATCH, queueSize),
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
    selfObsMeterProvider: { getMeter: () => spanMeter(options.metrics) },
  })
  const provider = new TracerProvider({
    sampler: samplerOf(options.sampling),
    resource: resourceFromAttributes({ ...options.resource }),
    spanProcessors: [processor],
  })
  const tracer = provider.getTracer('fleetsearch')
  const contexts = new AsyncLocalStorage<Context>()
  return {
    async span<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
      const parent = start.caller === undefined ? (contexts.getStore() ?? ROOT_CONTEXT) : callerContext(start.caller)
      const kind = start.kind === 'server' ? OtelKind.SERVER : OtelKind.CLIENT
      const span = tracer.startSpan(start.name, { kind, attributes: otelAttributes(start.attributes) }, parent)
      try {
        return await contexts.run(trace.setSpan(parent, span), work, new Recorded(span))
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR })
        span.setAttribute('error.type', errorType(error))
        throw error
      } finally {
        span.end()
      }
    },
    get active() {
      return contexts.getStore() !== undefined
    },
    headers: () => headersOf(trace.getSpanContext(contexts.getStore() ?? ROOT_CONTEXT)),
    async close(limitMs) {
      const ended = provider.shutdown().catch(() => undefined)
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, limitMs).unref())])
      // Where the collector is gone, whatever still waits for it must not hold the process.
      exporter.shutdown().catch(() => undefined)
    },
  }
}

class Recorded implements Span {
  readonly #span: OtelSpan

  constructor(span: OtelSpan) {
    this.#span = span
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(otelAttributes(attributes))
  }

  fail(type: string): void {
    this.#span.setStatus({ code: SpanStatusCode.ERROR })
    this.#span.setAttribute('error.type', type)
  }
}

/** The class or code of an error, never its text. */
function errorType(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code
  if (typeof code === 'string') return code
  return error instanceof Error ? error.name : 'error'
}

function otelAttributes(attributes: Attributes): OtelAttributes {
  return { ...attributes }
}

function samplerOf({ ratio, parentBased }: Sampling): Sampler {
  const root =
    ratio <= 0 ? new AlwaysOffSampler() : ratio >= 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(ratio)
  return parentBased ? new ParentBasedSampler({ root }) : root
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** What is no `traceparent` begins a new trace. Source: w3.org/TR/trace-context. */
function callerContext({ traceparent = '', tracestate }: TraceHeaders): Context {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? []
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags || '0', 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(context) ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT
}

function headersOf(context: SpanContext | undefined): TraceHeaders {
  if (context === undefined || !isSpanContextValid(context)) return {}
  const { traceId, spanId, traceFlags, traceState } = context
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
  const tracestate = traceState?.serialize() ?? ''
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(tracestate === '' ? {} : { tracestate }) }
}

/** What the library counts of its own spans, in /metrics. */
function spanMeter(metrics: Registry): Meter {
  const spans = new Counter({
    name: 'fleetsearch_trace_spans_total',
    help: 'Spans by what became of them: exported, failed (the collector did not take them), dropped (the queue was full).',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  const noop = createNoopMeter()
  return Object.assign(Object.create(noop) as Meter, {
    createCounter: (name: string, options?: object) => {
      if (name !== 'otel.sdk.processor.span.processed') return noop.createCounter(name, options)
      return {
        add(count: number, attributes?: OtelAttributes) {
          const error = attributes?.['error.type']
          spans.inc(
            { outcome: error === undefined ? 'exported' : error === 'queue_full' ? 'dropped' : 'failed' },
            count,
          )
        },
      }
    },
  })
}

/** The audit log and the audit webhook of `serve`. */
import { randomUUID } from 'node:crypto'
import { createAuditor, type Auditor, type AuditSink } from '../apiserver/audit/auditor.ts'
import { BatchSink, type BatchLimits, type BatchWriter } from '../apiserver/audit/batch-sink.ts'
import { LogSink, type LineWriter } from '../apiserver/audit/log-sink.ts'
import { RotatingFile } from '../apiserver/audit/rotating-file.ts'
import { WebhookSink } from '../apiserver/audit/webhook-sink.ts'
import type { MemberClient } from '../fleet/member.ts'
import { Counter, type Registry } from '../telemetry/metrics.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { AuditConfig, AuditLogConfig, AuditWebhookConfig } from './options/audit-config.ts'
import type { Runtime } from './runtime.ts'

export interface AuditParts {
  readonly runtime: Runtime
  readonly metrics: Registry
  readonly lifecycle: Lifecycle
  /** A client of the webhook. */
  readonly connect: (kubeconfig: string) => Promise<MemberClient>
}

/** The webhook has this long to take the last events when the process ends, ms. */
const FLUSH_MS = 3_000
/** A webhook that takes longer has not answered. Source: apiserver pkg/util/webhook (the default of a rest.Config). */
const POST_MS = 30_000
const MAX_ANSWER_BYTES = 64 * 1024

/** Rejects where the log or the kubeconfig cannot be opened. Closed by `lifecycle` after the server has stopped. */
export async function openAudit({ policy, log, webhook }: AuditConfig, parts: AuditParts): Promise<Auditor> {
  const { runtime, metrics } = parts
  const registers = [metrics]
  const errors = new Counter({
    name: 'apiserver_audit_error_total',
    help: 'Audit events that were not written, by the part that failed.',
    labelNames: ['plugin'],
    registers,
  })
  const events = new Counter({ name: 'apiserver_audit_event_total', help: 'Audit events to be written.', registers })
  const sinks: AuditSink[] = []
  if (log !== undefined) sinks.push(openLog(log, errors, parts))
  if (webhook !== undefined) sinks.push(await openWebhook(webhook, errors, parts))
  return createAuditor({
    policy,
    sink: allOf(sinks, events),
    strict: log?.mode === 'blocking-strict' || webhook?.mode === 'blocking-strict',
    newId: randomUUID,
    clock: runtime.clock,
  })
}

/** Taken over where all of them have taken it. */
function allOf(sinks: readonly AuditSink[], events: Counter): AuditSink {
  return {
    log(event) {
      events.inc()
      const taken = sinks.map((sink) => sink.log(event))
      if (taken.every((one) => typeof one === 'boolean')) return taken.every((one) => one)
      return Promise.all(taken).then((all) => all.every((one) => one))
    },
  }
}

function openLog(config: AuditLogConfig, errors: Counter, { runtime, lifecycle }: AuditParts): AuditSink {
  const { format, maxEventBytes, mode, batch } = config
  const { clock, log } = runtime
  const sink = new LogSink({
    writer: writerOf(config, runtime, lifecycle),
    format,
    ...(maxEventBytes === undefined ? {} : { maxEventBytes }),
    errors,
    log,
    clock,
  })
  return mode === 'batch' ? inBatches(sink, batch, errors, runtime, lifecycle) : sink
}

function inBatches(
  writer: BatchWriter,
  limits: BatchLimits,
  errors: Counter,
  { clock }: Runtime,
  lifecycle: Lifecycle,
): AuditSink {
  const batches = new BatchSink(writer, { ...limits, errors, clock })
  lifecycle.onStop('audit batches', () => batches.flush())
  return batches
}

async function openWebhook(
  config: AuditWebhookConfig,
  errors: Counter,
  { runtime, lifecycle, connect }: AuditParts,
): Promise<AuditSink> {
  const client = await connect(config.kubeconfig)
  const stop = new AbortController()
  const { initialBackoffMs, maxEventBytes, maxBatchBytes, mode, batch } = config
  const sink = new WebhookSink({
    post: (body, signal) => post(client, body, signal),
    initialBackoffMs,
    maxEventBytes,
    maxBatchBytes,
    errors,
    signal: stop.signal,
    ...runtime,
  })
  if (mode !== 'batch') {
    lifecycle.onStop('audit webhook', () => {
      stop.abort(new Error('shutting down'))
    })
    return sink
  }
  const batches = new BatchSink(sink, { ...batch, errors, clock: runtime.clock })
  lifecycle.onStop('audit webhook', async (graceMs) => {
    const cancel = runtime.clock.setTimeout(
      () => {
        stop.abort(new Error('shutting down'))
      },
      Math.min(graceMs, FLUSH_MS),
    )
    await batches.flush()
    cancel()
  })
  return batches
}

async function post(client: MemberClient, body: string, signal: AbortSignal): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const answer = await client.request({ method: 'POST', path: '', headers, body, headersTimeoutMs: POST_MS, signal })
  await answer.bytes(MAX_ANSWER_BYTES)
  return answer.status
}

function writerOf(config: AuditLogConfig, { clock, log, print }: Runtime, lifecycle: Lifecycle): LineWriter {
  if (config.path === '-') {
    return {
      write(line) {
        print(`${line}\n`)
      },
    }
  }
  const file = new RotatingFile({
    file: config.path,
    maxBytes: config.maxBytes,
    maxAgeMs: config.maxAgeMs,
    maxBackups: config.maxBackups,
    compress: config.compress,
    nowMs: () => clock.nowMs(),
    onError: (err) => {
      log.error({ err }, 'old audit logs cannot be tidied up')
    },
  })
  lifecycle.onStop('audit log', () => file.close())
  return file
}

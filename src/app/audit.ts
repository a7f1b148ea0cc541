/** The audit log of `serve`. */
import { randomUUID } from 'node:crypto'
import { createAuditor, type Auditor } from '../apiserver/audit/auditor.ts'
import { BatchSink, LogSink, type LineWriter } from '../apiserver/audit/log-sink.ts'
import { RotatingFile } from '../apiserver/audit/rotating-file.ts'
import { Counter, type Registry } from '../telemetry/metrics.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { AuditConfig } from './options/audit-config.ts'
import type { Runtime } from './service.ts'

/** Throws where the log cannot be opened. Closed by `lifecycle` after the server has stopped. */
export function openAuditLog(config: AuditConfig, runtime: Runtime, metrics: Registry, lifecycle: Lifecycle): Auditor {
  const { clock, log } = runtime
  const registers = [metrics]
  const errors = new Counter({
    name: 'apiserver_audit_error_total',
    help: 'Audit events that were not written, by the part that failed.',
    labelNames: ['plugin'],
    registers,
  })
  const events = new Counter({ name: 'apiserver_audit_event_total', help: 'Audit events to be written.', registers })
  const sink = new LogSink({
    writer: writerOf(config, runtime, lifecycle),
    format: config.format,
    ...(config.maxEventBytes === undefined ? {} : { maxEventBytes: config.maxEventBytes }),
    events,
    errors,
    log,
    clock,
  })
  const { policy, mode, batchBufferSize, batchMaxSize, batchMaxWaitMs } = config
  const common = { policy, strict: mode === 'blocking-strict', newId: randomUUID, clock }
  if (mode !== 'batch') return createAuditor({ ...common, sink })
  const batches = new BatchSink(sink, {
    bufferSize: batchBufferSize,
    maxSize: batchMaxSize,
    maxWaitMs: batchMaxWaitMs,
    errors,
    clock,
  })
  lifecycle.onStop('audit batches', () => {
    batches.flush()
  })
  return createAuditor({ ...common, sink: batches })
}

function writerOf(config: AuditConfig, { clock, log, print }: Runtime, lifecycle: Lifecycle): LineWriter {
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

/** Flags of the audit log and of the audit webhook. */
import { readFileSync } from 'node:fs'
import type { BatchLimits } from '../../apiserver/audit/batch-sink.ts'
import { parseAuditPolicy, type AuditPolicy } from '../../apiserver/audit/policy.ts'
import type { FlagReader } from './flag-reader.ts'

export type AuditMode = 'blocking' | 'blocking-strict' | 'batch'

export interface AuditConfig {
  readonly policy: AuditPolicy
  readonly log: AuditLogConfig | undefined
  readonly webhook: AuditWebhookConfig | undefined
}

interface AuditBackendConfig {
  readonly mode: AuditMode
  /** Of mode `batch`. */
  readonly batch: BatchLimits
  /** Undefined: events are never cut. */
  readonly maxEventBytes: number | undefined
}

export interface AuditLogConfig extends AuditBackendConfig {
  /** `-`: standard output. */
  readonly path: string
  readonly format: 'json' | 'legacy'
  /** 0: never rotated, never too old, never too many. */
  readonly maxBytes: number
  readonly maxAgeMs: number
  readonly maxBackups: number
  readonly compress: boolean
}

export interface AuditWebhookConfig extends AuditBackendConfig {
  /** Its current context is the webhook. */
  readonly kubeconfig: string
  readonly initialBackoffMs: number
  /** Undefined: no limit. */
  readonly maxBatchBytes: number | undefined
}

const DAY_MS = 24 * 60 * 60_000
const MEGABYTE = 1024 * 1024
const MODES = ['blocking', 'blocking-strict', 'batch'] as const

/** Undefined where nothing is recorded. */
export function auditConfig(flags: FlagReader, warnings: string[]): AuditConfig | undefined {
  const policy = policyIn(flags)
  const log = logConfig(flags)
  const webhook = webhookConfig(flags)
  const backends = ['audit-log-path', 'audit-webhook-config-file']
  if (log === undefined && webhook === undefined) {
    const missing = backends.map((flag) => `--${flag}`).join(' or ')
    if (policy !== undefined) warnings.push(`--audit-policy-file without ${missing}: nothing is recorded`)
    return undefined
  }
  if (policy === undefined) {
    const given = backends.filter((flag) => flags.text(flag) !== undefined).map((flag) => `--${flag}`)
    warnings.push(`${given.join(', ')} without --audit-policy-file: nothing is recorded`)
    return undefined
  }
  return { policy, log, webhook }
}

function logConfig(flags: FlagReader): AuditLogConfig | undefined {
  const path = flags.text('audit-log-path')
  const config = {
    ...backendConfig('audit-log', flags),
    format: flags.choice('audit-log-format', ['json', 'legacy']),
    maxBytes: flags.number('audit-log-maxsize', 0, 1e6) * MEGABYTE,
    maxAgeMs: flags.number('audit-log-maxage', 0, 1e6) * DAY_MS,
    maxBackups: flags.number('audit-log-maxbackup', 0, 1e6),
    compress: flags.bool('audit-log-compress'),
  }
  return path === undefined ? undefined : { ...config, path }
}

function webhookConfig(flags: FlagReader): AuditWebhookConfig | undefined {
  const kubeconfig = flags.file('audit-webhook-config-file')
  const config = {
    ...backendConfig('audit-webhook', flags),
    initialBackoffMs: flags.durationMs('audit-webhook-initial-backoff'),
    maxBatchBytes: flags.bool('audit-webhook-truncate-enabled')
      ? flags.number('audit-webhook-truncate-max-batch-size', 1, 1e9)
      : undefined,
  }
  return kubeconfig === undefined ? undefined : { ...config, kubeconfig }
}

function backendConfig(name: 'audit-log' | 'audit-webhook', flags: FlagReader): AuditBackendConfig {
  if (flags.text(`${name}-version`) !== 'audit.k8s.io/v1') {
    flags.faults.push(`--${name}-version must be audit.k8s.io/v1`)
  }
  const throttled = flags.bool(`${name}-batch-throttle-enable`)
  return {
    mode: flags.choice(`${name}-mode`, MODES),
    batch: {
      bufferSize: flags.number(`${name}-batch-buffer-size`, 1, 1e7),
      maxSize: flags.number(`${name}-batch-max-size`, 1, 1e7),
      maxWaitMs: flags.durationMs(`${name}-batch-max-wait`),
      throttle: throttled
        ? {
            qps: flags.number(`${name}-batch-throttle-qps`, 0.001, 1e6),
            burst: flags.number(`${name}-batch-throttle-burst`, 1, 1e6),
          }
        : undefined,
    },
    maxEventBytes: flags.bool(`${name}-truncate-enabled`)
      ? flags.number(`${name}-truncate-max-event-size`, 1, 1e9)
      : undefined,
  }
}

function policyIn(flags: FlagReader): AuditPolicy | undefined {
  const file = flags.text('audit-policy-file')
  if (file === undefined) return undefined
  try {
    return parseAuditPolicy(readFileSync(file, 'utf8'))
  } catch (error) {
    for (const line of (error as Error).message.split('\n')) flags.faults.push(`--audit-policy-file: ${line}`)
    return undefined
  }
}

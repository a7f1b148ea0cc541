/** Flags of the audit log. */
import { readFileSync } from 'node:fs'
import { parseAuditPolicy, type AuditPolicy } from '../../apiserver/audit/policy.ts'
import type { FlagReader } from './flag-reader.ts'

export interface AuditConfig {
  readonly policy: AuditPolicy
  /** `-`: standard output. */
  readonly path: string
  readonly format: 'json' | 'legacy'
  readonly mode: 'blocking' | 'blocking-strict' | 'batch'
  readonly batchBufferSize: number
  readonly batchMaxSize: number
  readonly batchMaxWaitMs: number
  /** 0: never rotated, never too old, never too many. */
  readonly maxBytes: number
  readonly maxAgeMs: number
  readonly maxBackups: number
  readonly compress: boolean
  /** Undefined: events are never cut. */
  readonly maxEventBytes: number | undefined
}

const DAY_MS = 24 * 60 * 60_000
const MEGABYTE = 1024 * 1024

/** Undefined where nothing is recorded. */
export function auditConfig(flags: FlagReader, warnings: string[]): AuditConfig | undefined {
  const path = flags.text('audit-log-path')
  const policy = policyIn(flags)
  if (flags.text('audit-log-version') !== 'audit.k8s.io/v1') {
    flags.faults.push('--audit-log-version must be audit.k8s.io/v1')
  }
  const config = {
    format: flags.choice('audit-log-format', ['json', 'legacy']),
    mode: flags.choice('audit-log-mode', ['blocking', 'blocking-strict', 'batch']),
    batchBufferSize: flags.number('audit-log-batch-buffer-size', 1, 1e7),
    batchMaxSize: flags.number('audit-log-batch-max-size', 1, 1e7),
    batchMaxWaitMs: flags.durationMs('audit-log-batch-max-wait'),
    maxBytes: flags.number('audit-log-maxsize', 0, 1e6) * MEGABYTE,
    maxAgeMs: flags.number('audit-log-maxage', 0, 1e6) * DAY_MS,
    maxBackups: flags.number('audit-log-maxbackup', 0, 1e6),
    compress: flags.bool('audit-log-compress'),
    maxEventBytes: flags.bool('audit-log-truncate-enabled')
      ? flags.number('audit-log-truncate-max-event-size', 1, 1e9)
      : undefined,
  } as const
  if (path === undefined) {
    if (policy !== undefined) warnings.push('--audit-policy-file without --audit-log-path: nothing is recorded')
    return undefined
  }
  if (policy === undefined) {
    warnings.push('--audit-log-path without --audit-policy-file: nothing is recorded')
    return undefined
  }
  return { ...config, path, policy }
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

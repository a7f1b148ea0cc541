/** Jobs and CronJobs. */
import { humanDuration } from '../duration.ts'
import type { ColumnValue, JsonObject, KindColumns } from './column.ts'
import { age, ageColumn, column, containerColumns, count, extra, nameColumn, selectorColumn } from './define.ts'
import { at, flag, has, integer, isTrue, items, optionalInteger, optionalText, size, text, timeMs } from './read.ts'

export const job: KindColumns = {
  columns: [
    nameColumn,
    column('Status', jobStatus, { description: 'How far it got.' }),
    column('Completions', completions, { description: 'Pods that ended well, of all that should.' }),
    column('Duration', (job, nowMs) => durationCell(jobDurationMs(job, nowMs)), {
      description: 'How long it took, or has been running.',
      type: 'duration',
      value: finishedDuration,
    }),
    ageColumn,
    ...containerColumns((job) => at(job, 'spec', 'template', 'spec')),
    selectorColumn((job) => at(job, 'spec', 'selector')),
  ],
  extra: [
    extra('active', 'int', (job) => integer(job, 'status', 'active')),
    extra('succeeded', 'int', (job) => integer(job, 'status', 'succeeded')),
    extra('failed', 'int', (job) => integer(job, 'status', 'failed')),
    extra('suspend', 'bool', (job) => (has(job, 'spec', 'suspend') ? flag(job, 'spec', 'suspend') : undefined)),
  ],
}

export const cronJob: KindColumns = {
  columns: [
    nameColumn,
    column('Schedule', (cronJob) => text(cronJob, 'spec', 'schedule'), {
      description: 'When it runs, as cron says it.',
    }),
    column('Timezone', (cronJob) => optionalText(cronJob, 'spec', 'timeZone') ?? '<none>', {
      description: 'The zone its schedule is meant in.',
    }),
    column('Suspend', suspendCell, {
      description: 'Whether it starts no more jobs.',
      tableType: 'boolean',
      type: 'bool',
      value: (cronJob) => (has(cronJob, 'spec', 'suspend') ? flag(cronJob, 'spec', 'suspend') : undefined),
    }),
    count('Active', (cronJob) => size(cronJob, 'status', 'active'), { description: 'Jobs that run now.' }),
    age('Last Schedule', (cronJob) => optionalText(cronJob, 'status', 'lastScheduleTime'), {
      description: 'Time since it last started a job.',
      missing: '<none>',
    }),
    ageColumn,
    ...containerColumns((cronJob) => at(cronJob, 'spec', 'jobTemplate', 'spec', 'template', 'spec')),
    selectorColumn((cronJob) => at(cronJob, 'spec', 'jobTemplate', 'spec', 'selector')),
  ],
}

function jobStatus(job: JsonObject): string {
  const conditions = items(job, 'status', 'conditions')
  if (isTrue(conditions, 'Complete')) return 'Complete'
  if (isTrue(conditions, 'Failed')) return 'Failed'
  if (has(job, 'metadata', 'deletionTimestamp')) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find((type) => isTrue(conditions, type)) ?? 'Running'
}

function completions(job: JsonObject): string {
  const succeeded = String(integer(job, 'status', 'succeeded'))
  const wanted = optionalInteger(job, 'spec', 'completions')
  if (wanted !== undefined) return `${succeeded}/${String(wanted)}`
  const parallelism = integer(job, 'spec', 'parallelism')
  return parallelism > 1 ? `${succeeded}/1 of ${String(parallelism)}` : `${succeeded}/1`
}

function jobDurationMs(job: JsonObject, nowMs: number): number | undefined {
  const startMs = timeMs(at(job, 'status', 'startTime'))
  if (startMs === undefined) return undefined
  return (timeMs(at(job, 'status', 'completionTime')) ?? nowMs) - startMs
}

/** Seconds; only of jobs that are complete, since anything else changes while nobody touches the object. */
function finishedDuration(job: JsonObject): ColumnValue {
  if (!has(job, 'status', 'completionTime')) return undefined
  const ms = jobDurationMs(job, 0)
  return ms === undefined ? undefined : ms / 1_000
}

const durationCell = (ms: number | undefined): string => (ms === undefined ? '' : humanDuration(ms))

function suspendCell(cronJob: JsonObject): string {
  if (!has(cronJob, 'spec', 'suspend')) return '<unset>'
  return flag(cronJob, 'spec', 'suspend') ? 'True' : 'False'
}

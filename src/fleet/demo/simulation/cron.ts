/** CronJobs: past runs at the start, then a run whenever one is due. */
import type { ScheduledJob } from '../catalogue/app.ts'
import type { KubeObject, Pod, PodTemplate, Workload } from '../objects/kinds.ts'
import { makePod } from '../objects/pod.ts'
import type { PodState } from '../objects/pod-status.ts'
import { cronJob, jobFinished, jobRun } from '../objects/job.ts'
import { rfc3339 } from '../timestamp.ts'
import type { Context } from './context.ts'
import type { Kubelet } from './kubelet.ts'
import { CLUSTER_AGE_MS } from './seed-cluster.ts'

const MINUTE_MS = 60_000
const KEPT_RUNS = 3

/** The last time it was due at or before `nowMs`. */
export function lastDueMs(job: ScheduledJob, nowMs: number): number {
  const everyMs = job.everyMinutes * MINUTE_MS
  const offsetMs = (job.offsetMinutes ?? 0) * MINUTE_MS
  return Math.floor((nowMs - offsetMs) / everyMs) * everyMs + offsetMs
}

export function seedCron(context: Context, job: ScheduledJob): void {
  const createdMs = context.nowMs() - CLUSTER_AGE_MS / 2 + context.random.int(0, 90) * 86_400_000
  const owner = context.put(cronJob(job, createdMs))
  if (job.suspended === true) return
  const due = lastDueMs(job, context.nowMs() - job.runsSeconds * 1_000 - MINUTE_MS)
  const failed = job.fails?.includes(context.cluster.name) === true
  for (let back = KEPT_RUNS - 1; back >= 0; back--) {
    seedRun(context, owner, job, due - back * job.everyMinutes * MINUTE_MS, failed && back === 0)
  }
  const lastSuccessMs = due - (failed ? job.everyMinutes * MINUTE_MS : 0) + job.runsSeconds * 1_000
  const status = { lastScheduleTime: rfc3339(due), lastSuccessfulTime: rfc3339(lastSuccessMs) }
  context.put({ ...owner, status })
}

function seedRun(context: Context, owner: KubeObject, job: ScheduledJob, dueMs: number, failed: boolean): void {
  const { random } = context
  const attempts = failed ? 3 : 1
  const runMs = failed ? 20_000 : job.runsSeconds * 1_000
  const endMs = dueMs + attempts * (runMs + 10_000)
  const run = context.put({
    ...jobRun(owner, job, dueMs, random.uuid()),
    status: jobFinished(dueMs, endMs, failed ? attempts : 0),
  })
  for (let attempt = 0; attempt < attempts; attempt++) {
    const startedMs = dueMs + attempt * (runMs + 10_000) + 3_000
    const endedMs = startedMs + runMs
    const state: PodState = failed
      ? { kind: 'failed', startedMs, endedMs, exitCode: 1 }
      : { kind: 'succeeded', startedMs, endedMs }
    const pod = draft(context, run, startedMs - 3_000, state)
    context.put(pod)
    // It holds no room any more; only its address was taken for the record.
    context.scheduler.release(pod.metadata.name, pod.spec)
  }
}

function draft(context: Context, run: KubeObject, createdMs: number, state: PodState): Pod {
  const { template } = run['spec'] as { template: PodTemplate }
  const name = `${run.metadata.name}-${context.random.suffix()}`
  const live = state.kind === 'creating'
  return makePod(
    {
      name,
      generateName: `${run.metadata.name}-`,
      namespace: run.metadata.namespace ?? '',
      owner: run,
      template,
      createdMs,
      place: live ? undefined : context.scheduler.place(name, template.spec),
      state,
      priority: 0,
    },
    context.random,
  )
}

export function startCron(context: Context, kubelet: Kubelet, job: ScheduledJob): void {
  if (job.suspended === true) return
  const waitMs = lastDueMs(job, context.nowMs()) + job.everyMinutes * MINUTE_MS - context.nowMs()
  context.after(waitMs, () => {
    startRun(context, kubelet, job)
    startCron(context, kubelet, job)
  })
}

function startRun(context: Context, kubelet: Kubelet, job: ScheduledJob): void {
  const owner = context.get<Workload>('batch/v1', 'CronJob', job.namespace, job.name)
  if (owner === undefined) return
  const dueMs = lastDueMs(job, context.nowMs())
  const run = context.put(jobRun(owner, job, dueMs, context.random.uuid()))
  const active = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    namespace: job.namespace,
    name: run.metadata.name,
    uid: run.metadata.uid,
  }
  const lastScheduleTime = rfc3339(dueMs)
  context.put({ ...owner, status: { ...owner.status, active: [active], lastScheduleTime } })
  context.event({
    about: owner,
    type: 'Normal',
    reason: 'SuccessfulCreate',
    message: `Created job ${run.metadata.name}`,
    component: 'cronjob-controller',
  })
  kubelet.runToEnd(draft(context, run, context.nowMs(), { kind: 'creating' }), job.runsSeconds * 1_000, (pod) => {
    context.scheduler.release(pod.metadata.uid ?? '', pod.spec)
    finishRun(context, job, run, dueMs)
  })
}

function finishRun(context: Context, job: ScheduledJob, run: KubeObject, dueMs: number): void {
  const nowMs = context.nowMs()
  context.put({ ...run, status: jobFinished(dueMs, nowMs, 0) })
  context.event({
    about: run,
    type: 'Normal',
    reason: 'Completed',
    message: 'Job completed',
    component: 'job-controller',
  })
  const owner = context.get<Workload>('batch/v1', 'CronJob', job.namespace, job.name)
  if (owner === undefined) return
  const { active: _active, ...status } = owner.status
  context.put({ ...owner, status: { ...status, lastSuccessfulTime: rfc3339(nowMs) } })
  prune(context, owner)
}

/** Keeps the last runs that went well; with a run go its pods. */
function prune(context: Context, owner: KubeObject): void {
  const runs = context
    .list<Workload>('batch/v1', 'Job')
    .filter((run) => run.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid))
  const complete = runs.filter((run) => run.status['completionTime'] !== undefined)
  const byAge = complete.toSorted((a, b) =>
    String(a.metadata.creationTimestamp).localeCompare(String(b.metadata.creationTimestamp)),
  )
  for (const run of byAge.slice(0, -KEPT_RUNS)) {
    for (const pod of context.podsOf(run)) context.remove(pod)
    context.remove(run)
  }
}

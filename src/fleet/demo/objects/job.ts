/** CronJobs and the Jobs they start. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { ScheduledJob } from '../catalogue/app.ts'
import { rfc3339 } from '../timestamp.ts'
import { ownerReference, type KubeObject } from './kinds.ts'
import { jobTemplate } from './template.ts'

export function cronJob(job: ScheduledJob, createdMs: number): KubeObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: {
      name: job.name,
      namespace: job.namespace,
      generation: 1,
      creationTimestamp: rfc3339(createdMs),
      labels: { app: job.name, 'app.kubernetes.io/name': job.name, team: job.team },
    },
    spec: {
      schedule: job.schedule,
      timeZone: 'Etc/UTC',
      concurrencyPolicy: 'Forbid',
      suspend: job.suspended === true,
      jobTemplate: { metadata: {}, spec: jobSpec(job) },
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    },
    status: {},
  }
}

function jobSpec(job: ScheduledJob): JsonObject {
  return { backoffLimit: 2, template: jobTemplate(job) }
}

/** The run of a CronJob that was due at `dueMs`; named after the minute, as the controller names it. */
export function jobRun(owner: KubeObject, job: ScheduledJob, dueMs: number, uid: string): KubeObject {
  const name = `${job.name}-${Math.floor(dueMs / 60_000)}`
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  }
  const template = jobTemplate(job)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace: job.namespace,
      uid,
      creationTimestamp: rfc3339(dueMs),
      labels: template.metadata.labels,
      annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': rfc3339(dueMs) },
      ownerReferences: [ownerReference(owner)],
    },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 2,
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
      manualSelector: false,
      template: { ...template, metadata: { ...template.metadata, labels: { ...template.metadata.labels, ...labels } } },
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: 'TerminatingOrFailed',
    },
    status: { startTime: rfc3339(dueMs), active: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} },
  }
}

/** A finished Job's status. */
export function jobFinished(startMs: number, endMs: number, failedPods: number): JsonObject {
  const time = rfc3339(endMs)
  const done = { lastProbeTime: time, lastTransitionTime: time, status: 'True' }
  if (failedPods > 0) {
    const why = { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' }
    return {
      conditions: [
        { type: 'FailureTarget', ...done, ...why },
        { type: 'Failed', ...done, ...why },
      ],
      startTime: rfc3339(startMs),
      failed: failedPods,
      terminating: 0,
      uncountedTerminatedPods: {},
      ready: 0,
    }
  }
  const why = { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' }
  return {
    conditions: [
      { type: 'SuccessCriteriaMet', ...done, ...why },
      { type: 'Complete', ...done, ...why },
    ],
    startTime: rfc3339(startMs),
    completionTime: time,
    succeeded: 1,
    terminating: 0,
    uncountedTerminatedPods: {},
    ready: 0,
  }
}

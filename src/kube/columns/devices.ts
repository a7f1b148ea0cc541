/** Devices that pods claim (resource.k8s.io), groups of pods, and the API server's own bookkeeping. */
import type { JsonObject, KindColumns } from './column.ts'
import { age, ageColumn, column, count, NAME_DESCRIPTION, nameColumn } from './define.ts'
import { withMore } from './format.ts'
import { condition, has, integer, isObject, isTrue, items, optionalText, size, text, at } from './read.ts'

export const resourceClaim: KindColumns = {
  columns: [
    nameColumn,
    column('State', claimState, { description: 'Pending, allocated, reserved, deleted.' }),
    ageColumn,
  ],
}

export const resourceSlice: KindColumns = {
  columns: [
    nameColumn,
    column('Node', (slice) => text(slice, 'spec', 'nodeName'), { description: 'The node that has the devices.' }),
    column('Driver', (slice) => text(slice, 'spec', 'driver'), { description: 'The driver that publishes them.' }),
    column('Pool', (slice) => text(slice, 'spec', 'pool', 'name'), { description: 'The pool they belong to.' }),
    ageColumn,
  ],
}

const taint = (key: string) => (rule: JsonObject) => text(rule, 'spec', 'taint', key)

export const deviceTaintRule: KindColumns = {
  columns: [
    nameColumn,
    column('Key', taint('key'), { description: 'Key of the taint.' }),
    column('Value', taint('value'), { description: 'Value of the taint.' }),
    column('Effect', taint('effect'), { description: 'What it does to pods.' }),
    age('TimeAdded', (rule) => optionalText(rule, 'spec', 'taint', 'timeAdded'), {
      description: 'Time since it was added.',
      missing: '',
    }),
    ageColumn,
  ],
}

/** A sum over the pools of a status request; `-` before there is an answer, and where it failed. */
const poolSum = (name: string, read: (pool: JsonObject) => number, description: string) =>
  column(name, (request) => (answered(request) ? String(sum(items(request, 'status', 'pools'), read)) : '-'), {
    description,
    type: 'int',
    value: (request) => (answered(request) ? sum(items(request, 'status', 'pools'), read) : undefined),
  })

export const resourcePoolStatusRequest: KindColumns = {
  columns: [
    nameColumn,
    column('Driver', (request) => text(request, 'spec', 'driver'), { description: 'The driver asked about.' }),
    poolSum('Total', (pool) => integer(pool, 'totalDevices'), 'Devices of all pools.'),
    poolSum('Available', (pool) => integer(pool, 'availableDevices'), 'Devices that are free.'),
    poolSum('Allocated', (pool) => integer(pool, 'allocatedDevices'), 'Devices that are taken.'),
    poolSum('Unavailable', (pool) => integer(pool, 'unavailableDevices'), 'Devices that cannot be had.'),
    poolSum('Errors', (pool) => (has(pool, 'validationError') ? 1 : 0), 'Pools that are not valid.'),
    count('Pools', (request) => integer(request, 'status', 'poolCount'), { description: 'Pools there are.' }),
    column('Status', requestStatus, { description: 'What became of the request.' }),
    age('Completed', completedAt, { description: 'Time since the answer.', missing: '<none>' }),
  ],
}

export const podGroup: KindColumns = {
  columns: [
    nameColumn,
    column('Policy', (group) => (has(group, 'spec', 'schedulingPolicy', 'gang') ? 'Gang' : 'Basic'), {
      description: 'Whether its pods are scheduled together.',
    }),
    column('Workload', workloadOf, { description: 'The workload it belongs to.' }),
    column('Status', groupStatus, { description: 'Whether its pods are scheduled.' }),
    ageColumn,
  ],
}

export const storageVersion: KindColumns = {
  columns: [
    nameColumn,
    column('CommonEncodingVersion', (object) => optionalText(object, 'status', 'commonEncodingVersion') ?? '<unset>', {
      description: 'The version that all servers write.',
    }),
    column('StorageVersions', storageVersions, { description: 'The version that each server writes.' }),
    ageColumn,
  ],
}

export const storageVersionMigration: KindColumns = {
  columns: [
    column('Name', (migration) => text(migration, 'metadata', 'name'), { description: NAME_DESCRIPTION }),
    column('Resource', migratedResource, { description: 'What is written anew.' }),
    column('Status', migrationStatus, { description: 'How far it got.' }),
  ],
}

function claimState(claim: JsonObject): string {
  const deleted = has(claim, 'metadata', 'deletionTimestamp')
  if (!has(claim, 'status', 'allocation')) return deleted ? 'deleted' : 'pending'
  const states = [...(deleted ? ['deleted'] : []), 'allocated']
  return [...states, ...(size(claim, 'status', 'reservedFor') > 0 ? ['reserved'] : [])].join(',')
}

/** Complete or Failed, whichever comes first. */
function outcome(request: JsonObject): JsonObject | undefined {
  return items(request, 'status', 'conditions').find(
    (c) => (c['type'] === 'Complete' || c['type'] === 'Failed') && c['status'] === 'True',
  )
}

function answered(request: JsonObject): boolean {
  return has(request, 'status') && outcome(request)?.['type'] !== 'Failed'
}

function requestStatus(request: JsonObject): string {
  const type = text(outcome(request), 'type') || 'Pending'
  const pools = size(request, 'status', 'pools')
  const total = integer(request, 'status', 'poolCount')
  return type === 'Complete' && total > pools ? `Complete (${String(pools)}/${String(total)} pools)` : type
}

function completedAt(request: JsonObject): string | undefined {
  const found = outcome(request)
  return found?.['type'] === 'Complete' ? optionalText(found, 'lastTransitionTime') : undefined
}

function sum(pools: readonly JsonObject[], read: (pool: JsonObject) => number): number {
  return pools.reduce((total, pool) => total + read(pool), 0)
}

function workloadOf(group: JsonObject): string {
  const reference = at(group, 'spec', 'podGroupTemplateRef')
  return isObject(reference) ? text(reference, 'workload', 'workloadName') : '<none>'
}

function groupStatus(group: JsonObject): string {
  const conditions = items(group, 'status', 'conditions')
  const disrupted = condition(conditions, 'DisruptionTarget')
  if (disrupted !== undefined) return text(disrupted, 'reason')
  if (condition(conditions, 'PodGroupScheduled') === undefined) return 'Pending'
  return isTrue(conditions, 'PodGroupScheduled') ? 'Scheduled' : 'Unschedulable'
}

function storageVersions(object: JsonObject): string {
  const versions = items(object, 'status', 'storageVersions')
  return (
    withMore(
      versions.map((v) => `${text(v, 'apiServerID')}=${text(v, 'encodingVersion')}`),
      3,
    ) || '<unset>'
  )
}

function migratedResource(migration: JsonObject): string {
  const group = text(migration, 'spec', 'resource', 'group')
  const resource = text(migration, 'spec', 'resource', 'resource')
  return group === '' ? resource : `${resource}.${group}`
}

function migrationStatus(migration: JsonObject): string {
  const conditions = items(migration, 'status', 'conditions').filter((c) => c['status'] === 'True')
  const types = conditions.map((c) => text(c, 'type'))
  return types.findLast((type) => ['Running', 'Failed', 'Succeeded'].includes(type)) ?? 'Unknown'
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { columnKinds, columnsOf, defaultColumns, type JsonObject } from '../../../src/kube/columns/index.ts'
import { tableFixtures } from '../../support/table-fixtures.ts'

const NOW = Date.parse('2026-08-01T12:00:00Z')

function row(gk: { group: string; kind: string }, object: object): Record<string, unknown> {
  const { columns } = columnsOf(gk)!
  return Object.fromEntries(columns.map((column) => [column.name, column.cell(object as JsonObject, NOW)]))
}

function value(gk: { group: string; kind: string }, field: string, object: object): unknown {
  const { columns, extra = [] } = columnsOf(gk)!
  return [...columns, ...extra].find((column) => column.field === field)?.value(object as JsonObject)
}

const fixtures = ['cluster', 'workloads', 'network', 'pods', 'devices'].flatMap((file) => tableFixtures(file, NOW))
const groupOf = (apiVersion: string) => (apiVersion.includes('/') ? apiVersion.split('/')[0]! : '')

describe('columns of the kinds', () => {
  it('E1: the kinds of `kubectl get all`, nodes, events, roles and definitions have their usual columns', () => {
    const names = (group: string, kind: string, wide: boolean) =>
      columnsOf({ group, kind })!
        .columns.filter(({ definition }) => wide || definition.priority === 0)
        .map(({ name }) => name.toUpperCase())
        .join(' ')
    assert.equal(names('', 'Pod', false), 'NAME READY STATUS RESTARTS AGE')
    assert.equal(names('', 'Pod', true), 'NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES')
    assert.equal(names('', 'Service', false), 'NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE')
    assert.equal(names('', 'Node', false), 'NAME STATUS ROLES AGE VERSION')
    assert.equal(names('', 'Event', false), 'LAST SEEN TYPE REASON OBJECT MESSAGE')
    assert.equal(names('apps', 'Deployment', false), 'NAME READY UP-TO-DATE AVAILABLE AGE')
    assert.equal(names('batch', 'CronJob', false), 'NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE')
    assert.equal(names('rbac.authorization.k8s.io', 'Role', false), 'NAME CREATED AT')
    assert.equal(names('apiextensions.k8s.io', 'CustomResourceDefinition', false), 'NAME CREATED AT')
  })

  it('E1: unknown kinds have a name and an age', () => {
    assert.equal(columnsOf({ group: 'example.com', kind: 'Pod' }), undefined)
    assert.equal(columnsOf({ group: 'constructor', kind: 'toString' }), undefined)
    assert.equal(columnsOf({ group: '', kind: 'constructor' }), undefined)
    assert.deepEqual(
      defaultColumns.columns.map(({ name }) => name),
      ['Name', 'Age'],
    )
  })

  it('names every field of a kind once, in lower case', () => {
    for (const { group, kind, columns } of columnKinds()) {
      const fields = [...columns.columns, ...(columns.extra ?? [])].map(({ field }) => field)
      assert.deepEqual(fields, [...new Set(fields)], `${group} ${kind}`)
      for (const field of fields) assert.match(field, /^[a-z0-9]+$/)
    }
  })

  it('prints ages and counts of what is old', () => {
    const created = (timestamp: string) => ({ metadata: { name: 'x', creationTimestamp: timestamp } })
    const age = (timestamp: string) => row({ group: '', kind: 'ServiceAccount' }, created(timestamp))['Age']
    assert.equal(age('2026-08-01T11:58:30Z'), '90s')
    assert.equal(age('2024-04-08T12:00:00Z'), '2y115d')
    assert.equal(age('2026-08-01T12:00:01Z'), '0s')
    assert.equal(age('2026-08-01T13:00:00Z'), '<invalid>')
    assert.equal(age('never'), '<unknown>')
    assert.equal(
      row({ group: '', kind: 'LimitRange' }, created('2026-07-31T23:00:00-02:00'))['Created At'],
      '2026-08-01T01:00:00Z',
    )
  })

  it('gives numbers, flags and times to queries where the Table prints text', () => {
    const deployment = { spec: { replicas: 3, paused: true }, status: { readyReplicas: 1, updatedReplicas: 2 } }
    const apps = { group: 'apps', kind: 'Deployment' }
    assert.equal(value(apps, 'uptodate', deployment), 2)
    assert.equal(value(apps, 'unavailable', deployment), 2)
    assert.equal(value(apps, 'paused', deployment), true)
    const cron = { group: 'batch', kind: 'CronJob' }
    assert.equal(value(cron, 'suspend', { spec: { suspend: false } }), false)
    assert.equal(value(cron, 'suspend', { spec: {} }), undefined)
    assert.equal(value(cron, 'lastschedule', { status: {} }), undefined)
    assert.equal(value({ group: '', kind: 'Node' }, 'memory', { status: { allocatable: { memory: '31Gi' } } }), '31Gi')
    const job = { status: { startTime: '2026-08-01T10:00:00Z', completionTime: '2026-08-01T10:01:30Z' } }
    assert.equal(value({ group: 'batch', kind: 'Job' }, 'duration', job), 90)
    assert.equal(
      value({ group: 'batch', kind: 'Job' }, 'duration', { status: { startTime: '2026-08-01T10:00:00Z' } }),
      undefined,
    )
  })

  it('reads events of both APIs alike', () => {
    const core = {
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', name: 'web' },
      type: 'Warning',
      reason: 'BackOff',
      message: ' waiting\n',
      count: 3,
      source: { component: 'kubelet', host: 'node-1' },
      firstTimestamp: '2026-08-01T11:00:00Z',
      lastTimestamp: '2026-08-01T11:59:00Z',
    }
    const { involvedObject, message, count, source, firstTimestamp, lastTimestamp, ...shared } = core
    const events = {
      ...shared,
      regarding: involvedObject,
      note: message,
      deprecatedCount: count,
      deprecatedSource: source,
      deprecatedFirstTimestamp: firstTimestamp,
      deprecatedLastTimestamp: lastTimestamp,
    }
    const printed = row({ group: '', kind: 'Event' }, core)
    assert.deepEqual(row({ group: 'events.k8s.io', kind: 'Event' }, events), printed)
    assert.deepEqual(Object.values(printed), [
      '60s',
      'Warning',
      'BackOff',
      'pod/web',
      '',
      'kubelet, node-1',
      'waiting',
      '60m',
      3,
      'e',
    ])
  })

  it('survives objects of any shape', () => {
    const kinds = columnKinds()
    fc.assert(
      fc.property(fc.constantFrom(...fixtures), fc.nat(), fc.jsonValue(), (fixture, where, junk) => {
        const object = withJunk(fixture, where, junk)
        const gk = { group: groupOf(fixture.apiVersion), kind: fixture.kind }
        const columns =
          kinds.find(({ group, kind }) => group === gk.group && kind === gk.kind)?.columns ?? defaultColumns
        for (const column of columns.columns) assert.notEqual(column.cell(object, NOW), undefined)
        for (const field of [...columns.columns, ...(columns.extra ?? [])]) field.value(object)
      }),
      { numRuns: 1_000 },
    )
  })
})

/** A copy of the object with one of its values, chosen by number, replaced. */
function withJunk(object: object, where: number, junk: unknown): JsonObject {
  let count = 0
  JSON.stringify(object, (_, inner: unknown) => (count++, inner))
  let left = 1 + (where % (count - 1))
  const text = JSON.stringify(object, (_, inner: unknown) => (left-- === 0 ? junk : inner))
  return JSON.parse(text) as JsonObject
}

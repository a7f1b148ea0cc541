import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { columnsOf, type JsonObject } from '../../../src/kube/columns/index.ts'
import { tableFixtures, type FixtureObject } from '../../support/table-fixtures.ts'

const NOW = Date.parse('2026-08-01T12:00:00Z')
const pods = columnsOf({ group: '', kind: 'Pod' })!

/** The API server sets the deletion timestamp of what the fixtures only mark. */
function parsed(fixture: FixtureObject): JsonObject {
  const deleted = fixture.metadata.annotations?.['test/delete'] === 'true'
  const metadata = { ...fixture.metadata, ...(deleted ? { deletionTimestamp: '2026-08-01T11:59:00Z' } : {}) }
  return { ...fixture, metadata } as unknown as JsonObject
}

function cell(pod: JsonObject, name: string): unknown {
  return pods.columns.find((column) => column.name === name)?.cell(pod, NOW)
}

function value(pod: JsonObject, field: string): unknown {
  return [...pods.columns, ...(pods.extra ?? [])].find((column) => column.field === field)?.value(pod)
}

const fixtures = tableFixtures('pods', NOW)
const named = (name: string) => parsed(fixtures.find(({ metadata }) => metadata.name === name)!)

describe('pod columns', () => {
  for (const fixture of fixtures) {
    const expected = fixture.metadata.annotations ?? {}
    const title =
      expected['case'] === undefined ? fixture.metadata.name : `${expected['case']}: ${fixture.metadata.name}`
    it(`${title} is ${expected['expect/ready']}, ${expected['expect/status']}, ${expected['expect/restarts']}`, () => {
      const pod = parsed(fixture)
      assert.deepEqual(
        [cell(pod, 'Ready'), cell(pod, 'Status'), cell(pod, 'Restarts')],
        [expected['expect/ready'], expected['expect/status'], expected['expect/restarts']],
      )
    })
  }

  it('has a fixture for every sub-case', () => {
    const cases = new Set(fixtures.map(({ metadata }) => metadata.annotations?.['case']))
    for (const id of ['E3a', 'E3b', 'E3c', 'E3d', 'E3e', 'E4']) assert.ok(cases.has(id), id)
  })

  it('E3: queries compare restarts as numbers', () => {
    assert.equal(value(named('c-restart-date'), 'restarts'), 8)
    assert.equal(value(named('c-restart-date'), 'lastrestart'), '2026-08-01T11:55:00.000Z')
    assert.equal(value(named('c-restart-date'), 'exitcode'), 137)
    assert.equal(value(named('d-second-init'), 'lastrestart'), undefined)
  })

  it('E4: health leaves out pods that are terminating or done', () => {
    const health = (name: string) => value(named(name), 'health')
    assert.equal(health('b-sidecar'), 'Healthy')
    assert.equal(health('terminating'), 'Terminating')
    assert.equal(health('node-lost'), 'Terminating')
    assert.equal(health('succeeded'), 'Completed')
    assert.equal(health('evicted'), 'Unhealthy')
    assert.equal(health('c-sidecar-app-crash-loop'), 'Unhealthy')
    assert.equal(health('image-pull'), 'Unhealthy')
    assert.equal(health('completed-beside-running'), 'Unhealthy')
    assert.equal(health('d-second-init'), 'Starting')
    assert.equal(health('scheduling-gated'), 'Starting')
  })

  it('prints the wide cells, with placeholders that queries take for absent', () => {
    const gated = named('readiness-gates')
    assert.deepEqual(
      ['IP', 'Node', 'Nominated Node', 'Readiness Gates'].map((name) => cell(gated, name)),
      ['10.1.0.9', 'node-1', '<none>', '1/3'],
    )
    assert.equal(value(gated, 'nominatednode'), undefined)
    assert.equal(cell(named('pending-unscheduled'), 'Nominated Node'), 'node-9')
  })

  it('sums what containers and sidecars ask for', () => {
    const resources = (requests: object, limits: object = {}) => ({ resources: { requests, limits } })
    const spec = {
      initContainers: [
        { name: 'sidecar', restartPolicy: 'Always', ...resources({ cpu: '200m' }, { memory: '1Gi' }) },
        { name: 'init', ...resources({ cpu: '500m', memory: '8Gi' }) },
      ],
      containers: [
        { name: 'app', ...resources({ cpu: '100m', memory: '1536Mi' }, { memory: '512Mi', cpu: '1' }) },
        { name: 'none' },
      ],
    }
    assert.equal(value({ spec }, 'cpu'), '300m')
    assert.equal(value({ spec }, 'memory'), '1536Mi')
    assert.equal(value({ spec }, 'memorylimit'), undefined, 'one container has no limit')
    const limited = { ...spec, containers: spec.containers.slice(0, 1) }
    assert.equal(value({ spec: limited }, 'memorylimit'), '1536Mi')
    assert.equal(value({ spec: limited }, 'cpulimit'), undefined)
    assert.equal(value({ spec: { ...spec, ...resources({ cpu: '2' }) } }, 'cpu'), '2')
    assert.equal(value({ spec: { containers: [{ name: 'none' }] } }, 'cpu'), undefined)
  })

  it('says of pods that are over that they are', () => {
    assert.equal(pods.rowConditions?.(named('succeeded'))?.[0]?.reason, 'Succeeded')
    assert.equal(pods.rowConditions?.(named('evicted'))?.[0]?.reason, 'Failed')
    assert.equal(pods.rowConditions?.(named('terminating')), undefined)
  })
})

/** What a real kube-apiserver says of ownership is in test/integration; here are the parts, and what kubectl leaves behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { FieldSet, pathText } from '../../src/registry/field-ownership/field-set.ts'
import { decodeOwners } from '../../src/registry/field-ownership/managers.ts'
import { applyConfiguration } from '../../src/registry/field-ownership/registry-ownership.ts'
import { keepUnknownFields } from '../../src/registry/unknown-fields.ts'
import { input } from './fixture.ts'

const step = fc.oneof(
  fc.constantFrom('a', 'b', 'c.d/e', '.', 'k:x').map((name) => `f:${name}`),
  fc.constantFrom('x', 'y').map((value) => `v:${JSON.stringify(value)}`),
  fc.constantFrom('1', '2').map((uid) => `k:${JSON.stringify({ uid })}`),
)
const set = fc
  .array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
  .map((paths) => FieldSet.of(...paths))
const texts = (fields: FieldSet): string[] => [...fields.paths()].map((path) => path.join(' '))

test('sets of fields come back from FieldsV1 as they were, and are sets', () => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      assert.deepEqual(FieldSet.fromFieldsV1(JSON.parse(JSON.stringify(a.toFieldsV1()))), a)
      const [x, y] = [new Set(texts(a)), new Set(texts(b))]
      assert.deepEqual(new Set(texts(a.union(b))), new Set([...x, ...y]))
      assert.deepEqual(
        texts(a.intersection(b)),
        texts(a).filter((path) => y.has(path)),
      )
      assert.deepEqual(
        texts(a.difference(b)),
        texts(a).filter((path) => !y.has(path)),
      )
      const below = (path: string): boolean => [...y].some((other) => path === other || path.startsWith(`${other} `))
      assert.deepEqual(
        texts(a.without(b)),
        texts(a).filter((path) => !below(path)),
      )
      assert.equal(a.difference(a).empty, true)
      for (const path of a.paths()) assert.ok(a.has(path))
    }),
  )
})

test('FieldsV1 is written in the order of a kube-apiserver', () => {
  const fields = FieldSet.of(['f:b'], ['f:b', 'f:c'], ['f:a', 'v:"y"'], ['f:a', 'k:{"uid":"1"}'], ['f:a', 'f:z'])
  assert.equal(
    JSON.stringify(fields.toFieldsV1()),
    '{"f:a":{"f:z":{},"k:{\\"uid\\":\\"1\\"}":{},"v:\\"y\\"":{}},"f:b":{".":{},"f:c":{}}}',
  )
  assert.deepEqual([...fields.paths()].map(pathText), ['.b', '.a.z', '.a[uid="1"]', '.a[="y"]', '.b.c'])
})

test('owners that cannot be read are none', () => {
  const entry = { manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }
  assert.equal(decodeOwners([entry])?.size, 1)
  assert.equal(decodeOwners(undefined)?.size, 0)
  const bad = [
    { operation: 'Delete' },
    { apiVersion: '' },
    { fieldsType: 'V2' },
    { fieldsV1: { x: {} } },
    { fieldsV1: { 'f:x': 1 } },
  ]
  for (const fault of bad) assert.equal(decodeOwners([{ ...entry, ...fault }]), undefined, JSON.stringify(fault))
})

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

test('kubectl takes over what its own apply left, unless somebody changed it since', () => {
  const before = {
    apiVersion: 'search.karmada.io/v1alpha1',
    kind: 'ResourceRegistry',
    metadata: { name: 'a', labels: { x: '1' } },
  }
  const annotations = { [LAST_APPLIED]: JSON.stringify({ ...before, spec: input('a').spec }) }
  const fieldsV1 = { 'f:metadata': { 'f:labels': { 'f:x': {} } }, 'f:spec': { 'f:resourceSelectors': {} } }
  const owner = { operation: 'Update', apiVersion: before.apiVersion, fieldsType: 'FieldsV1', fieldsV1 }
  const stored = input(
    'a',
    {},
    { labels: { x: '1' }, annotations, managedFields: [{ ...owner, manager: 'kubectl-client-side-apply' }] },
  )
  const wanted = { ...before, metadata: { name: 'a', labels: { x: '2' } } }
  const writer = { manager: 'kubectl', subresource: '', now: '2026-11-30T00:00:00Z' } as const
  const applied = applyConfiguration(stored, wanted, writer, false)
  assert.deepEqual(applied.metadata.labels, { x: '2' })
  assert.equal(applied.metadata.annotations?.[LAST_APPLIED], `${JSON.stringify(wanted)}\n`, 'the annotation stays true')
  const others = { ...writer, manager: 'somebody' }
  assert.throws(
    () => applyConfiguration(stored, wanted, others, false),
    (error) => isStatusError(error, 'conflict'),
  )
  const changed: ResourceRegistry = { ...stored, metadata: { ...stored.metadata, labels: { x: '3' } } }
  assert.throws(() => applyConfiguration(changed, wanted, writer, false), /\.metadata\.labels\.x/)
})

test('fields that only another version knows stay where they are, for as long as what they belong to', () => {
  const stored = {
    extra: 1,
    metadata: { name: 'a', labels: { x: '1' }, later: {} },
    spec: {
      more: [1],
      targetCluster: { clusterNames: ['m1'], weights: { m1: 2 } },
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'Pod', names: ['web'] },
        { kind: 'Node', apiVersion: 'v1', names: ['n1'] },
      ],
      backendStore: { openSearch: { addresses: ['http://x'], tls: true } },
    },
  }
  const registry = input('a', { targetCluster: { exclude: ['m2'] } }, { labels: { y: '1' } })
  const next = {
    ...registry,
    spec: {
      ...registry.spec,
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'Secret' },
        { apiVersion: 'v1', kind: 'Node' },
        { apiVersion: 'v1', kind: 'Pod' },
      ],
    },
  }
  const kept = keepUnknownFields(next, stored) as typeof stored
  assert.equal(kept.extra, 1)
  assert.deepEqual(kept.metadata, { ...next.metadata, later: {} })
  assert.deepEqual(kept.spec, {
    more: [1],
    targetCluster: { exclude: ['m2'], weights: { m1: 2 } },
    resourceSelectors: [
      { apiVersion: 'v1', kind: 'Secret' },
      { apiVersion: 'v1', kind: 'Node', names: ['n1'] },
      { apiVersion: 'v1', kind: 'Pod' },
    ],
  })
})

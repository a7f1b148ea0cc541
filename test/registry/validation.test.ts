import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causesOf } from '../../src/registry/field-fault.ts'
import { decodeRegistry } from '../../src/registry/decode.ts'
import { registryInvalid } from '../../src/registry/errors.ts'
import { registryFaults } from '../../src/registry/validation.ts'
import { isStatusError } from '../../src/kube/status-error.ts'

const faults = (body: unknown): string[] =>
  registryFaults(decodeRegistry(body).registry).map(({ reason, field }) => `${reason} ${field}`)

const withSpec = (spec: unknown): unknown => ({ metadata: { name: 'a' }, spec })

test('C9: every fault of a registry is told at once, with its field path, as the original codes them', () => {
  const body = {
    apiVersion: 'search.karmada.io/v1alpha1',
    kind: 'ResourceRegistry',
    metadata: { name: 'Bad_Name' },
    spec: {
      targetCluster: {},
      resourceSelectors: [{ apiVersion: 'a/b/c', kind: 'Pod', namespace: 'Bad_NS' }],
      backendStore: {
        openSearch: {
          addresses: ['localhost:9200', 'ftp://h', 'http://'],
          secretRef: { namespace: 'a', name: 'b' },
        },
      },
    },
  }
  const { registry } = decodeRegistry(body)
  const error = registryInvalid('Bad_Name', causesOf(registryFaults(registry)))
  const status = error.toStatus()
  assert.equal(status.code, 422)
  assert.equal(status.reason, 'Invalid')
  assert.deepEqual(
    { ...status.details, causes: status.details?.causes?.map(({ reason, field }) => ({ reason, field })) },
    {
      name: 'Bad_Name',
      group: 'search.karmada.io',
      kind: 'ResourceRegistry',
      causes: [
        { reason: 'FieldValueInvalid', field: 'metadata.name' },
        { reason: 'FieldValueInvalid', field: 'spec.resourceSelectors[0].apiVersion' },
        { reason: 'FieldValueInvalid', field: 'spec.resourceSelectors[0].namespace' },
        { reason: 'FieldValueInvalid', field: 'spec.backendStore.openSearch.addresses[0]' },
        { reason: 'FieldValueInvalid', field: 'spec.backendStore.openSearch.addresses[1]' },
        { reason: 'FieldValueInvalid', field: 'spec.backendStore.openSearch.addresses[2]' },
      ],
    },
  )
  assert.match(
    error.message,
    /^ResourceRegistry\.search\.karmada\.io "Bad_Name" is invalid: \[metadata\.name: Invalid value: "Bad_Name": .*, spec/,
  )
})

test('C9: selectors of clusters are checked: operators, values, keys, fields', () => {
  const expressions = (selector: string, ...matchExpressions: unknown[]): string[] =>
    faults(withSpec({ targetCluster: { [selector]: { matchExpressions } }, resourceSelectors: [] }))
  const at = (selector: string, field: string): string => `spec.targetCluster.${selector}.matchExpressions[0].${field}`
  assert.deepEqual(expressions('labelSelector', { key: 'a', operator: 'In' }), [
    `FieldValueRequired ${at('labelSelector', 'values')}`,
  ])
  assert.deepEqual(expressions('labelSelector', { key: 'a', operator: 'Exists', values: ['x'] }), [
    `FieldValueForbidden ${at('labelSelector', 'values')}`,
  ])
  assert.deepEqual(expressions('labelSelector', { key: '-', operator: 'Has', values: ['_'] }), [
    `FieldValueInvalid ${at('labelSelector', 'key')}`,
    `FieldValueInvalid ${at('labelSelector', 'operator')}`,
    `FieldValueInvalid ${at('labelSelector', 'values[0]')}`,
  ])
  assert.deepEqual(expressions('fieldSelector', { key: 'colour', operator: 'Exists' }), [
    `FieldValueNotSupported ${at('fieldSelector', 'key')}`,
    `FieldValueNotSupported ${at('fieldSelector', 'operator')}`,
    `FieldValueRequired ${at('fieldSelector', 'values')}`,
  ])
  assert.deepEqual(faults(withSpec({ targetCluster: { labelSelector: { matchLabels: { 'a b': 'x y' } } } })), [
    'FieldValueInvalid spec.targetCluster.labelSelector.matchLabels',
    'FieldValueInvalid spec.targetCluster.labelSelector.matchLabels',
  ])
})

test('what the original takes is taken: no selectors, no apiVersion, every form of a good address', () => {
  assert.deepEqual(faults({ metadata: { name: 'a' } }), [])
  assert.deepEqual(
    faults(
      withSpec({
        targetCluster: {
          clusterNames: ['ghost', 'Not A Name'],
          exclude: [''],
          labelSelector: { matchExpressions: [{ key: 'managed', operator: 'Exists' }] },
          fieldSelector: { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['eu 1'] }] },
        },
        resourceSelectors: [
          { kind: 'Pod' },
          { apiVersion: '', kind: 'Pod' },
          { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop' },
          { apiVersion: '*', kind: '*' },
        ],
        backendStore: {
          openSearch: { addresses: ['https://os:9200', 'HTTP://[::1]:9200/path', 'http://user:pw@h/'] },
          elasticsearch: { addresses: [] },
        },
      }),
    ),
    [],
  )
  assert.deepEqual(faults(withSpec({ resourceSelectors: [{ apiVersion: 'v1' }] })), [
    'FieldValueRequired spec.resourceSelectors[0].kind',
  ])
})

test('metadata is checked like a kube-apiserver does', () => {
  const metadata = {
    name: 'a',
    labels: { 'x/y/z': 'ok', ok: '-' },
    annotations: { 'UPPER.example.com/Key': 'fine', '': 'x', big: 'x'.repeat(262_144) },
    finalizers: ['no spaces'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n' }],
  }
  assert.deepEqual(faults({ metadata }), [
    'FieldValueInvalid metadata.labels',
    'FieldValueInvalid metadata.labels',
    'FieldValueInvalid metadata.annotations',
    'FieldValueInvalid metadata.annotations',
    'FieldValueTooLong metadata.annotations',
    'FieldValueInvalid metadata.finalizers[0]',
    'FieldValueInvalid metadata.ownerReferences[0].uid',
  ])
})

test('a body of the wrong types or kind is a bad request that names the field', () => {
  const refused = (body: unknown, words: RegExp): void => {
    assert.throws(
      () => decodeRegistry(body),
      (error) => isStatusError(error, 'badRequest') && words.test(error.message),
    )
  }
  refused(null, /the body is empty/)
  refused([], /the body must be an object, not a list/)
  refused({ metadata: { name: 1 } }, /metadata\.name must be a string, not 1/)
  refused(
    withSpec({ targetCluster: { clusterNames: 'a' } }),
    /spec\.targetCluster\.clusterNames must be a list, not "a"/,
  )
  refused(withSpec({ resourceSelectors: [{ kind: {} }] }), /spec\.resourceSelectors\[0\]\.kind must be a string/)
  refused({ metadata: { creationTimestamp: 'yesterday' } }, /metadata\.creationTimestamp must be an RFC 3339 time/)
  refused(
    { metadata: { creationTimestamp: '2020-02-30T00:00:00Z' } },
    /metadata\.creationTimestamp must be an RFC 3339 time/,
  )
  refused({ kind: 'Pod', apiVersion: 'v1' }, /\(v1, Kind=Pod\) does not match the expected type/)
})

test('unknown fields are dropped and named', () => {
  const { registry, unknownFields } = decodeRegistry({
    metadata: { name: 'x', colour: 'red' },
    spec: { targetClusters: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod', name: 'p' }] },
    extra: JSON.parse('{"__proto__":1}') as unknown,
  })
  assert.deepEqual(unknownFields, ['metadata.colour', 'spec.targetClusters', 'spec.resourceSelectors[0].name', 'extra'])
  assert.deepEqual(registry.spec, { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] })
})

test('a value that karmada-search wrote to etcd reads as it is', () => {
  const stored = {
    kind: 'ResourceRegistry',
    apiVersion: 'search.karmada.io/v1alpha1',
    metadata: {
      name: 'all',
      uid: '3174c7c9-1fcf-4466-b582-421ab1950d0e',
      creationTimestamp: '2026-11-30T15:16:55Z',
      managedFields: [
        {
          manager: 'curl',
          operation: 'Update',
          apiVersion: 'search.karmada.io/v1alpha1',
          time: '2026-11-30T15:16:55Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:spec': { 'f:resourceSelectors': {} } },
        },
      ],
    },
    spec: {
      targetCluster: {},
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'Pod' },
        { apiVersion: 'v1', kind: 'Node' },
      ],
    },
    status: {},
  }
  const { registry, unknownFields } = decodeRegistry(stored)
  assert.deepEqual(unknownFields, [])
  assert.equal(
    JSON.stringify({ ...registry, metadata: { ...registry.metadata, resourceVersion: undefined } }),
    JSON.stringify(stored),
  )
})

test('what is to be redacted has to be readable, line by line', () => {
  const annotated = (text: string): unknown => ({
    metadata: { name: 'a', annotations: { 'fleetsearch.dev/redact': text } },
    spec: { targetCluster: {}, resourceSelectors: [] },
  })
  assert.deepEqual(faults(annotated('ConfigMap: data.*\n\n# more\nDatabase.db.example.io: spec.password')), [])
  const invalid = 'FieldValueInvalid metadata.annotations[fleetsearch.dev/redact]'
  assert.deepEqual(faults(annotated('ConfigMap data\nPod: metadata.name')), [invalid, invalid])
})

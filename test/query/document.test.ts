import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnsOf } from '../../src/kube/columns/index.ts'
import { DocumentBuilder, type SearchDocument } from '../../src/query/document.ts'
import { TERM_LINES } from '../../src/query/term-lines.ts'
import { fieldValues } from '../../src/query/field-values.ts'
import { goJson } from '../../src/kube/json-deep.ts'
import { isIndexedPath } from '../../src/query/index-rules.ts'
import { allFields } from '../support/search.ts'

const identity = {
  cluster: 'member1',
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  namespace: 'shop',
  name: 'web-1',
  uid: 'u1',
  resourceVersion: '7',
}

const builder = new DocumentBuilder(TERM_LINES)

function documentOf(object: object, of: Partial<typeof identity> = {}): SearchDocument {
  const whole = { ...identity, ...of }
  return builder.build(whole, Buffer.from(JSON.stringify(object)), columnsOf(whole))
}

const has = ({ terms }: SearchDocument, term: string): boolean =>
  terms.split('\n').includes(term.replace('|', '\u001f'))

test('images, nodes, owners and addresses are found wherever a kind keeps them', () => {
  const template = { spec: { initContainers: [{ image: 'init:1' }], containers: [{ image: 'app:2' }], nodeName: 'n1' } }
  const cron = documentOf(
    { metadata: { ownerReferences: [{ kind: 'X', name: 'boss' }] }, spec: { jobTemplate: { spec: { template } } } },
    { group: 'batch', kind: 'CronJob' },
  )
  for (const term of ['image|=init:1', 'image|=app:2', 'node|=n1', 'owner|=boss'])
    assert.equal(has(cron, term), true, term)
  const service = documentOf(
    {
      spec: { clusterIP: '10.9.8.7', clusterIPs: ['10.9.8.7'], externalIPs: ['1.2.3.4'] },
      status: { loadBalancer: { ingress: [{ ip: '5.6.7.8' }] } },
    },
    { kind: 'Service' },
  )
  for (const ip of ['10.9.8.7', '1.2.3.4', '5.6.7.8']) assert.equal(has(service, `ip|=${ip}`), true, ip)
  assert.equal(has(documentOf({ spec: { clusterIP: 'None' } }, { kind: 'Service' }), 'ip|=None'), false)
})

test('heartbeats, managed fields and the last-applied annotation change nothing', () => {
  const lease = (renewTime: string, manager: string): SearchDocument =>
    documentOf({
      metadata: {
        resourceVersion: renewTime,
        managedFields: [{ manager }],
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': manager, kept: 'x' },
      },
      spec: { renewTime, holderIdentity: 'me' },
      status: { conditions: [{ type: 'Ready', lastHeartbeatTime: renewTime, lastProbeTime: renewTime }] },
    })
  // All but the object itself, which it was made of.
  const indexed = ({ object: _, ...rest }: SearchDocument) => rest
  assert.deepEqual(indexed(lease('2026-01-01T00:00:00Z', 'a')), indexed(lease('2026-01-01T00:00:10Z', 'b')))
  for (const path of [
    '.spec.renewtime',
    '.metadata.managedfields.manager',
    '.spec.versions.schema.x',
    '.status.conditions.lastprobetime',
  ]) {
    assert.equal(isIndexedPath(path), false, path)
  }
  for (const path of ['.spec', '.spec.renewtimes', '.metadata.finalizers'])
    assert.equal(isIndexedPath(path), true, path)
})

test('keys that a prototype or a separator of ours would trip over are plain keys', () => {
  const object = JSON.parse('{"spec":{"__proto__":{"constructor":"x"},"a\\u001fb":"y","c\\nd":"e\\nf"}}') as object
  const document = documentOf(object)
  assert.equal(has(document, '.spec.__proto__.constructor|=x'), true)
  assert.equal(has(document, '.spec.a b|=y'), true)
  assert.equal(has(document, '.spec.c d|=e f'), true)
})

test('a giant object is indexed up to a bound', () => {
  const data = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key-${i}`, `value ${i}`]))
  const document = documentOf({ data }, { kind: 'ConfigMap' })
  assert.equal(document.terms.length < 300 * 1024, true)
  assert.equal(document.otherWords.length < 70 * 1024, true)
  assert.equal(has(document, '.data.key-0|=value 0'), true)
  let nested: object = {}
  for (let i = 0; i < 1_000; i++) nested = { a: nested }
  documentOf({ spec: nested })
})

test('what is not JSON is refused', () => {
  assert.throws(() => builder.build(identity, Buffer.from('{"a":'), undefined), SyntaxError)
})

test('fields show what they are: numbers, several values, leaves of lists', () => {
  const object = {
    metadata: { labels: { app: 'web' }, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      containers: [
        { image: 'a', ports: [{ containerPort: 80 }] },
        { image: 'b', ports: [{ containerPort: 443 }] },
      ],
    },
    status: { containerStatuses: [{ restartCount: 4 }], 'odd.key': true },
  }
  const values = (name: string) => {
    const field = allFields.find(name)
    assert.notEqual(field, undefined, name)
    return field === undefined ? [] : fieldValues(field, object, identity, columnsOf(identity))
  }
  assert.deepEqual(values('restarts'), [4])
  assert.deepEqual(values('image'), ['a', 'b'])
  assert.deepEqual(values('spec.Containers.ports.containerport'), [80, 443])
  assert.deepEqual(values('label.app'), ['web'])
  assert.deepEqual(values('label.toString'), [])
  assert.deepEqual(values('age'), ['2026-01-01T00:00:00Z'])
  assert.deepEqual(values('status.odd.key'), [true])
  assert.deepEqual(values('apiversion'), ['v1'])
  assert.deepEqual(values('spec.containers'), ['a', 80, 'b', 443])
})

test('an object that nests deeper than there is stack for is a document like any other, its secrets empty', () => {
  const deep = (inner: string): string => '{"a":'.repeat(9_900) + inner + '}'.repeat(9_900)
  const secret = '{"apiVersion":"v1","kind":"Secret","data":{"password":"s3cret"}}'
  const text = `{"spec":{"n":9007199254740993,"x":${deep(secret)}},"status":{"z":"found"}}`
  const document = builder.build(identity, Buffer.from(text), undefined)
  assert.equal(has(document, '.spec.n|#p5169007199254740993'), true)
  assert.equal(has(document, '.status.z|=found'), true)
  assert.doesNotMatch(goJson(document.object), /s3cret/)
})

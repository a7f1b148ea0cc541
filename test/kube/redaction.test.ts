import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalize } from '../../src/kube/canonical-object.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { parseRedaction, redactionOf, Redactor, REDACTED_ANNOTATION } from '../../src/kube/redaction.ts'

const DATABASE = { group: 'db.example.io', kind: 'Database' }
const identity = { apiVersion: 'db.example.io/v1', kind: 'Database', cluster: 'm1' as ClusterName }

interface Shown {
  metadata: { annotations: Record<string, string>; [key: string]: unknown }
  [key: string]: unknown
}

function shown(rules: string, object: object): Shown {
  const { bytes } = canonicalize(Buffer.from(JSON.stringify(object)), identity)
  return JSON.parse(new Redactor(redactionOf([rules], DATABASE)).redact(bytes).toString('utf8')) as Shown
}

const metadata = { name: 'a', resourceVersion: '1' }

test('values at paths are masked, lists and any key included; the marker says which', () => {
  const object = {
    metadata: { ...metadata, annotations: { 'a.b/c': 's3cret', d: 'x' }, managedFields: [{ manager: 's3cret' }] },
    spec: {
      password: 's3cret',
      users: [{ token: 's3cret', name: 'u' }, { token: 7 }],
      keys: { one: 's3cret', two: ['s3cret', 5, { deep: 's3cret' }] },
      big: 9007199254740993,
    },
  }
  const rules = `
    # of the shop
    Database.db.example.io: spec.password, spec.users.token,spec.keys.*, spec.absent
    Database.db.example.io: metadata.annotations["a.b/c"]
    Database: spec.big`
  const { metadata: meta, spec } = shown(rules, object)
  assert.deepEqual(spec, {
    password: 'redacted',
    users: [{ token: 'redacted', name: 'u' }, {}],
    keys: { one: 'redacted', two: ['redacted', { deep: 'redacted' }] },
    big: 9007199254740993,
  })
  assert.equal(meta['managedFields'], undefined)
  assert.deepEqual(meta.annotations, {
    'a.b/c': 'redacted',
    'cluster.karmada.io/name': 'm1',
    d: 'x',
    [REDACTED_ANNOTATION]: 'metadata.annotations["a.b/c"], spec.keys.*, spec.password, spec.users.token',
    'resource.karmada.io/cached-from-cluster': 'm1',
  })
})

test('all annotations: those that say where it comes from stay', () => {
  for (const path of ['metadata.annotations', 'metadata.annotations.*']) {
    const { metadata: meta } = shown(`Database.db.example.io: ${path}`, {
      metadata: { ...metadata, annotations: { a: 's3cret' } },
    })
    assert.deepEqual(meta.annotations, {
      a: 'redacted',
      'cluster.karmada.io/name': 'm1',
      [REDACTED_ANNOTATION]: 'metadata.annotations.*',
      'resource.karmada.io/cached-from-cluster': 'm1',
    })
  }
})

test('an object without such values is as it was, byte for byte; a repeated manifest never is', () => {
  const rules = 'Database.db.example.io: spec.password'
  const { bytes } = canonicalize(Buffer.from(JSON.stringify({ metadata, spec: { a: 1 } })), identity)
  const redactor = new Redactor(redactionOf([rules], DATABASE))
  assert.equal(redactor.redact(bytes), bytes)
  const last = 'kubectl.kubernetes.io/last-applied-configuration'
  const { metadata: meta } = shown(rules, { metadata: { ...metadata, annotations: { [last]: 'had s3cret' } } })
  assert.equal(meta.annotations[last], 'redacted')
  assert.ok(REDACTED_ANNOTATION in meta.annotations)
})

test('rules of several registries are united, and are the same text for the same paths', () => {
  const one = redactionOf(['Database.db.example.io: b, a', 'Secret: data.*'], DATABASE)
  assert.equal(one, redactionOf(['Database.db.example.io: a', 'Database.db.example.io: b,a'], DATABASE))
  assert.equal(redactionOf(['Database: a', 'database.db.example.io: a'], DATABASE), '')
})

test('what cannot be read is a fault with its line, and takes everything out rather than nothing', () => {
  const bad = [
    'Database.db.example.io spec.password',
    'Database.db.example.io:',
    'Database.db.example.io: spec..password',
    'Database.db.example.io: .spec',
    'Database.db.example.io: spec.password;',
    'Database.db.example.io: spec["a"',
    'Database.db.example.io: metadata.name',
    'Database.db.example.io: metadata',
    'Database.db.example.io: kind',
    'Data base: spec.password',
    ': spec',
    `Database.db.example.io: ${'x'.repeat(20_000)}`,
  ]
  for (const rules of bad) {
    assert.equal(parseRedaction(rules).faults.length, 1, rules)
    const object = {
      metadata: { ...metadata, annotations: { a: 's3cret' } },
      spec: { password: 's3cret' },
      data: 's3cret',
    }
    assert.doesNotMatch(JSON.stringify(shown(rules, object)), /s3cret/, rules)
  }
})

test('whatever an object holds at a redacted path, nothing of it is left', () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
  fc.assert(
    fc.property(json, json, (secret, rest) => {
      const seeded = JSON.parse(JSON.stringify(secret), (_, value: unknown) =>
        typeof value === 'string' ? `s3cret${value}` : typeof value === 'number' ? 424_242 : value,
      ) as unknown
      const object = { metadata, spec: { hidden: seeded, list: [{ hidden: seeded }, rest] } }
      const text = JSON.stringify(shown('Database.db.example.io: spec.hidden, spec.list.hidden', object))
      assert.doesNotMatch(text.replaceAll(JSON.stringify(rest), ''), /s3cret|424242/)
    }),
  )
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CACHED_FROM_CLUSTER_ANNOTATION, CLUSTER_NAME_ANNOTATION } from '../../src/kube/annotations.ts'
import { canonicalize, partialObjectMetadata, withResourceVersion } from '../../src/kube/canonical-object.ts'
import type { ObjectIdentity } from '../../src/kube/canonical-object.ts'
import { MalformedObjectError } from '../../src/kube/malformed-error.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { scanObject } from '../../src/kube/object-scanner.ts'
import { kubeObjectText } from './json-arbitrary.ts'
import { METADATA_FIELDS } from './metadata-fields.ts'

const identity: ObjectIdentity = { apiVersion: 'v1', kind: 'Pod', cluster: 'member1' as ClusterName }

/** What is spliced in: the type in front, the annotations at the head of metadata or of the annotations there are. */
const TYPE = '"kind":"Pod","apiVersion":"v1",'
const BOTH = '"resource.karmada.io/cached-from-cluster":"member1","cluster.karmada.io/name":"member1"'

const canonical = (text: string): string => canonicalize(Buffer.from(text), identity).bytes.toString('utf8')

type Fields = Record<string, unknown>

/** The same on values: what a program that decodes and encodes would make of it. */
function expected(text: string): Fields {
  const object = JSON.parse(text) as Fields & { metadata: Fields }
  object['kind'] ||= 'Pod'
  object['apiVersion'] ||= 'v1'
  object.metadata['resourceVersion'] ??= ''
  const annotations = (object.metadata['annotations'] ??= {}) as Fields
  annotations[CACHED_FROM_CLUSTER_ANNOTATION] = 'member1'
  annotations[CLUSTER_NAME_ANNOTATION] = 'member1'
  return object
}

describe('canonicalize', () => {
  test('equals what decoding, setting and encoding would make of any object, on one line', () => {
    fc.assert(
      fc.property(kubeObjectText, (text) => {
        const result = canonical(text)
        assert.deepEqual(JSON.parse(result), expected(text))
        assert.doesNotMatch(result, /[\r\n]/)
      }),
      { numRuns: 1_000 },
    )
  })

  test('tells the spans of what it made', () => {
    fc.assert(
      fc.property(kubeObjectText, (text) => {
        const { bytes, meta } = canonicalize(Buffer.from(text), identity)
        const scanned = scanObject(bytes)
        for (const field of ['kind', 'apiVersion', ...METADATA_FIELDS] as const) {
          assert.deepEqual(meta[field], scanned[field], field)
        }
        assert.ok(meta.versionStart > 0 && meta.annotationsStart > 0)
      }),
      { numRuns: 1_000 },
    )
  })

  test('changes nothing the second time', () => {
    fc.assert(
      fc.property(kubeObjectText, (text) => {
        const once = canonical(text)
        assert.equal(canonical(once), once)
      }),
    )
  })

  test('splices into a list item and leaves every other byte alone', () => {
    const spec =
      '"spec":{"big":9007199254740993,"neg":-9223372036854775808,"float":1.10,"e":"1e3","z":1,"a":2,' +
      '"__proto__":{"x":1},"constructor":null,"eventTime":"2026-01-02T03:04:05.123456Z","text":"漢\\u6f22😀"}'
    const text = `{"metadata":{"name":"a","resourceVersion":"7"},${spec}}`
    assert.equal(
      canonical(text),
      `{${TYPE}"metadata":{"annotations":{${BOTH}},"name":"a","resourceVersion":"7"},${spec}}`,
    )
  })

  test('adds to the annotations that are there', () => {
    assert.equal(
      canonical('{"metadata":{"name":"a","annotations":{"x":"1"},"resourceVersion":"7"}}'),
      `{${TYPE}"metadata":{"name":"a","annotations":{${BOTH},"x":"1"},"resourceVersion":"7"}}`,
    )
    assert.equal(
      canonical('{"metadata":{"name":"a","annotations":{ },"resourceVersion":"7"}}'),
      `{${TYPE}"metadata":{"name":"a","annotations":{${BOTH} },"resourceVersion":"7"}}`,
    )
  })

  test('does not double annotations that are there already', () => {
    const theirs = `"${CLUSTER_NAME_ANNOTATION}":"other","x":"1"`
    assert.equal(
      canonical(`{"metadata":{"name":"a","annotations":{${theirs}},"resourceVersion":"7"}}`),
      `{${TYPE}"metadata":{"name":"a","annotations":{ "${CACHED_FROM_CLUSTER_ANNOTATION}":"member1",` +
        `"${CLUSTER_NAME_ANNOTATION}":"member1","x":"1"},"resourceVersion":"7"}}`,
    )
  })

  test('keeps kind and apiVersion that are there, in their place', () => {
    const result = canonical('{"apiVersion":"a.io/v2","metadata":{"name":"a","resourceVersion":"7"},"kind":"Own"}')
    assert.match(result, /^\{"apiVersion":"a.io\/v2","metadata":.*,"kind":"Own"\}$/)
  })

  test('gives an object without a version an empty one, to be exchanged', () => {
    const { bytes, meta } = canonicalize(Buffer.from('{"metadata":{"name":"a"}}'), identity)
    assert.equal(meta.resourceVersion, '')
    const object = JSON.parse(withResourceVersion({ bytes, ...meta }, '12').toString('utf8')) as Fields
    assert.deepEqual(object['metadata'], {
      name: 'a',
      resourceVersion: '12',
      annotations: { [CACHED_FROM_CLUSTER_ANNOTATION]: 'member1', [CLUSTER_NAME_ANNOTATION]: 'member1' },
    })
  })

  test('copies: neither writes to what it got nor hands out a view of it', () => {
    const source = Buffer.from('{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"}}')
    const before = Buffer.from(source)
    const { bytes } = canonicalize(source, identity)
    const made = Buffer.from(bytes)
    assert.deepEqual(source, before)
    source.fill(0)
    assert.deepEqual(bytes, made)
  })

  test('takes plain Uint8Arrays, also in the middle of a larger buffer', () => {
    const all = new TextEncoder().encode('xx{"metadata":{"name":"a","resourceVersion":"7"}}yy')
    assert.equal(canonicalize(all.subarray(2, -2), identity).meta.name, 'a')
  })

  test('quotes names of clusters that need it', () => {
    const odd = { ...identity, cluster: 'a"b\\漢' as ClusterName }
    const { bytes } = canonicalize(Buffer.from('{"metadata":{"name":"a"}}'), odd)
    assert.match(bytes.toString('utf8'), /"cluster.karmada.io\/name":"a\\"b\\\\漢"/)
  })

  for (const text of [
    '{"metadata":{}}',
    '{"metadata":{"name":""}}',
    '{"kind":"Pod"}',
    '{"metadata":{"name":"a"}',
    '1\n2',
  ]) {
    test(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => canonical(text), MalformedObjectError)
    })
  }
})

describe('withResourceVersion', () => {
  test('exchanges the version and nothing else', () => {
    fc.assert(
      fc.property(kubeObjectText, fc.stringMatching(/^[A-Za-z0-9_-]*$/), (text, token) => {
        const { bytes, meta } = canonicalize(Buffer.from(text), identity)
        const exchanged = withResourceVersion({ bytes, ...meta }, token)
        const object = JSON.parse(bytes.toString('utf8')) as { metadata: Fields }
        object.metadata['resourceVersion'] = token
        assert.deepEqual(JSON.parse(exchanged.toString('utf8')), object)
        assert.equal(exchanged.length, bytes.length - (meta.versionEnd - meta.versionStart) + token.length)
      }),
    )
  })
})

describe('partialObjectMetadata', () => {
  test('has the metadata byte for byte', () => {
    const metadata = `{"annotations":{${BOTH}},"name":"a","resourceVersion":"7","n":9007199254740993}`
    const bytes = canonicalize(
      Buffer.from('{"metadata":{"name":"a","resourceVersion":"7","n":9007199254740993}}'),
      identity,
    )
    assert.equal(
      partialObjectMetadata(bytes.bytes).toString('utf8'),
      `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":${metadata}}`,
    )
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { MalformedObjectError } from '../../src/kube/malformed-error.ts'
import { scanHead, scanObject } from '../../src/kube/object-scanner.ts'
import type { ObjectMetaSpans } from '../../src/kube/object-scanner.ts'
import { kubeObjectText } from './json-arbitrary.ts'
import { METADATA_FIELDS } from './metadata-fields.ts'

const scan = (text: string): ObjectMetaSpans => scanObject(Buffer.from(text))

/** The values between two positions, as JSON.parse sees them. */
function valueAt(text: string, start: number, end: number): unknown {
  return start === -1 ? undefined : JSON.parse(Buffer.from(text).toString('utf8', start, end))
}

function versionAt(text: string, meta: ObjectMetaSpans): unknown {
  return meta.versionStart === -1 ? undefined : valueAt(text, meta.versionStart - 1, meta.versionEnd + 1)
}

interface Parsed {
  readonly kind?: string | null
  readonly apiVersion?: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

describe('scanObject', () => {
  test('agrees with JSON.parse on everything it learns', () => {
    fc.assert(
      fc.property(kubeObjectText, (text) => {
        const { metadata, ...top } = JSON.parse(text) as Parsed
        const meta = scan(text)
        assert.equal(meta.kind, top.kind ?? '')
        assert.equal(meta.apiVersion, top.apiVersion ?? '')
        for (const field of ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp'] as const) {
          assert.equal(meta[field], metadata[field] ?? '', field)
        }
        assert.equal(meta.deletionTimestamp, metadata['deletionTimestamp'] || undefined)
        assert.deepEqual(new Map(meta.labels), new Map(Object.entries(metadata['labels'] ?? {})))
        assert.equal(meta.labels.length, Object.keys(metadata['labels'] ?? {}).length)
        assert.deepEqual(valueAt(text, meta.metadataStart, meta.metadataEnd), metadata)
        assert.deepEqual(valueAt(text, meta.labelsStart, meta.labelsEnd), metadata['labels'] ?? undefined)
        assert.deepEqual(
          valueAt(text, meta.annotationsStart, meta.annotationsEnd),
          metadata['annotations'] ?? undefined,
        )
        assert.deepEqual(
          valueAt(text, meta.ownerReferencesStart, meta.ownerReferencesEnd),
          metadata['ownerReferences'] ?? undefined,
        )
        assert.equal(versionAt(text, meta), metadata['resourceVersion'] ?? undefined)
      }),
      { numRuns: 1_000 },
    )
  })

  test('scanHead learns the same about metadata without reading the rest', () => {
    fc.assert(
      fc.property(kubeObjectText, (text) => {
        const meta = scan(text)
        const head = scanHead(Buffer.from(text))
        for (const field of METADATA_FIELDS) assert.deepEqual(head[field], meta[field], field)
      }),
    )
    const broken = Buffer.from('{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":not JSON')
    assert.equal(scanHead(broken).name, 'a')
  })

  test('finds keys that are written with escapes, and values too', () => {
    const meta = scan('{"met\\u0061data":{"na\\u006de":"w\\u0065b","resourceVersion":"1\\u0030"}}')
    assert.equal(meta.name, 'web')
    assert.equal(meta.resourceVersion, '10')
  })

  test('is not led astray by the same words elsewhere', () => {
    const meta = scan(
      '{"spec":{"metadata":{"name":"wrong"},"name":"wrong"},"metadata":{"a":{"name":"wrong"},"name":"right"},' +
        '"name":"wrong","list":[{"kind":"Wrong"}],"text":"\\"metadata\\":{\\"name\\":\\"wrong\\"}"}',
    )
    assert.equal(meta.name, 'right')
    assert.equal(meta.kind, '')
  })

  test('lets the last of equal keys count, as JSON.parse does', () => {
    const meta = scan(
      '{"kind":"A","kind":"B","metadata":{"name":"a","labels":{"x":"1"},"name":"b","labels":{"y":"1","y":"2"}}}',
    )
    assert.equal(meta.kind, 'B')
    assert.equal(meta.name, 'b')
    assert.deepEqual(meta.labels, [['y', '2']])
    const many = [...Array(50).keys()].map((i) => `"k${i % 40}":"${i}"`).join(',')
    assert.equal(scan(`{"metadata":{"labels":{${many}}}}`).labels.length, 40)
  })

  test('does without metadata', () => {
    const meta = scan('{"kind":"Status"}')
    assert.equal(meta.metadataStart, -1)
    assert.equal(meta.name, '')
    assert.equal(scan('{"metadata":null}').metadataStart, -1)
  })

  const malformed: readonly (readonly [string, string])[] = [
    ['', 'truncated'],
    ['[]', 'syntax'],
    ['"text"', 'syntax'],
    ['{"metadata":{"name":"a"}} x', 'syntax'],
    ['{"metadata":{"name":"a"}', 'truncated'],
    ['{"metadata":[]}', 'shape'],
    ['{"metadata":{"name":1}}', 'shape'],
    ['{"metadata":{"labels":["a"]}}', 'shape'],
    ['{"metadata":{"labels":{"a":1}}}', 'shape'],
    ['{"metadata":{"annotations":"a"}}', 'shape'],
    ['{"metadata":{},"metadata":{}}', 'shape'],
    ['{"kind":{}}', 'shape'],
  ]
  for (const [text, code] of malformed) {
    test(`refuses ${text || 'nothing'} as ${code}`, () => {
      assert.throws(
        () => scan(text),
        (error) => error instanceof MalformedObjectError && error.code === code,
      )
    })
  }

  test('says at which byte the JSON breaks', () => {
    assert.throws(() => scan('{"metadata":{"name":x}}'), /unexpected 'x' in JSON \(at byte 20\)/)
  })
})

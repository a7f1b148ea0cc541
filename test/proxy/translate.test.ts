/** What is taken out of bodies on their way to a member, put back and exchanged; all other bytes stay. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { CACHED_FROM_CLUSTER_ANNOTATION as FROM, CLUSTER_NAME_ANNOTATION as NAME } from '../../src/kube/annotations.ts'
import { canonicalize, mayHaveOwnAnnotations, withResourceVersion } from '../../src/kube/canonical-object.ts'
import { lengthDelimited } from '../../src/kube/protobuf-rewrite.ts'
import { readEnvelope, readFields, textOf } from '../../src/kube/protobuf.ts'
import type { ProxyRequest } from '../../src/proxy/plugin.ts'
import { translateBody, type BodyFormat } from '../../src/proxy/translate/body.ts'
import type { Rules } from '../../src/proxy/translate/rules.ts'
import { clusterName, token } from './fleet-fixture.ts'

const M1 = token({ m1: '7' })
const BOTH = token({ m1: '7', m2: '9' })
const M2 = token({ m2: '9' })
const OWN = new Map([[NAME, 'theirs']])

const rules = (rest: Partial<Rules> = {}): Rules => ({
  owner: clusterName('m1'),
  own: new Map(),
  annotated: undefined,
  others: [],
  ...rest,
})

interface On {
  readonly verb?: string
  readonly subresource?: string
  readonly rules?: Partial<Rules>
}

function translate(body: string | Buffer, format: BodyFormat, on: On = {}): Buffer {
  const resource = { group: '', version: 'v1', resource: 'pods', subresource: on.subresource }
  const request = { verb: on.verb ?? 'update', resource } as unknown as ProxyRequest
  return translateBody(Buffer.from(body), format, request, rules(on.rules))
}

const text = (body: string, format: BodyFormat, on?: On): string => translate(body, format, on).toString('utf8')

const SYNTHETIC = `"${FROM}":"m1","${NAME}":"m1"`

describe('D2: JSON', () => {
  test('a map gives way to the owner’s entry, decimals and nothing stay', () => {
    const body = (version: string): string => `{"metadata": {"name":"p", "resourceVersion" : ${version} }}`
    for (const [version, own] of [
      [`"${M1}"`, '"7"'],
      [`"${BOTH}"`, '"7"'],
      ['"12"', '"12"'],
      ['""', '""'],
      ['null', 'null'],
    ] as const) {
      assert.equal(text(body(version), 'json'), body(own))
      assert.equal(text(body(version), 'mergePatch'), body(own))
    }
    assert.throws(() => text(body(`"${M2}"`), 'json'), { code: 'conflict' })
    assert.throws(() => text(body('"e30"'), 'json'), { code: 'conflict' })
    for (const bad of ['"x"', '"7a"', '7', '{}', '["7"]', `"${M1}="`]) {
      assert.throws(() => text(body(bad), 'json'), { code: 'badRequest' }, bad)
    }
  })

  test('the two annotations go, with one comma each; all other bytes stay', () => {
    for (const [annotations, left] of [
      [`{${SYNTHETIC}, "a": "1"}`, '{"a": "1"}'],
      [`{"a": "1" , ${SYNTHETIC} }`, '{"a": "1" }'],
      [`{ "a":"1","${FROM}":"m1" ,"b":"2", "${NAME}" :"x","c":"3"}`, '{ "a":"1","b":"2", "c":"3"}'],
      [`{"\\u0063luster.karmada.io/name":"m1","a":"1","${NAME}":"m1"}`, '{"a":"1"}'],
    ] as const) {
      const body = (value: string): string => `{"metadata":{"annotations":${value},"name":"p"},"spec":{"x":1e400}}`
      assert.equal(text(body(annotations), 'json'), body(left))
    }
    assert.equal(text(`{"metadata":{"name":"p","annotations":{${SYNTHETIC}}}}`, 'json'), '{"metadata":{"name":"p"}}')
  })

  test('duplicate keys are translated one by one', () => {
    const body = `{"metadata":{"resourceVersion":"${M1}","resourceVersion":"${M1}"},"metadata":{"annotations":{${SYNTHETIC}}}}`
    assert.equal(text(body, 'json'), '{"metadata":{"resourceVersion":"7","resourceVersion":"7"},"metadata":{}}')
  })

  test('what the member’s own object has is put back', () => {
    const on = { rules: { own: OWN } }
    const shown = `{"metadata":{"name":"p","annotations":{${SYNTHETIC},"a":"1"}}}`
    assert.equal(text(shown, 'json', on), `{"metadata":{"name":"p","annotations":{"${NAME}":"theirs","a":"1"}}}`)
    for (const without of [
      '{"metadata":{"name":"p"}}',
      '{"metadata":{"name":"p","annotations":null}}',
      '{"metadata":{"name":"p","annotations":{}}}',
    ]) {
      assert.deepEqual(JSON.parse(text(without, 'json', on)), {
        metadata: { name: 'p', annotations: { [NAME]: 'theirs' } },
      })
    }
    const only = `{"metadata":{"annotations":{"${FROM}":"m1"}}}`
    assert.deepEqual(JSON.parse(text(only, 'json', on)), { metadata: { annotations: { [NAME]: 'theirs' } } })
    assert.equal(
      text(shown, 'mergePatch', on),
      '{"metadata":{"name":"p","annotations":{"a":"1"}}}',
      'a patch leaves it alone',
    )
    const all = `{"metadata":{"annotations":{"$patch":"replace","a":"1"}}}`
    assert.match(text(all, 'strategicPatch', on), /"theirs"/, 'a patch that replaces all does not')
  })

  test('a patch that empties the annotations leaves the member’s own where it was', () => {
    const on = { rules: { own: OWN, others: ['a', 'b/c'] } }
    const left = { metadata: { annotations: { a: null, 'b/c': null } } }
    for (const format of ['mergePatch', 'strategicPatch'] as const) {
      assert.deepEqual(JSON.parse(text('{"metadata":{"annotations":null}}', format, on)), left, format)
    }
    assert.deepEqual(JSON.parse(text('{"metadata":{"annotations":{"$patch":"delete"}}}', 'strategicPatch', on)), left)
    const plain = '{"metadata":{"annotations":null}}'
    assert.equal(text(plain, 'mergePatch', { rules: { others: ['a'] } }), plain, 'with none of its own it may all go')
    const removal = '[{"op":"remove","path":"/metadata/annotations"}]'
    assert.deepEqual(JSON.parse(text(removal, 'jsonPatch', on)), [
      { op: 'replace', path: '/metadata/annotations', value: { [NAME]: 'theirs' } },
    ])
    assert.equal(text(removal, 'jsonPatch'), removal)
    const moved = '[{"op":"move","from":"/metadata/annotations","path":"/data"}]'
    assert.deepEqual(JSON.parse(text(moved, 'jsonPatch', on)), [
      { op: 'copy', from: '/metadata/annotations', path: '/data' },
      { op: 'replace', path: '/metadata/annotations', value: { [NAME]: 'theirs' } },
    ])
  })

  test('versions in references to other objects are nobody’s lock, and stay', () => {
    const event = `{"kind":"Event","metadata":{"name":"e"},"involvedObject":{"name":"p","resourceVersion":"${M2}"}}`
    assert.equal(text(event, 'json'), event)
  })

  test('lists, preconditions and evictions', () => {
    const list = `{"kind":"PodList","metadata":{"resourceVersion":"${BOTH}"},"items":[{"metadata":{"resourceVersion":"${M1}"}}]}`
    assert.equal(text(list, 'json'), list.replace(BOTH, '7').replace(M1, '7'))
    const options = `{"kind":"DeleteOptions","preconditions":{"uid":"u","resourceVersion":"${M1}"},"x":9007199254740993}`
    assert.equal(text(options, 'json', { verb: 'delete' }), options.replace(M1, '7'))
    const stale = options.replace(M1, M2)
    assert.throws(() => text(stale, 'json', { verb: 'delete' }), { code: 'conflict' })
    const eviction = `{"kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"preconditions":{"resourceVersion":"${M1}"}}}`
    assert.equal(text(eviction, 'json', { verb: 'create', subresource: 'eviction' }), eviction.replace(M1, '7'))
  })

  test('bodies that are none are 400', () => {
    for (const body of ['{', '{}{}', 'nothing', '{"a":1,}']) {
      assert.throws(() => text(body, 'json'), { code: 'badRequest' })
    }
  })
})

test('D2: JSON patches: versions and annotations in operations', () => {
  const patch = (...operations: object[]): string => JSON.stringify(operations)
  const path = '/metadata/resourceVersion'
  const ours = `/metadata/annotations/${NAME.replaceAll('/', '~1')}`
  const from = (more: object): object => ({ op: 'test', path: '/spec/a', value: 1, ...more })
  for (const [before, after] of [
    [patch({ op: 'test', path, value: M1 }), patch({ op: 'test', path, value: '7' })],
    [patch({ op: 'replace', path, value: BOTH }), patch({ op: 'replace', path, value: '7' })],
    [
      patch({ op: 'add', path: '/metadata', value: { resourceVersion: M1 } }),
      patch({ op: 'add', path: '/metadata', value: { resourceVersion: '7' } }),
    ],
    [patch(from({}), { op: 'add', path: ours, value: 'x' }, from({})), patch(from({}), from({}))],
    [patch({ op: 'remove', path: ours }), '[]'],
    [patch({ op: 'test', path: ours, value: 'm1' }), '[]'],
    [patch({ op: 'copy', from: ours, path: '/spec/c' }), patch({ op: 'add', path: '/spec/c', value: 'm1' })],
    [patch({ op: 'move', from: '/spec/c', path: ours }), patch({ op: 'remove', path: '/spec/c' })],
    [
      patch({ op: 'replace', path: '/metadata/annotations', value: { [NAME]: 'm1', a: '1' } }),
      patch({ op: 'replace', path: '/metadata/annotations', value: { a: '1' } }),
    ],
    [
      '[ {"op":"add", "path":"/spec/n", "value":9007199254740993} ]',
      '[ {"op":"add", "path":"/spec/n", "value":9007199254740993} ]',
    ],
  ] as const) {
    assert.equal(text(before, 'jsonPatch', { verb: 'patch' }), after)
  }
  assert.throws(() => text(patch({ op: 'test', path, value: M2 }), 'jsonPatch'), { code: 'conflict' })
  assert.throws(() => text(patch({ op: 'test', path: ours, value: 'm2' }), 'jsonPatch'), { code: 'invalid' })
  const add = patch({ op: 'add', path: '/metadata/annotations/a', value: '1' })
  assert.equal(text(add, 'jsonPatch', { rules: { annotated: true } }), add)
  // Where the member's object has none, what the client saw is made first.
  const annotations = '/metadata/annotations'
  const making = [
    { op: 'test', path: annotations, value: null },
    { op: 'add', path: annotations, value: {} },
  ]
  const shown = { [NAME]: 'm1', [FROM]: 'm1' }
  const remove = { op: 'remove', path: annotations }
  for (const [sent, arriving] of [
    [[{ op: 'add', path: `${annotations}/a`, value: '1' }]],
    [[remove]],
    [[{ op: 'move', from: annotations, path: '/spec/was' }]],
    [[{ op: 'replace', path: annotations, value: { a: '1' } }]],
    [
      [{ op: 'test', path: annotations, value: shown }, remove],
      [{ op: 'test', path: annotations, value: {} }, remove],
    ],
    [
      [{ op: 'remove', path: ours }, from({}), remove],
      [from({}), remove],
    ],
  ]) {
    const made = JSON.parse(text(JSON.stringify(sent), 'jsonPatch', { rules: { annotated: false } })) as object[]
    assert.deepEqual(made, [...making, ...(arriving ?? sent!)])
  }
  for (const whole of [
    patch({ op: 'add', path: annotations, value: { a: '1' } }, remove),
    patch({ op: 'replace', path: '/metadata', value: {} }, remove),
    patch(from({})),
  ]) {
    assert.equal(text(whole, 'jsonPatch', { rules: { annotated: false } }), whole)
  }
})

describe('D2: YAML', () => {
  const manifest = `# of the shop
apiVersion: v1
kind: Pod
metadata:
  annotations:
    ${FROM}: m1   # put there by the proxy
    ${NAME}: "m1"
    keep: on
  name: p   # the name
  resourceVersion: ${M1}
spec: {replicas: 007, on: yes, when: 2026-01-02T03:04:05.123456Z, big: 9007199254740993}
`
  test('lines go, the version is exchanged, everything else stays as it is written', () => {
    const expected = manifest
      .replace(/^ {4}(resource|cluster)\.karmada.*\n/gm, '')
      .replace(`resourceVersion: ${M1}`, 'resourceVersion: "7"')
    for (const format of ['yaml', 'applyYaml'] as const) assert.equal(text(manifest, format), expected)
  })

  test('an emptied map goes, flow style keeps its commas, JSON is JSON', () => {
    const block = `metadata:\n  annotations:\n    ${NAME}: m1\n  name: p\n`
    assert.equal(text(block, 'yaml'), 'metadata:\n  name: p\n')
    const flow = `metadata: {name: p, annotations: {a: "1", ${NAME}: m1, b: "2"}, resourceVersion: ${M1}}\n`
    assert.equal(text(flow, 'yaml'), 'metadata: {name: p, annotations: {a: "1", b: "2"}, resourceVersion: "7"}\n')
    const json = `{"metadata":{"resourceVersion":"${M1}"}}`
    assert.equal(text(json, 'applyYaml'), '{"metadata":{"resourceVersion":"7"}}')
  })

  test('what the member’s own object has is put back', () => {
    for (const body of [
      manifest,
      'metadata:\n  name: p\n',
      `metadata:\n  name: p\n  annotations:\n    ${FROM}: m1\n`,
      'metadata: {name: p}\n',
    ]) {
      const { metadata } = parse(text(body, 'yaml', { rules: { own: OWN } })) as {
        metadata: { annotations: Record<string, string> }
      }
      assert.equal(metadata.annotations[NAME], 'theirs')
      assert.equal(metadata.annotations[FROM], undefined)
    }
  })

  test('versions that are none, anchors in metadata and several documents are refused', () => {
    const version = (value: string): string => `metadata:\n  resourceVersion: ${value}\n`
    assert.throws(() => text(version('x'), 'yaml'), { code: 'badRequest' })
    assert.throws(() => text(version(M2), 'yaml'), { code: 'conflict' })
    assert.equal(text(version('7'), 'yaml'), version('7'))
    for (const body of [
      `x: &v ${M1}\nmetadata:\n  resourceVersion: *v\n`,
      `x: &a {${NAME}: m1}\nmetadata:\n  annotations: *a\n`,
      `x: &a {${NAME}: m1}\nmetadata:\n  annotations:\n    <<: *a\n`,
      `x: &a {resourceVersion: x}\nmetadata: *a\n`,
      'a: 1\n---\nb: 2\n',
      'a: [1\n',
    ]) {
      assert.throws(() => text(body, 'yaml'), { code: 'badRequest' }, body)
    }
  })
})

describe('D3: protobuf', () => {
  const string = (number: number, value: string): Buffer => lengthDelimited(number, Buffer.from(value))
  const entry = (key: string, value: string): Buffer =>
    lengthDelimited(12, Buffer.concat([string(1, key), string(2, value)]))
  const meta = (version: string, ...annotations: [string, string][]): Buffer =>
    Buffer.concat([
      string(1, 'p'),
      Buffer.from([0x38, 0x05]),
      string(6, version),
      ...annotations.map(([k, v]) => entry(k, v)),
      string(14, 'f'),
    ])
  const envelope = (kind: string, raw: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from('k8s\0'),
      lengthDelimited(1, Buffer.concat([string(1, 'v1'), string(2, kind)])),
      lengthDelimited(2, raw),
    ])
  const object = (metadata: Buffer): Buffer => Buffer.concat([lengthDelimited(1, metadata), string(2, 'spec \x00\xff')])

  test('version and annotations of an object, every other byte as it was', () => {
    const sent = envelope('Pod', object(meta(BOTH, [FROM, 'm1'], ['a', '1'], [NAME, 'm1'])))
    assert.deepEqual(translate(sent, 'protobuf'), envelope('Pod', object(meta('7', ['a', '1']))))
    const plain = envelope('Pod', object(meta('12', ['a', '1'])))
    assert.deepEqual(translate(plain, 'protobuf'), plain)
    assert.throws(() => translate(envelope('Pod', object(meta(M2))), 'protobuf'), { code: 'conflict' })
    assert.throws(() => translate(envelope('Pod', object(meta('x'))), 'protobuf'), { code: 'badRequest' })
  })

  test('what the member’s own object has is put back', () => {
    const sent = envelope('Pod', object(meta('12', [NAME, 'm1'])))
    for (const body of [sent, envelope('Pod', object(meta('12')))]) {
      const raw = readEnvelope(translate(body, 'protobuf', { rules: { own: OWN } }))!.raw
      const entries = readFields(readFields(raw)!.get(1)![0]!)!
        .get(12)!
        .map((each) => readFields(each)!)
      assert.deepEqual(
        entries.map((each) => [textOf(each, 1), textOf(each, 2)]),
        [[NAME, 'theirs']],
      )
    }
  })

  test('preconditions of DeleteOptions and evictions, lists', () => {
    const options = (version: string): Buffer =>
      Buffer.concat([
        Buffer.from([0x08, 0x1e]),
        lengthDelimited(2, Buffer.concat([string(1, 'uid'), string(2, version)])),
      ])
    // A kube-apiserver takes them without a kind.
    for (const kind of ['DeleteOptions', '']) {
      for (const verb of ['delete', 'deletecollection']) {
        const sent = envelope(kind, options(M1))
        assert.deepEqual(translate(sent, 'protobuf', { verb }), envelope(kind, options('7')), verb)
      }
    }
    const eviction = (version: string): Buffer =>
      envelope('Eviction', Buffer.concat([lengthDelimited(1, meta('')), lengthDelimited(2, options(version))]))
    assert.deepEqual(translate(eviction(M1), 'protobuf', { verb: 'create', subresource: 'eviction' }), eviction('7'))
    const list = (whole: string, item: string): Buffer =>
      envelope('PodList', Buffer.concat([lengthDelimited(1, string(2, whole)), lengthDelimited(2, object(meta(item)))]))
    assert.deepEqual(translate(list(BOTH, M1), 'protobuf'), list('7', '7'))
  })

  test('what is no Kubernetes protobuf is refused', () => {
    for (const body of [Buffer.from('{}'), Buffer.from('k8s\0\xff\xff\xff'), Buffer.from('k9s\0')]) {
      assert.throws(() => translate(body, 'protobuf'), { code: 'badRequest' })
    }
  })
})

const values = fc.jsonValue({ maxDepth: 3 })
const names = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'metadata', 'resourceVersion', NAME))

/** An object as a kube-apiserver writes it, with or without annotations of its own, keys of all sorts and odd numbers. */
const objects = fc
  .record({
    labels: fc.dictionary(names, fc.string()),
    annotations: fc.option(fc.dictionary(fc.string({ minLength: 1 }), fc.string(), { minKeys: 1 }), { nil: undefined }),
    own: fc.boolean(),
    spec: values,
    big: fc.bigInt({ min: 0n, max: 2n ** 63n }),
    version: fc.nat(),
  })
  .map(({ labels, annotations, own, spec, big, version }) => {
    const theirs = own ? { ...annotations, [NAME]: 'own' } : annotations
    const sorted = theirs === undefined ? undefined : Object.fromEntries(Object.entries(theirs).sort())
    const metadata = {
      name: 'p',
      namespace: 'n',
      uid: 'u',
      resourceVersion: String(version),
      labels,
      annotations: sorted,
    }
    const json = `{"kind":"Pod","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"spec":${JSON.stringify(spec)},"big":${big}}`
    return { json, own: new Map(own ? [[NAME, 'own']] : []), annotated: sorted !== undefined }
  })

test('D2, G8: what is shown and sent back unchanged arrives as the member’s own bytes', () => {
  fc.assert(
    fc.property(objects, ({ json, own }) => {
      const { bytes, meta } = canonicalize(Buffer.from(json), {
        apiVersion: 'v1',
        kind: 'Pod',
        cluster: clusterName('m1'),
      })
      assert.ok(own.size === 0 || mayHaveOwnAnnotations(bytes), 'a doubt is never overlooked')
      const shown = withResourceVersion({ ...meta, bytes }, token({ m1: meta.resourceVersion }))
      const sent = translate(shown, 'json', { rules: { own } }).toString('utf8')
      if (own.size === 0) assert.equal(sent, json)
      else assert.deepEqual(JSON.parse(sent), JSON.parse(json))
    }),
    { numRuns: 500 },
  )
})

test('D2: translating twice is translating once', () => {
  fc.assert(
    fc.property(objects, ({ json, own }) => {
      const once = translate(json, 'json', { rules: { own } })
      assert.deepEqual(translate(once, 'json', { rules: { own } }), once)
    }),
  )
})

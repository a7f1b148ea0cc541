import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuality } from '../../src/http/accept-encoding.ts'
import type { AnswerShape } from '../../src/http/accept.ts'
import { negotiate, parseAccept } from '../../src/http/accept.ts'

const KUBECTL =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

const served: [string | undefined, AnswerShape, unknown][] = [
  [undefined, 'list', { as: 'object', format: 'json' }],
  ['', 'list', { as: 'object', format: 'json' }],
  ['*/*', 'stream', { as: 'object', format: 'json' }],
  ['application/*', 'object', { as: 'object', format: 'json' }],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'list', { as: 'object', format: 'json' }],
  ['application/yaml', 'list', { as: 'object', format: 'yaml' }],
  ['application/json;q=0.5, application/yaml', 'object', { as: 'object', format: 'yaml' }],
  ['application/yaml;q=0.5, application/json', 'object', { as: 'object', format: 'json' }],
  ['*/*, application/yaml', 'object', { as: 'object', format: 'yaml' }],
  ['application/vnd.kubernetes.protobuf,application/json', 'list', { as: 'object', format: 'json' }],
  ['application/json;stream=watch', 'stream', { as: 'object', format: 'json' }],
  [KUBECTL, 'list', { as: 'table', format: 'json', version: 'v1' }],
  [KUBECTL, 'stream', { as: 'table', format: 'json', version: 'v1' }],
  ['application/json;as=Table;v=v2;g=meta.k8s.io,application/json', 'list', { as: 'object', format: 'json' }],
  ['application/json;as=Table;v=v1;g=other,application/json', 'list', { as: 'object', format: 'json' }],
  ['application/yaml;as=Table;g=meta.k8s.io;v=v1beta1', 'list', { as: 'table', format: 'yaml', version: 'v1beta1' }],
  [
    'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    'list',
    { as: 'partial', format: 'json', version: 'v1' },
  ],
  [
    'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1',
    'stream',
    { as: 'partial', format: 'json', version: 'v1beta1' },
  ],
  ['APPLICATION/JSON', 'list', { as: 'object', format: 'json' }],
]

for (const [header, shape, expected] of served) {
  test(`Accept ${header ?? '(none)'} for a ${shape}`, () => {
    assert.deepEqual(negotiate(header, shape), expected)
  })
}

const refused: [string, AnswerShape][] = [
  ['application/vnd.kubernetes.protobuf', 'list'],
  ['text/html', 'list'],
  ['application/yaml', 'stream'],
  ['application/json;q=0', 'list'],
  ['application/json;stream=watch', 'list'],
  ['application/json;stream=other', 'stream'],
  ['application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1', 'list'],
  ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', 'object'],
  ['nonsense', 'list'],
  [';;;,,', 'list'],
]

for (const [header, shape] of refused) {
  test(`Accept ${header} for a ${shape} is 406`, () => {
    assert.throws(() => negotiate(header, shape), { code: 'notAcceptable' })
  })
}

test('clauses are ordered by quality, then by how specific they are, else as they came', () => {
  const order = parseAccept('*/*, a/*, a/b;q=0.1, a/c, x/y;q=0').map(({ type, subtype }) => `${type}/${subtype}`)
  assert.deepEqual(order, ['a/c', 'a/*', '*/*', 'a/b'])
})

test('Accept-Encoding: named codings before the wildcard, quality 0 means no', () => {
  assert.equal(parseQuality(undefined, 'gzip'), 0)
  assert.equal(parseQuality('gzip, deflate, br', 'gzip'), 1)
  assert.equal(parseQuality('deflate', 'gzip'), 0)
  assert.equal(parseQuality('gzip;q=0, *', 'gzip'), 0)
  assert.equal(parseQuality('*;q=0.3', 'gzip'), 0.3)
  assert.equal(parseQuality(['br', 'GZIP;q=0.5'], 'gzip'), 0.5)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnsOf } from '../../../src/kube/columns/index.ts'
import { DocumentBuilder } from '../../../src/query/document.ts'
import { TERM_LINES } from '../../../src/query/term-lines.ts'
import { EngineDocuments } from '../../../src/backendstore/search-engine/engine-document.ts'
import { documentId, splitTie, tieOf } from '../../../src/backendstore/search-engine/keys.ts'
import { PODS, upsert } from '../../conformance/backend-store-suite.ts'

const documents = new EngineDocuments()

test('a number and the same number as a quantity are one number, times have their units, texts at paths their pieces', () => {
  const body = {
    spec: { containers: [{ resources: { limits: { 'x/y': '2' } } }], n: [5, '5000m'], at: '2026-01-02T03:04:05Z' },
    status: { startTime: '2026-01-02T03:04:05Z', message: 'Back-Off' },
  }
  const { fleetsearch } = JSON.parse(documents.build(upsert('Web-1', { body, created: '2026-01-02T03:04:05Z' }))) as {
    fleetsearch: { value: Record<string, string[]>; paths: string[]; terms: string[]; folded: string }
  }
  const at = (path: string): string[] =>
    [...fleetsearch.paths, ...fleetsearch.terms]
      .filter((term) => term.startsWith(`${path}\u007f`))
      .map((t) => t.split('\u007f')[1]!)
  assert.deepEqual(at('.spec.n'), ['#p5015', '=5000m'])
  assert.deepEqual(at('.spec.at'), ['@20260102030405'])
  assert.deepEqual(at('.status.message'), ['=Back-Off', '~back-off', '~back', '~off'])
  assert.deepEqual(fleetsearch.value['created'], [
    '@20260102030405',
    'y2026',
    'm202601',
    'd20260102',
    'h2026010203',
    'i202601020304',
  ])
  assert.equal(fleetsearch.folded, 'web-1')
})

test('words stand in one value for each text, whatever has to be escaped in it, cut where an engine would cut them', () => {
  const annotations = { 'a/b': `say "${'w'.repeat(300)}" \\ ${'é'.repeat(255)} end`, c: 'two\tlines\n"' }
  const { fleetsearch } = JSON.parse(documents.build(upsert('web', { annotations }))) as {
    fleetsearch: { text: Record<string, string[]>; words: string[] }
  }
  const { name, strong, other } = fleetsearch.text
  assert.deepEqual([name, strong], [['web'], []])
  assert.deepEqual(other?.slice(0, 2), ['default web', 'pod'])
  assert.ok(other?.includes(`a b say ${'w'.repeat(255)} ${'é'.repeat(255)} end`))
  assert.ok(other.includes('c two lines'))
  for (const word of ['web', 'pod', 'w'.repeat(255), 'é'.repeat(255), 'lines']) {
    assert.equal(fleetsearch.words.filter((each) => each === word).length, 1, word)
  }
})

test('a tie tells what it was made of, and ids stay within what engines take', () => {
  const tie = {
    cluster: 'c',
    namespace: '',
    name: 'system:node',
    uid: 'u',
    group: 'rbac.authorization.k8s.io',
    resource: 'roles',
  }
  assert.deepEqual(splitTie(tieOf(tie)), tie)
  const id = documentId({ ...PODS, namespace: 'n'.repeat(253), name: 'x'.repeat(253) })
  assert.ok(Buffer.byteLength(id) <= 512)
  assert.notEqual(id, documentId({ ...PODS, namespace: 'n'.repeat(253), name: `${'x'.repeat(252)}y` }))
  assert.equal(documentId({ ...PODS, namespace: 'ns', name: 'p' }), 'member1//pods/ns/p')
})

test('labels that an engine would refuse the object for are left to what we look for them by', () => {
  const odd = {
    'a\0': 'x',
    b: 'y\0',
    '\ud800': 'x',
    c: '\udc00',
    ['k'.repeat(40_000)]: 'x',
    d: 'v'.repeat(40_000),
    '': 'x',
  }
  const annotations = { '\ud800': 'x', '.a': 'x', kept: 'v'.repeat(40_000) }
  const built = JSON.parse(documents.build(upsert('web', { labels: { app: 'web', ...odd }, annotations }))) as {
    metadata: { labels: object; annotations: object }
    fleetsearch: { labels: string[] }
  }
  assert.deepEqual(built.metadata.labels, { app: 'web' })
  assert.deepEqual(Object.keys(built.metadata.annotations), ['kept'])
  for (const term of ['label.app\u007f=web', 'label.d\u007f=vvv', 'label.b\u007f=y'])
    assert.ok(
      built.fleetsearch.labels.some((each) => each.startsWith(term)),
      term,
    )
})

test('of an object that is too large to be indexed whole, every form has the same part', () => {
  const many = (count: number, one: (i: number) => object | string): unknown[] =>
    Array.from({ length: count }, (_, i) => one(i))
  const bodies = [
    { data: Object.fromEntries(many(20_000, (i) => `key-${String(i)}`).map((key) => [key, `"${String(key)}" -`])) },
    { spec: { containers: many(5_000, (i) => ({ image: `reg:5000/img${i}:v${i}`, args: [`--n=${i}`], port: i })) } },
    {
      subsets: [
        { addresses: many(9_000, (i) => ({ ip: `10.1.${i >> 8}.${i & 255}`, since: '2026-01-02T03:04:05Z' })) },
      ],
    },
  ]
  for (const body of bodies) {
    const change = upsert('web', { body })
    const lines = new DocumentBuilder(TERM_LINES).build(change, change.bytes, columnsOf(change))
    const shown = JSON.parse(documents.build(change)) as {
      fleetsearch: { paths: string[]; value: Record<string, string[]> }
    }
    const counted = (term: string): boolean => /^(?:\.data|\.spec|\.subsets)[^\u001f]*\u001f[=#@]/.test(term)
    const wanted = lines.terms
      .split('\n')
      .filter(counted)
      .map((term) => term.replace('\u001f', '\u007f'))
    assert.deepEqual(
      shown.fleetsearch.paths.filter((term) => term.startsWith('.')),
      wanted,
    )
    for (const field of ['image', 'ip'])
      assert.equal(
        (shown.fleetsearch.value[field] ?? []).filter((value) => value.startsWith('=')).length,
        lines.values.get(field)?.length ?? 0,
      )
    assert.ok(wanted.length > 1_000 && wanted.length < 20_000, String(wanted.length))
  }
})

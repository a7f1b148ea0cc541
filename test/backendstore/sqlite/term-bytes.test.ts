import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeTerms } from '../../../src/backendstore/sqlite/encoding.ts'
import { termBytes } from '../../../src/backendstore/sqlite/term-bytes.ts'
import { columnsOf } from '../../../src/kube/columns/index.ts'
import { DocumentBuilder } from '../../../src/query/document.ts'
import { TERM_LINES } from '../../../src/query/term-lines.ts'
import { spelledOut } from '../../../src/query/term.ts'
import { upsert } from '../../conformance/backend-store-suite.ts'

const objects = [
  upsert('web-1', {
    labels: { App: 'Shop', Größe: 'Ärger-ABC' },
    annotations: { Note: 'Ein Übel A1', when: '2026-11-30T00:00:00Z', amount: '12Mi' },
    body: {
      spec: {
        Size: 12,
        half: '1.50',
        big: 9,
        flag: true,
        none: null,
        list: [],
        odd: 'xÉX\ud800Y',
        'Key Ö': { A: 'B' },
      },
      status: { podIP: '10.0.0.1', conditions: [{ type: 'Ready', lastTransitionTime: '2026-11-30T00:00:00.5Z' }] },
    },
  }),
  upsert('short'),
  upsert('many', {
    body: { data: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`Key${i}`, `Ü${i}`])) },
  }),
  upsert('exact', { body: { spec: { id: 1, text: 'Aa' } } }),
]
const exact = Buffer.from(objects[3]?.bytes.toString().replace('"id":1', '"id":9007199254740993') ?? '')

test('bytes of terms are their lines, encoded, also of long documents and after them', () => {
  const [bytes, lines] = [new DocumentBuilder(termBytes(spelledOut)), new DocumentBuilder(TERM_LINES)]
  for (const object of [...objects, { ...objects[1], ...upsert('exact'), bytes: exact }]) {
    const columns = columnsOf(object)
    const expected = encodeTerms(lines.build(object, object.bytes, columns).terms)
    assert.ok(expected.length > 50)
    assert.equal(Buffer.from(bytes.build(object, object.bytes, columns).terms).toString(), expected)
  }
})

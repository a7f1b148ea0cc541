import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { openForReading } from '../../../src/backendstore/sqlite/database.ts'
import { IndexReader } from '../../../src/backendstore/sqlite/index-reader.ts'
import { IndexWriter } from '../../../src/backendstore/sqlite/index-writer.ts'
import { knownPaths, PathCodes } from '../../../src/backendstore/sqlite/path-codes.ts'
import { Preparer } from '../../../src/backendstore/sqlite/preparer.ts'
import { configure, createSchema } from '../../../src/backendstore/sqlite/schema.ts'
import { parseQuery } from '../../../src/query/parser.ts'
import { resolveQuery } from '../../../src/query/resolve.ts'
import { PODS, upsert } from '../../conformance/backend-store-suite.ts'
import { FAKE_EPOCH_MS } from '../../support/fake-clock.ts'
import { allFields } from '../../support/search.ts'

const QUERIES = [
  'kind:Pod',
  'label.Team=A',
  'label.Team:*',
  'label.tea:*',
  '.spec:*',
  '.spec.deep:*',
  'spec.size>1',
  'spec.sizes:*',
  'spec.deep.er.Word:two',
  'spec.deep.er.word:t*',
  '.status:*',
  'p4',
]

/** A file, a thread's worth of writing and reading; `maxPaths` get codes. */
function newIndex(t: TestContext, maxPaths?: number) {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-paths-'))
  const file = path.join(folder, 'search.db')
  const db = new DatabaseSync(file)
  configure(db)
  createSchema(db)
  t.after(() => {
    db.close()
    rmSync(folder, { recursive: true })
  })
  const preparer = new Preparer(knownPaths(db), maxPaths)
  const found = (q: string): string[] => {
    const reading = openForReading(file)
    const ast = parseQuery(q, (name) => allFields.find(name) !== undefined)
    const { predicate, ranked } = resolveQuery(ast, { fields: allFields, nowMs: FAKE_EPOCH_MS })
    const facets = ['label.Team', '.spec.size', 'status'].map((path) => ({ path, limit: 10 }))
    const answer = new IndexReader(reading, true).search({ predicate, ranked, sort: [], limit: 100, facets })
    reading.close()
    return [...answer.hits.map(({ name }) => name), JSON.stringify(answer.facets)]
  }
  return { db, preparer, writer: new IndexWriter(db), found }
}

const objects = Array.from({ length: 24 }, (_, i) =>
  upsert(`p${i}`, {
    shard: PODS,
    labels: i % 2 === 0 ? { Team: i % 4 === 0 ? 'A' : 'b' } : { [`tea${i}`]: 'x' },
    body: {
      spec: i % 3 === 0 ? { size: i, deep: { er: { Word: i % 6 === 0 ? 'One two' : 'tWo' } } } : { sizes: [`${i}`] },
      status: { phase: i % 5 === 0 ? 'Running' : 'Pending' },
    },
  }),
)

test('paths without a code are found as those with one are', (t) => {
  const coded = newIndex(t)
  coded.writer.write(coded.preparer.prepare(objects))
  const expected = QUERIES.map((q) => coded.found(q))
  assert.deepEqual(
    expected.map((names) => names.length > 1),
    QUERIES.map((q) => q !== 'label.tea:*'),
  )
  for (const maxPaths of [0, 1, 12, 30]) {
    const index = newIndex(t, maxPaths)
    for (const object of objects) index.writer.write(index.preparer.prepare([object]))
    assert.equal(knownPaths(index.db).length, maxPaths)
    for (const [i, q] of QUERIES.entries()) assert.deepEqual(index.found(q), expected[i], `${maxPaths} codes: ${q}`)
  }
})

test('codes that were given in a batch that failed are kept with the next one', (t) => {
  const { db, preparer, writer, found } = newIndex(t)
  writer.write(preparer.prepare(objects.slice(0, 1)))
  db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON doc BEGIN SELECT raise(ABORT, 'refused'); END`)
  assert.throws(() => writer.write(preparer.prepare(objects)), /refused/)
  db.exec('DROP TRIGGER refuse')
  writer.write(preparer.prepare(objects.slice(2, 4)))
  assert.deepEqual(found('spec.size=3').slice(0, 1), ['p3'])
  assert.deepEqual(found('label.Team=b').slice(0, 1), ['p2'])
})

test('a later process goes on where the last one ended', (t) => {
  const { db, preparer, writer, found } = newIndex(t)
  writer.write(preparer.prepare(objects.slice(0, 3)))
  const next = new Preparer(knownPaths(db))
  new IndexWriter(db).write(next.prepare(objects.slice(3, 9)))
  assert.deepEqual(found('spec.size:*').slice(0, -1), ['p0', 'p3', 'p6'])
  assert.deepEqual(found('label.Team:*').slice(0, -1), ['p0', 'p2', 'p4', 'p6', 'p8'])
})

test('a path keeps its code, and no code begins with another', () => {
  const codes = new PathCodes(['kept'], 3)
  const spelled = ['a', 'kept', 'b', 'c', 'c.d', 'a'].map(codes.spell)
  assert.deepEqual(codes.takeNew(), { first: 1, paths: ['a', 'b'] })
  assert.deepEqual(codes.takeNew(), { first: 3, paths: [] })
  assert.equal(spelled[0], spelled[5])
  const distinct = [...new Set(spelled)]
  assert.equal(distinct.length, 5)
  for (const one of distinct) assert.ok(distinct.every((other) => one === other || !other.startsWith(one)))
})

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { countFacets, countTerms } from '../../../src/backendstore/sqlite/facets.ts'
import { IndexWriter } from '../../../src/backendstore/sqlite/index-writer.ts'
import { Preparer } from '../../../src/backendstore/sqlite/preparer.ts'
import { configure, createSchema, createVocabulary } from '../../../src/backendstore/sqlite/schema.ts'
import { PODS, remove, upsert, WIDGETS } from '../../conformance/backend-store-suite.ts'

test('facets of many hits, counted along the index, equal those that are looked up', () => {
  const db = new DatabaseSync(':memory:')
  configure(db)
  createSchema(db)
  createVocabulary(db)
  const shards = [PODS, { ...PODS, cluster: 'member2' }, WIDGETS, { ...WIDGETS, cluster: 'member3' }]
  const objects = Array.from({ length: 120 }, (_, i) =>
    upsert(`p${i}`, { shard: shards[i % 4] ?? PODS, namespace: i % 5 === 0 ? '' : `ns${i % 7}` }),
  )
  new IndexWriter(db).write(new Preparer([]).prepare(objects))
  db.exec('INSERT INTO temp.hit SELECT id FROM doc WHERE id % 3 <> 0')
  const facets = ['cluster', 'namespace', 'kind', 'group', 'resource'].map((path) => ({ path, limit: 4 }))
  const lookedUp = countFacets(db, facets, 80)
  assert.deepEqual(countFacets(db, facets, 1_000_000), lookedUp)
  assert.deepEqual(
    lookedUp[0]?.values.map(({ value, count }) => [value, count]),
    [
      ['member1', 40],
      ['member2', 20],
      ['member3', 20],
    ],
  )
  assert.equal(lookedUp[1]?.distinct, 7)
  db.close()
})

test('of all documents the vocabulary tells what a run through their terms does, when some have gone and changed', () => {
  const db = new DatabaseSync(':memory:')
  configure(db)
  createSchema(db)
  createVocabulary(db)
  const [preparer, writer] = [new Preparer([]), new IndexWriter(db)]
  const pod = (i: number, tier: string) =>
    upsert(`p${i}`, { labels: { tier }, body: { spec: { n: [i % 3, `${i % 4}`] } } })
  const all = Array.from({ length: 90 }, (_, i) => i)
  writer.write(preparer.prepare(all.map((i) => pod(i, `t${i % 5}`))))
  writer.write(preparer.prepare(all.filter((i) => i % 3 === 0).map((i) => remove(`p${i}`))))
  writer.write(preparer.prepare(all.filter((i) => i % 7 === 1).map((i) => pod(i, 'New'))))
  db.exec('INSERT INTO temp.hit SELECT id FROM doc')
  for (const path of ['label.tier', '.spec.n', 'name', 'created', 'nothing']) {
    assert.deepEqual(countTerms(db, path, true), countTerms(db, path, false), path)
  }
  assert.deepEqual(countTerms(db, 'label.tier', true).find(({ value }) => value === 'New')?.count, 13)
  db.close()
})

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { SqliteStore } from '../../../src/backendstore/sqlite/store.ts'
import { columnKinds } from '../../../src/kube/columns/index.ts'
import { FieldCatalog } from '../../../src/query/fields.ts'
import { parseQuery } from '../../../src/query/parser.ts'
import { resolveQuery } from '../../../src/query/resolve.ts'
import type { SearchHit } from '../../../src/query/search-request.ts'
import { FAKE_EPOCH_MS } from '../../support/fake-clock.ts'
import { facetsArbitrary, objectsArbitrary, queryArbitrary, sortArbitrary } from '../../support/query-objects.ts'
import { QueryOracle, type OracleObject } from '../../support/query-oracle.ts'
import { newStore, upsertOf } from './stores.ts'

const RUNS = Number(process.env['FLEETSEARCH_TEST_RUNS'] ?? 60)
const QUERIES_PER_WORLD = 12

const fields = new FieldCatalog(columnKinds().map(({ columns }) => columns))
const oracle = new QueryOracle(fields, FAKE_EPOCH_MS)

let store: SqliteStore
let folder: string

before(async () => {
  ;({ store, folder } = await newStore())
})
after(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
  assert.equal(path.isAbsolute(folder), true)
})

async function fill(objects: readonly OracleObject[]): Promise<void> {
  for (const shard of await store.shards()) await store.dropShard(shard)
  await store.write(objects.map(upsertOf))
}

/** Every page, with a limit of 7, so that cursors of every sort are walked. */
async function searchAll(query: string, sort: readonly string[], facets: readonly string[]) {
  const ast = parseQuery(query, (name) => fields.find(name) !== undefined)
  const { predicate, ranked } = resolveQuery(ast, { fields, nowMs: FAKE_EPOCH_MS })
  const terms = sort.map((term) => {
    const name = term.replace(/^-/, '')
    return { path: fields.find(name)?.path ?? name, descending: term.startsWith('-') }
  })
  const wanted = facets.map((name) => ({ path: fields.find(name)?.path ?? name, limit: 5 }))
  const base = { predicate, ranked, sort: terms, limit: 7, facets: wanted }
  let page = await store.search(base)
  const first = page
  const hits: SearchHit[] = [...page.hits]
  while (page.more) {
    page = await store.search({ ...base, facets: [], after: hits.at(-1)?.cursor ?? [] })
    assert.equal(page.total, first.total)
    hits.push(...page.hits)
  }
  return { ast, terms, wanted, first, hits }
}

test('SQLite answers as the naive oracle does', { timeout: 120_000 }, async () => {
  const scenario = fc.tuple(queryArbitrary, sortArbitrary, facetsArbitrary)
  const property = fc.asyncProperty(
    objectsArbitrary,
    fc.array(scenario, { minLength: QUERIES_PER_WORLD, maxLength: QUERIES_PER_WORLD }),
    async (objects, scenarios) => {
      await fill(objects)
      for (const [query, sort, facets] of scenarios) {
        const { ast, terms, wanted, first, hits } = await searchAll(query, [...new Set(sort)], facets)
        const expected = oracle.answer(objects, { ast, sort: terms, facets: wanted })
        const about = `q=${query} sort=${sort.join(',')} facets=${facets.join(',')}`
        const name = (hit: { cluster: string; kind: string; namespace: string; name: string }, rank: number): string =>
          `${hit.cluster} ${hit.kind} ${hit.namespace}/${hit.name} rank ${rank}`
        assert.deepEqual(
          hits.map((hit) => name(hit, hit.rank)),
          expected.found.map(({ identity, rank }) => name(identity, rank)),
          about,
        )
        assert.equal(first.total, expected.found.length, about)
        const shown = first.facets.map(({ distinct, values }) => ({
          distinct,
          values: values.map((value) => ({ ...value })),
        }))
        assert.deepEqual(shown, expected.facets, about)
      }
    },
  )
  await fc.assert(property, {
    numRuns: RUNS,
    ...(process.env['FLEETSEARCH_TEST_SEED'] === undefined
      ? {}
      : { seed: Number(process.env['FLEETSEARCH_TEST_SEED']) }),
  })
})

/**
 * What a store finds, orders, counts and suggests, compared with the naive oracle over random objects and queries.
 * `searchSuite(open)` from the store's own test file; `open` gives an empty store.
 *
 * FLEETSEARCH_TEST_RUNS (60) is the number of worlds, each asked 12 times; FLEETSEARCH_TEST_SEED repeats one run.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { BackendStore } from '../../src/backendstore/backend-store.ts'
import type { QueryNode } from '../../src/query/ast.ts'
import { parseQuery } from '../../src/query/parser.ts'
import { resolveQuery } from '../../src/query/resolve.ts'
import type { Likeness, SearchHit } from '../../src/query/search-request.ts'
import { numberOfKey, timeOfKey } from '../../src/query/sortable.ts'
import { FAKE_EPOCH_MS } from '../support/fake-clock.ts'
import {
  dimensionsArbitrary,
  facetsArbitrary,
  likenessArbitrary,
  objectsArbitrary,
  queryArbitrary,
  sortArbitrary,
} from '../support/query-objects.ts'
import { orderedSearch } from '../support/ordered-search.ts'
import { numberOf, QueryOracle, type OracleObject } from '../support/query-oracle.ts'
import { allFields as fields } from '../support/search.ts'
import type { OpenedStore } from './backend-store-suite.ts'
import { fill } from './fill.ts'

const QUERIES_PER_WORLD = 12
const TIMEOUT_MS = 180_000

export interface SearchSuiteOptions {
  /** Worlds, where the environment does not say. */
  readonly runs?: number
}

export function searchSuite(open: () => Promise<OpenedStore>, { runs = 60 }: SearchSuiteOptions = {}): void {
  const oracle = new QueryOracle(fields, FAKE_EPOCH_MS)
  const numRuns = Number(process.env['FLEETSEARCH_TEST_RUNS'] ?? runs)
  const seed = process.env['FLEETSEARCH_TEST_SEED']
  const parameters = { numRuns, ...(seed === undefined ? {} : { seed: Number(seed) }) }
  let opened: OpenedStore
  let store: BackendStore
  before(async () => {
    opened = await open()
    store = opened.store
  })
  after(() => opened.dispose())

  async function compare<Scenario>(
    scenario: fc.Arbitrary<Scenario>,
    check: (objects: readonly OracleObject[], scenario: Scenario) => Promise<void>,
  ): Promise<void> {
    const scenarios = fc.array(scenario, { minLength: QUERIES_PER_WORLD, maxLength: QUERIES_PER_WORLD })
    const property = fc.asyncProperty(objectsArbitrary, scenarios, async (objects, drawn) => {
      await fill(store, objects)
      for (const each of drawn) await check(objects, each)
    })
    await fc.assert(property, parameters)
  }

  test('finds, orders and facets as the naive oracle does', { timeout: TIMEOUT_MS }, async () => {
    await compare(fc.tuple(queryArbitrary, sortArbitrary, facetsArbitrary), async (objects, [query, sort, facets]) => {
      const { ast, terms, wanted, first, hits } = await searchAll(store, objects, {
        query,
        sort: [...new Set(sort)],
        facets,
      })
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
      assert.deepEqual(
        first.facets.map(({ distinct, values }) => ({ distinct, values: values.map((value) => ({ ...value })) })),
        expected.facets,
        about,
      )
    })
  })

  test('counts as the naive oracle does', { timeout: TIMEOUT_MS }, async () => {
    await compare(fc.tuple(queryArbitrary, dimensionsArbitrary), async (objects, [query, dimensions]) => {
      const { ast, predicate } = read(query)
      const { rows, complete } = await store.count({ predicate, dimensions, maxRows: 10_000 })
      assert.equal(complete, true)
      const counted = rows.map(({ keys, documents }) => [keys.map(readable).join(' | '), documents] as const)
      const expected = [...oracle.count(objects, ast, dimensions)]
      const about = `q=${query} by ${JSON.stringify(dimensions)}`
      assert.deepEqual(counted.toSorted(byKey), expected.toSorted(byKey), about)
      if (rows.length < 2) return
      const cut = await store.count({ predicate, dimensions, maxRows: rows.length - 1 })
      assert.equal(cut.complete, false, about)
    })
  })

  test('suggests as the naive oracle does', { timeout: TIMEOUT_MS }, async () => {
    await compare(fc.tuple(queryArbitrary, likenessArbitrary), async (objects, [query, [path, like]]) => {
      const { ast, predicate } = read(query)
      await checkVocabulary(objects, ast, { predicate, path, like }, query)
    })
  })

  async function checkVocabulary(
    objects: readonly OracleObject[],
    ast: QueryNode,
    asked: { predicate: ReturnType<typeof read>['predicate']; path: string | undefined; like: Likeness },
    query: string,
  ): Promise<void> {
    const { predicate, path, like } = asked
    const request = { predicate, like, ...(path === undefined ? {} : { path }) }
    const expected = oracle.vocabulary(objects, ast, path, like)
    const about = `q=${query} ${path ?? 'words'} ${JSON.stringify(like)}`
    const all = await store.vocabulary({ ...request, limit: 1_000 })
    assert.deepEqual(
      all.values.map((value) => ({ ...value })),
      expected,
      about,
    )
    assert.equal(all.more, false)
    const two = await store.vocabulary({ ...request, limit: 2 })
    assert.deepEqual(
      two.values.map((value) => ({ ...value })),
      expected.slice(0, 2),
      about,
    )
    assert.equal(two.more, expected.length > 2, about)
  }
}

function read(query: string) {
  const ast = parseQuery(query, (name) => fields.find(name) !== undefined)
  return { ast, ...resolveQuery(ast, { fields, nowMs: FAKE_EPOCH_MS }) }
}

interface Asked {
  readonly query: string
  readonly sort: readonly string[]
  readonly facets: readonly string[]
}

/**
 * Every page, with a limit of 7, so that cursors of every sort are walked.
 */
async function searchAll(store: BackendStore, objects: readonly OracleObject[], { query, sort, facets }: Asked) {
  const search = orderedSearch(store, objects)
  const { ast, predicate, ranked } = read(query)
  const pathOf = (name: string): string => fields.find(name)?.path ?? name
  const terms = sort.map((term) => ({ path: pathOf(term.replace(/^-/, '')), descending: term.startsWith('-') }))
  const wanted = facets.map((name) => ({ path: pathOf(name), limit: 5 }))
  const base = { predicate, ranked, sort: terms, limit: 7, facets: wanted }
  let page = await search(base)
  const first = page
  const hits: SearchHit[] = [...page.hits]
  while (page.more) {
    page = await search({ ...base, facets: [], after: hits.at(-1)?.cursor ?? [] })
    assert.equal(page.total, first.total)
    hits.push(...page.hits)
  }
  return { ast, terms, wanted, first, hits }
}

/** A key of `count` as the oracle writes it. */
export function readable(key: string | null): string {
  if (key === null) return 'none'
  const text = key.slice(1)
  if (key.startsWith('=')) return `text ${text}`
  if (key.startsWith('#')) return `number ${String(numberOf(numberOfKey(text)))}`
  return `time ${text.length < 14 ? bucketText(text) : timeOfKey(text)}`
}

/** `20261129` as `2026-11-29`. */
function bucketText(digits: string): string {
  const [year = '', month = '', day = '', hour = '', minute = ''] = [
    digits.slice(0, 4),
    digits.slice(4, 6),
    digits.slice(6, 8),
    digits.slice(8, 10),
    digits.slice(10, 12),
  ]
  const date = [year, month, day].filter((part) => part !== '').join('-')
  return hour === '' ? date : `${date}T${[hour, minute].filter((part) => part !== '').join(':')}`
}

function byKey(a: readonly [string, number], b: readonly [string, number]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0
}

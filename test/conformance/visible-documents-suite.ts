/**
 * What every search store does for a caller who may see only some documents: it answers as a store that has no others.
 * `visibleDocumentsSuite(open)` from the store's own test file; `open` gives an empty store.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { BackendStore } from '../../src/backendstore/backend-store.ts'
import { parseQuery } from '../../src/query/parser.ts'
import { resolveQuery } from '../../src/query/resolve.ts'
import type { SearchHit, VisibleDocuments, VisibleResource } from '../../src/query/search-request.ts'
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
import { QueryOracle, type OracleObject } from '../support/query-oracle.ts'
import { allFields } from '../support/search.ts'
import type { OpenedStore } from './backend-store-suite.ts'
import { readable } from './search-suite.ts'
import { fill } from './fill.ts'

const RUNS = Number(process.env['FLEETSEARCH_TEST_RUNS'] ?? 40)
const QUERIES_PER_WORLD = 6

/** A choice for each (cluster, resource) that the objects have: all, nothing, or some of its namespaces and names. */
export type Choice =
  'everything' | 'nothing' | { readonly namespaces: readonly number[]; readonly names: readonly number[] }

export const choice: fc.Arbitrary<Choice> = fc.oneof(
  fc.constant<Choice>('everything'),
  fc.constant<Choice>('nothing'),
  fc.record({
    namespaces: fc.array(fc.nat(5), { maxLength: 2 }),
    names: fc.array(fc.nat(9), { maxLength: 2 }),
  }),
)

export function visibleOf(objects: readonly OracleObject[], choices: readonly Choice[]): VisibleDocuments {
  const clusters = new Map<string, Map<string, OracleObject[]>>()
  for (const object of objects) {
    const { cluster, group, resource } = object.identity
    const resources = clusters.get(cluster) ?? new Map<string, OracleObject[]>()
    clusters.set(cluster, resources)
    resources.set(`${group}/${resource}`, [...(resources.get(`${group}/${resource}`) ?? []), object])
  }
  let next = 0
  const parts: VisibleResource[][] = []
  const places = new Map<string, number>()
  for (const [cluster, resources] of clusters) {
    const part = [...resources.values()].flatMap((some) =>
      resourcePart(some, choices[next++ % choices.length] as Choice),
    )
    if (part.length === 0 && next % 2 === 0) continue // a cluster with nothing may also be left out
    places.set(cluster, parts.length)
    parts.push(part)
  }
  return { clusters: places, parts }
}

function resourcePart(objects: readonly OracleObject[], chosen: Choice): VisibleResource[] {
  const { group = '', resource = '' } = objects[0]?.identity ?? {}
  if (chosen === 'nothing') return []
  if (chosen === 'everything') return [{ group, resource, everything: true, namespaces: [], names: [] }]
  const at = <T>(values: readonly T[], index: number): T => values[index % values.length] as T
  const identities = objects.map(({ identity }) => identity)
  const names = chosen.names.map((index, i) => {
    const { namespace, name } = at(identities, index)
    return i % 2 === 0 ? { namespace, name } : { name }
  })
  const namespaces = chosen.namespaces.map((index) => at(identities, index).namespace).filter((ns) => ns !== '')
  return [{ group, resource, everything: false, namespaces, names }]
}

export function isVisible({ identity }: OracleObject, { clusters, parts }: VisibleDocuments): boolean {
  const { cluster, group, resource, namespace, name } = identity
  const part = parts[clusters.get(cluster) ?? -1] ?? []
  return part.some(
    (each) =>
      each.group === group &&
      each.resource === resource &&
      (each.everything ||
        each.namespaces.includes(namespace) ||
        each.names.some((one) => one.name === name && (one.namespace ?? namespace) === namespace)),
  )
}

export function visibleDocumentsSuite(open: () => Promise<OpenedStore>): void {
  let opened: OpenedStore
  let store: BackendStore
  const oracle = new QueryOracle(allFields, FAKE_EPOCH_MS)
  before(async () => {
    opened = await open()
    store = opened.store
  })
  after(() => opened.dispose())

  test('hits, pages, totals and facets are those of a store without what is not visible', async () => {
    const scenario = fc.tuple(
      queryArbitrary,
      sortArbitrary,
      facetsArbitrary,
      fc.array(choice, { minLength: 1, maxLength: 9 }),
    )
    const property = fc.asyncProperty(
      objectsArbitrary,
      fc.array(scenario, { minLength: QUERIES_PER_WORLD, maxLength: QUERIES_PER_WORLD }),
      async (objects, scenarios) => {
        await fill(store, objects)
        for (const [query, sorts, facets, choices] of scenarios) {
          const visible = visibleOf(objects, choices)
          const { hits, total, found } = await searchAll(objects, {
            query,
            sorts: [...new Set(sorts)],
            facets,
            visible,
          })
          const ast = parseQuery(query, (name) => allFields.find(name) !== undefined)
          const expected = oracle.answer(
            objects.filter((object) => isVisible(object, visible)),
            { ast, sort: termsOf([...new Set(sorts)]), facets: facetsOf(facets) },
          )
          const about = JSON.stringify({ query, sorts, facets, parts: visible.parts, clusters: [...visible.clusters] })
          const shown = (
            hit: { cluster: string; kind: string; namespace: string; name: string },
            rank: number,
          ): string => `${hit.cluster} ${hit.kind} ${hit.namespace}/${hit.name} rank ${rank}`
          assert.deepEqual(
            hits.map((hit) => shown(hit, hit.rank)),
            expected.found.map(({ identity, rank }) => shown(identity, rank)),
            about,
          )
          assert.equal(total, expected.found.length, about)
          assert.deepEqual(
            found.map(({ distinct, values }) => ({ distinct, values: values.map((value) => ({ ...value })) })),
            expected.facets,
            about,
          )
        }
      },
    )
    await fc.assert(property, { numRuns: RUNS })
  })

  test('counts and suggestions are those of a store without what is not visible', async () => {
    const scenario = fc.tuple(
      queryArbitrary,
      dimensionsArbitrary,
      likenessArbitrary,
      fc.array(choice, { minLength: 1, maxLength: 9 }),
    )
    const scenarios = fc.array(scenario, { minLength: QUERIES_PER_WORLD, maxLength: QUERIES_PER_WORLD })
    const property = fc.asyncProperty(objectsArbitrary, scenarios, async (objects, drawn) => {
      await fill(store, objects)
      for (const [query, dimensions, [path, like], choices] of drawn) {
        const visible = visibleOf(objects, choices)
        const seen = objects.filter((object) => isVisible(object, visible))
        const ast = parseQuery(query, (name) => allFields.find(name) !== undefined)
        const { predicate } = resolveQuery(ast, { fields: allFields, nowMs: FAKE_EPOCH_MS })
        const about = JSON.stringify({ query, dimensions, path, like, parts: visible.parts, of: [...visible.clusters] })
        const { rows } = await store.count({ predicate, visible, dimensions, maxRows: 10_000 })
        const counted = new Map(rows.map(({ keys, documents }) => [keys.map(readable).join(' | '), documents]))
        assert.deepEqual(counted, oracle.count(seen, ast, dimensions), about)
        const request = { predicate, visible, like, limit: 5, ...(path === undefined ? {} : { path }) }
        const { values } = await store.vocabulary(request)
        const expected = oracle.vocabulary(seen, ast, path, like).slice(0, 5)
        assert.deepEqual(
          values.map((value) => ({ ...value })),
          expected,
          about,
        )
      }
    })
    await fc.assert(property, { numRuns: RUNS })
  })

  test('without any right nothing is found, and rights of one search are not those of the next', async () => {
    const nothing = { clusters: new Map(), parts: [] }
    const everything = await searchAll([], { query: '', sorts: [], facets: ['kind'], visible: undefined })
    assert.ok(everything.total >= 0)
    const { hits, total, found } = await searchAll([], {
      query: '',
      sorts: [],
      facets: ['kind', 'cluster'],
      visible: nothing,
    })
    assert.deepEqual([hits.length, total, found.map(({ values }) => values.length)], [0, 0, [0, 0]])
    assert.equal(
      (await searchAll([], { query: '', sorts: [], facets: [], visible: undefined })).total,
      everything.total,
    )
  })

  async function searchAll(
    objects: readonly OracleObject[],
    { query, sorts, facets, visible }: Asked,
  ): Promise<{ hits: SearchHit[]; total: number; found: Awaited<ReturnType<BackendStore['search']>>['facets'] }> {
    const ast = parseQuery(query, (name) => allFields.find(name) !== undefined)
    const { predicate, ranked } = resolveQuery(ast, { fields: allFields, nowMs: FAKE_EPOCH_MS })
    const base = {
      predicate,
      ranked,
      sort: termsOf(sorts),
      limit: 7,
      facets: facetsOf(facets),
      ...(visible === undefined ? {} : { visible }),
    }
    const search = orderedSearch(store, objects)
    const first = await search(base)
    const hits = [...first.hits]
    for (let page = first; page.more;) {
      page = await search({ ...base, facets: [], after: hits.at(-1)?.cursor ?? [] })
      assert.equal(page.total, first.total)
      hits.push(...page.hits)
    }
    return { hits, total: first.total, found: first.facets }
  }
}

interface Asked {
  readonly query: string
  readonly sorts: readonly string[]
  readonly facets: readonly string[]
  readonly visible: VisibleDocuments | undefined
}

function termsOf(sorts: readonly string[]): { path: string; descending: boolean }[] {
  return sorts.map((term) => ({ path: pathOf(term.replace(/^-/, '')), descending: term.startsWith('-') }))
}

function facetsOf(facets: readonly string[]): { path: string; limit: number }[] {
  return facets.map((name) => ({ path: pathOf(name), limit: 5 }))
}

function pathOf(name: string): string {
  return allFields.find(name)?.path ?? name
}

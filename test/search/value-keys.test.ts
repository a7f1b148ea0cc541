/** Keys of values are bounded, whatever the values are, and order as the oracle does on every page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../src/query/parser.ts'
import { resolveQuery } from '../../src/query/resolve.ts'
import type { SearchHit, SearchResult } from '../../src/query/search-request.ts'
import { orderedSearch } from '../support/ordered-search.ts'
import { QueryOracle, type OracleObject } from '../support/query-oracle.ts'
import { FAKE_EPOCH_MS } from '../support/fake-clock.ts'
import { allFields as fields } from '../support/search.ts'

const LONG = 'Long'.repeat(2_000)

/** Alike in the first 512 bytes, without case, or cut within a character. */
const TEXTS = [`${LONG}b`, `${LONG}a`, LONG.toLowerCase(), 'é'.repeat(255), 'É'.repeat(255), `${'x'.repeat(511)}é`]

const OBJECTS: readonly OracleObject[] = TEXTS.map((text, i) => ({
  identity: {
    ...{ cluster: 'member1', group: 'example.com', version: 'v1', resource: 'widgets', kind: 'Widget' },
    ...{ namespace: 'shop', name: `w-${i}`, uid: `u-${i}`, resourceVersion: '1' },
  },
  object: { metadata: { name: `w-${i}`, annotations: { note: text } }, spec: { text: [text] } },
}))

const HITS = OBJECTS.map(({ identity }): SearchHit => ({ ...identity, rank: 0, cursor: [] }))

const STORE = {
  search: () => Promise.resolve({ total: HITS.length, totalIsExact: true, hits: HITS, more: false, facets: [] }),
}

test('keys of long values are cut, and pages are in the order of what is left, then of names', async () => {
  const search = orderedSearch(STORE, OBJECTS)
  const ast = parseQuery('', () => false)
  const meaning = resolveQuery(ast, { fields, nowMs: FAKE_EPOCH_MS })
  const oracle = new QueryOracle(fields, FAKE_EPOCH_MS)
  for (const path of ['.spec.text', 'annotation.note']) {
    for (const descending of [false, true]) {
      const sort = [{ path, descending }]
      const names: string[] = []
      let page: SearchResult | undefined
      do {
        const after = page?.hits.at(-1)?.cursor
        page = await search({ ...meaning, sort, limit: 2, facets: [], ...(after === undefined ? {} : { after }) })
        for (const { name, cursor } of page.hits) {
          names.push(name)
          assert.ok(Buffer.byteLength(String(cursor[0])) <= 512, name)
        }
      } while (page.more)
      const { found } = oracle.answer(OBJECTS, { ast, sort, facets: [] })
      assert.deepEqual(
        names,
        found.map(({ identity }) => identity.name),
      )
      const long = names.filter((name) => ['w-0', 'w-1', 'w-2'].includes(name))
      assert.deepEqual(long, ['w-0', 'w-1', 'w-2']) // what begins alike
    }
  }
})

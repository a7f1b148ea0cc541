/**
 * Whatever is sent to an endpoint of search is an answer or a 4xx, never a 5xx: texts of the grammar and noise, doubled and
 * huge parameters, bodies of any shape, any Accept. FLEETSEARCH_TEST_RUNS (600) is the number of requests,
 * FLEETSEARCH_TEST_SEED repeats one run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AskOptions } from '../http/loopback.ts'
import { fleetOfTwo, withSearch } from './served-search.ts'

const RUNS = Number(process.env['FLEETSEARCH_TEST_RUNS'] ?? 600)
const SEED = process.env['FLEETSEARCH_TEST_SEED']

const ENDPOINTS = ['query', 'aggregate', 'suggest', 'fields', 'related', 'lookup']
const PARAMETERS = [
  ...['q', 'sort', 'cluster', 'limit', 'continue', 'facets', 'facetLimit', 'fields', 'highlight', 'typos', 'explain'],
  ...[
    'snapshot',
    'by',
    'metrics',
    'key',
    'ip',
    'timeout',
    'kind',
    'group',
    'namespace',
    'name',
    'depth',
    'field',
    '__proto__',
  ],
]
const FIELDS = [
  'name',
  'ns',
  'restarts',
  'created',
  'memory',
  'image',
  'ip',
  'label.app',
  'annotation.😀',
  'spec.x',
  '.a.b',
  'version',
  'nope',
]
const OPERATORS = [':', '=', '!=', '<', '<=', '>', '>=', '~', ':(', '=(']
const VALUES = [
  ...[
    'web',
    '*',
    '?*?*',
    '7d',
    '99999999999999999999y',
    '1Gi',
    '-0',
    '1e999',
    'NaN',
    '10.0.0.0/8',
    '2001:db8::/129',
    '::ffff:1.2.3.4',
  ],
  ...[
    '2026-13-45',
    '"a \\" b"',
    '(a+)+$',
    '[',
    'a{1,100}',
    '(?<=a)',
    'nsip:shop:web-1',
    'nsip::',
    'fe80::1%eth0',
    'true',
    '0',
    '\0',
    '\ud800',
  ],
  ...[
    'member1',
    'Pod',
    'shop',
    'web-1',
    'sum(restarts)',
    'percentile(restarts,50)',
    'month(created)',
    'distinct(name)',
  ],
]
const GLUE = [' ', ' OR ', ' AND ', ' NOT ', ' -', '(', ')', ',', '"', '']

const term = fc
  .tuple(fc.constantFrom(...FIELDS), fc.constantFrom(...OPERATORS), fc.constantFrom(...VALUES))
  .map((parts) => parts.join(''))
const grammar = fc
  .array(fc.tuple(fc.constantFrom(...GLUE), fc.oneof(term, fc.constantFrom(...VALUES, ...FIELDS))), { maxLength: 12 })
  .map((parts) => parts.flat().join(''))
const bytes = fc.uint8Array({ maxLength: 60 }).map((noise) => Buffer.from(noise).toString('latin1'))
const huge = fc
  .tuple(
    fc.oneof(term, fc.constantFrom(...GLUE, ...VALUES, 'name,', 'a.', '(a*)*', '"a" ')),
    fc.constantFrom(50, 300, 3_000),
  )
  .map(([text, times]) => text.repeat(times).slice(0, 13_000))
const text = fc.oneof(
  { weight: 6, arbitrary: grammar },
  { weight: 3, arbitrary: fc.constantFrom(...VALUES, ...FIELDS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: bytes },
  { weight: 1, arbitrary: huge },
)
const parameters = fc.array(fc.tuple(fc.constantFrom(...PARAMETERS), text), { maxLength: 8 })

/** Noise of percent signs too, which no encoder would make. */
const queryString = fc.oneof(
  {
    weight: 5,
    arbitrary: parameters.map((pairs) =>
      new URLSearchParams(pairs.map(([name, value]) => [name, value.toWellFormed()])).toString(),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 40 })
      .map((noise) => [...noise].map((byte) => `%${byte.toString(16)}`).join('&')),
  },
)
const wellShaped = parameters.map((pairs) => JSON.stringify(Object.fromEntries(pairs)))
const lists = fc
  .dictionary(
    fc.constantFrom(...PARAMETERS),
    fc.oneof(fc.array(text, { maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), text),
  )
  .map((body) => JSON.stringify(body))
const body = fc.oneof(
  { weight: 4, arbitrary: wellShaped },
  { weight: 4, arbitrary: lists },
  { weight: 1, arbitrary: fc.json({ maxDepth: 6 }) },
  { weight: 1, arbitrary: bytes },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      'null',
      '[]',
      '{',
      '['.repeat(9_000),
      '{"q":'.repeat(2_000),
      '{"__proto__":{"q":"x"}}',
      '{"q":1e999}',
    ),
  },
)
const ACCEPTS = [
  'application/json',
  'application/x-ndjson',
  'text/csv',
  '*/*',
  'text/html',
  'text/csv;q=0,*/*;q=x',
  ',;=',
  'application/json;as=Table',
  '',
]
const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  'text/plain',
  'a/b;;',
  '',
]

/** Requests that are answered, so that what is added to them is looked at. */
const VALID: Readonly<Record<string, string>> = {
  query: 'q=web',
  aggregate: 'q=kind:Pod&by=cluster',
  suggest: 'q=name:w',
  fields: '',
  related: 'cluster=member1&kind=Pod&namespace=shop&name=web-1',
  lookup: 'key=nsip:shop:web-1&ip=10.0.0.1',
}

interface Sent {
  readonly path: string
  readonly options: AskOptions
}
const path = fc
  .tuple(fc.constantFrom(...ENDPOINTS), fc.constantFrom('', '', '/', '/proxy'), fc.boolean(), queryString)
  .map(([endpoint, tail, valid, query]) => `/${endpoint}${tail}?${valid ? `${VALID[endpoint]}&` : ''}${query}`)
const get = fc
  .tuple(path, fc.constantFrom(...ACCEPTS))
  .map(([to, accept]): Sent => ({ path: to, options: { headers: { accept } } }))
const post = fc
  .tuple(
    path,
    fc.constantFrom(...ACCEPTS),
    fc.constantFrom(...CONTENT_TYPES, ...Array<string>(6).fill('application/json')),
    body,
  )
  .map(([to, accept, type, sent]): Sent => ({
    path: to,
    options: { method: 'POST', headers: { accept, 'content-type': type }, body: sent },
  }))

test('hostile requests are an answer or a 4xx, and leave the server as it was', { timeout: 3_600_000 }, async (t) => {
  const counts: Record<string, number> = {}
  await withSearch(fleetOfTwo(), async ({ api, json }) => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(get, post), async ({ path: to, options }) => {
        const { status, text: answer } = await api.ask(to, options)
        counts[`${to.split(/[/?]/)[1]} ${status}`] = (counts[`${to.split(/[/?]/)[1]} ${status}`] ?? 0) + 1
        assert.ok(status === 200 || (status >= 400 && status < 500), `${status} ${answer}`)
      }),
      { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
    )
    assert.equal((await json('query', { q: 'web-1' })).total, 2)
    for (const endpoint of ['query', 'aggregate', 'suggest', 'fields', 'related', 'lookup']) {
      const statuses = Object.keys(counts).filter((key) => key.startsWith(`${endpoint} `))
      if (RUNS >= 600) assert.ok(statuses.includes(`${endpoint} 200`), `${endpoint}: ${statuses.join()}`)
    }
  })
  t.diagnostic(JSON.stringify(counts))
})

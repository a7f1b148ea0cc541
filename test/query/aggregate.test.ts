import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aggregate, type AggregateRequest, type Metric, type MetricFunction } from '../../src/query/aggregate.ts'
import { add, compareDecimals, decimalOf, decimalText, times } from '../../src/query/decimal.ts'
import type { CountRequest, CountResult } from '../../src/query/search-request.ts'
import { sortableNumber, sortableTime } from '../../src/query/sortable.ts'

interface Row {
  readonly cluster: string | null
  readonly memory?: string
  readonly created?: string
}

/** Counts rows as a store does documents. */
const storeOf = (rows: readonly Row[]) => ({
  count({ dimensions, maxRows }: CountRequest): Promise<CountResult> {
    const counts = new Map<string, number>()
    for (const row of rows) {
      const keys = dimensions.map(({ path }) => {
        if (path === 'cluster') return row.cluster === null ? null : `=${row.cluster}`
        if (path === 'created') return row.created === undefined ? null : `@${String(sortableTime(row.created))}`
        return row.memory === undefined ? null : `#${String(sortableNumber(row.memory))}`
      })
      counts.set(JSON.stringify(keys), (counts.get(JSON.stringify(keys)) ?? 0) + 1)
    }
    const found = [...counts].map(([keys, documents]) => ({ keys: JSON.parse(keys) as (string | null)[], documents }))
    return Promise.resolve(found.length > maxRows ? { rows: [], complete: false } : { rows: found, complete: true })
  },
})

const of = (fn: MetricFunction, path = 'memory'): Metric => ({
  function: fn,
  dimension: { type: path === 'created' ? 'time' : 'number', path },
})

async function ask(rows: readonly Row[], request: Partial<AggregateRequest>): Promise<unknown> {
  const { groups } = await aggregate(storeOf(rows), {
    predicate: { type: 'all' },
    groupBy: [{ type: 'value', path: 'cluster' }],
    metrics: [],
    order: { by: 'documents', descending: true },
    limit: 100,
    dropMissing: false,
    ...request,
  })
  return groups.map(({ keys, documents, metrics }) =>
    [...keys, { json: String(documents) }, ...metrics].map(({ json }) => json).join(' '),
  )
}

const ROWS: readonly Row[] = [
  { cluster: 'b', memory: '1Gi' },
  { cluster: 'b', memory: '1024Mi', created: '2026-01-02T03:04:05Z' },
  { cluster: 'a', memory: '100m', created: '2026-01-01T00:00:00.5Z' },
  { cluster: 'a' },
  { cluster: null, memory: '7' },
  { cluster: 'c' },
]

test('groups with sums, averages, extremes and percentiles; none where there is no value', async () => {
  const metrics = [of({ type: 'sum' }), of({ type: 'avg' }), of({ type: 'min' }), of({ type: 'count' })]
  assert.deepEqual(await ask(ROWS, { metrics }), [
    '"a" 2 0.1 0.1 0.1 1',
    '"b" 2 2147483648 1073741824 1073741824 2',
    '"c" 1 null null null 0',
    'null 1 7 7 7 1',
  ])
  assert.deepEqual(await ask(ROWS, { groupBy: [], metrics: [of({ type: 'max' }, 'created')] }), [
    '6 "2026-01-02T03:04:05Z"',
  ])
})

test('orders by documents, keys or a metric in both directions, what has no value last, ties by key', async () => {
  const metrics = [of({ type: 'sum' })]
  const keys = async (by: AggregateRequest['order']['by'], descending: boolean): Promise<unknown> =>
    ((await ask(ROWS, { metrics, order: { by, descending } })) as string[]).map((line) => line.split(' ')[0])
  assert.deepEqual(await keys('documents', false), ['"c"', 'null', '"a"', '"b"'])
  assert.deepEqual(await keys('keys', true), ['null', '"c"', '"b"', '"a"'])
  assert.deepEqual(await keys(0, true), ['"b"', 'null', '"a"', '"c"'])
  assert.deepEqual(await keys(0, false), ['"a"', 'null', '"b"', '"c"'])
  assert.deepEqual(await ask(ROWS, { dropMissing: true, limit: 1 }), ['"a" 2'])
})

test('percentiles are values, by nearest rank', async () => {
  const rows = Array.from({ length: 200 }, (_, i) => ({ cluster: 'a', memory: String(i + 1) }))
  const metrics = [50, 95, 99.5, 100, 0.1].map((percent) => of({ type: 'percentile', percent }))
  assert.deepEqual(await ask(rows, { metrics }), ['"a" 200 100 190 199 200 1'])
})

test('sums stay exact beyond 2^53', async () => {
  const rows = [
    { cluster: 'a', memory: '9007199254740993' },
    { cluster: 'a', memory: '7Ei' },
    { cluster: 'a', memory: '1n' },
  ]
  assert.deepEqual(await ask(rows, { metrics: [of({ type: 'sum' })] }), ['"a" 3 8079457731502669825.000000001'])
})

test('more combinations than can be held are refused', async () => {
  const store = { count: () => Promise.resolve({ rows: [], complete: false }) }
  const request: AggregateRequest = {
    predicate: { type: 'all' },
    groupBy: [],
    metrics: [],
    order: { by: 'keys', descending: false },
    limit: 1,
    dropMissing: false,
  }
  await assert.rejects(aggregate(store, request), (error: { code?: string }) => error.code === 'invalid')
})

test('decimals add, multiply and compare exactly, and print as JSON numbers', () => {
  const number = fc.tuple(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.integer({ min: -30, max: 30 }))
  const scaled = ([mantissa, exponent]: readonly [bigint, number]): bigint => mantissa * 10n ** BigInt(exponent + 60)
  const decimal = ([mantissa, exponent]: readonly [bigint, number]) => ({ mantissa, exponent })
  fc.assert(
    fc.property(number, number, fc.nat(1_000), (a, b, n) => {
      const read = (text: string): bigint => {
        const { mantissa, exponent } = decimalOf(text)
        return mantissa * 10n ** BigInt(exponent + 200)
      }
      const sum = decimalText(add(decimal(a), times(decimal(b), n)))
      assert.equal(read(sum), (scaled(a) + scaled(b) * BigInt(n)) * 10n ** 140n)
      assert.equal(typeof JSON.parse(sum), 'number')
      const [x, y] = [scaled(a), scaled(b)]
      assert.equal(Math.sign(compareDecimals(decimal(a), decimal(b))), x < y ? -1 : x > y ? 1 : 0)
    }),
  )
  assert.throws(() => decimalOf('1Gi'), RangeError)
})

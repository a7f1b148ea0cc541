import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  numberOfKey,
  sortableIp,
  sortableMs,
  sortableNumber,
  sortableText,
  sortableTime,
  sortableVersion,
  timeOfKey,
} from '../../src/query/sortable.ts'
import { keyRange } from '../../src/backendstore/sqlite/key-range.ts'
import { parseAge } from '../../src/query/typed-bounds.ts'

const bytes = (a: string | undefined, b: string | undefined): number =>
  Buffer.compare(Buffer.from(a ?? ''), Buffer.from(b ?? ''))

function ascending(key: (text: string) => string | undefined, values: readonly string[]): void {
  for (const [i, value] of values.entries()) {
    assert.notEqual(key(value), undefined, value)
    for (const later of values.slice(i + 1)) assert.equal(bytes(key(value), key(later)), -1, `${value} < ${later}`)
  }
}

test('numbers and quantities sort as their values, to the last digit', () => {
  ascending(sortableNumber, [
    '-1e30',
    '-10',
    '-9',
    '-1.5',
    '-1',
    '-0.1',
    '0',
    '1n',
    '0.001',
    '100m',
    '1',
    '9',
    '10',
    '900Mi',
    '1000Mi',
    '1Gi',
    '1.5Gi',
    '2G',
    '9007199254740992',
    '9007199254740993',
    '1e30',
  ])
  for (const [a, b] of [
    ['1Gi', '1024Mi'],
    ['0.1', '100m'],
    ['1e3', '1k'],
    ['1000000n', '1m'],
    ['-0', '0'],
    ['007', '7'],
    ['1.50', '1.5'],
    ['1Ki', '1024'],
  ] as const) {
    assert.equal(sortableNumber(a), sortableNumber(b), `${a} = ${b}`)
  }
  for (const none of ['', 'x', '1x', 'Ki', '1e', '--1', '1.2.3', 'NaN', 'Infinity', '1'.repeat(80), '1e999'])
    assert.equal(sortableNumber(none), undefined, none)
})

test('any two doubles sort as they compare, and read back', () => {
  const double = fc.double({ noNaN: true, noDefaultInfinity: true })
  fc.assert(
    fc.property(double, double, (a, b) => {
      const [x, y] = [sortableNumber(String(a)), sortableNumber(String(b))]
      assert.equal(bytes(x, y), a < b ? -1 : a > b ? 1 : 0)
      assert.equal(Number(numberOfKey(x ?? '')), a === 0 ? 0 : a)
    }),
    { numRuns: 2_000 },
  )
})

test('times sort in UTC with their fractions', () => {
  ascending(sortableTime, [
    '1999-12-31T23:59:59Z',
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05.000001Z',
    '2026-01-02T03:04:05.1Z',
    '2026-01-02T03:04:06Z',
  ])
  assert.equal(sortableTime('2026-01-02T03:04:05.120+02:00'), sortableTime('2026-01-02T01:04:05.12Z'))
  assert.equal(sortableTime('2026-01-02T03:04:05.000Z'), sortableMs(Date.UTC(2026, 0, 2, 3, 4, 5)))
  assert.equal(timeOfKey(sortableTime('2026-01-02T03:04:05.123456Z') ?? ''), '2026-01-02T03:04:05.123456Z')
  for (const none of ['2026-01-02', 'yesterday', '2026-01-02 03:04:05Z']) assert.equal(sortableTime(none), undefined)
})

test('days and times of day that there are not are no times, as to Kubernetes', () => {
  for (const none of [
    '2020-02-30T00:00:00Z',
    '2020-02-30T00:00:00.5Z',
    '2020-02-30T00:00:00+01:00',
    '2023-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2020-04-31T00:00:00Z',
    '2020-13-01T00:00:00Z',
    '2020-00-01T00:00:00Z',
    '2020-01-00T00:00:00Z',
    '2020-01-32T00:00:00Z',
    '2020-01-01T24:00:00Z',
    '2020-01-01T24:00:00+01:00',
    '2020-01-01T25:00:00Z',
    '2020-01-01T00:60:00Z',
    '2016-12-31T23:59:60Z',
    '2020-01-01T00:00:61Z',
    '2020-01-01T00:00:00+25:00',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
  ])
    assert.equal(sortableTime(none), undefined, none)
  const day = fc.integer({ min: Date.UTC(1600, 0, 1) / 86_400_000, max: Date.UTC(2800, 0, 1) / 86_400_000 })
  fc.assert(
    fc.property(day, (days) => {
      const text = new Date(days * 86_400_000).toISOString()
      assert.equal(timeOfKey(sortableTime(text) ?? ''), text.replace('.000', ''))
    }),
    { numRuns: 2_000 },
  )
})

test('versions and addresses sort as what they are', () => {
  ascending(sortableVersion, ['v1.9', 'v1.10.0-alpha', 'v1.10.0-rc.1', 'v1.10', 'v1.10.1', 'v1.30.1+k3s1', 'v2'])
  assert.equal(sortableVersion('1.2'), sortableVersion('v1.2.0'))
  assert.equal(sortableVersion('v1beta1'), undefined)
  ascending(sortableIp, [
    '9.255.0.1',
    '10.0.0.9',
    '10.0.0.10',
    '::1',
    '::ffff:10.0.0.1',
    '2001:db8::1',
    '2001:db8:0:1::',
  ])
  assert.equal(sortableIp('2001:DB8::1'), sortableIp('2001:db8:0:0:0:0:0:1'))
  for (const none of ['10.0.0', '10.0.0.256', 'x', ':::']) assert.equal(sortableIp(none), undefined)
})

test('text sorts without regard to case, then by its bytes', () => {
  const sorted = ['b', 'A', 'a', 'B', '\u{1F600}', '\uFF5E'].sort((x, y) => bytes(sortableText(x), sortableText(y)))
  assert.deepEqual(sorted, ['A', 'a', 'B', 'b', '\uFF5E', '\u{1F600}'])
})

test('a range of keys is covered by its beginnings, no more and no less', () => {
  const number = fc.oneof(fc.integer({ min: -2_000, max: 2_000 }), fc.double({ noNaN: true, noDefaultInfinity: true }))
  fc.assert(
    fc.property(number, number, fc.constantFrom('<', '<=', '>', '>='), (value, bound, comparison) => {
      const [key, limit] = [sortableNumber(String(value)) ?? '', sortableNumber(String(bound)) ?? '']
      const { exact, prefixes } = keyRange('#', limit, comparison)
      const covered = exact.includes(key) || prefixes.some((prefix) => key.startsWith(prefix))
      const holds = { '<': value < bound, '<=': value <= bound, '>': value > bound, '>=': value >= bound }[comparison]
      assert.equal(covered, holds)
    }),
    { numRuns: 3_000 },
  )
})

test('I4: ages read as kubectl prints them', () => {
  const day = 86_400_000
  assert.equal(parseAge('2y114d'), 844 * day)
  assert.equal(parseAge('700d'), 700 * day)
  assert.equal(parseAge('3h20m'), 12_000_000)
  assert.equal(parseAge('90s'), 90_000)
  for (const none of ['', 'd', '5', '1.5h', '3 d', '1mo']) assert.equal(parseAge(none), undefined)
})

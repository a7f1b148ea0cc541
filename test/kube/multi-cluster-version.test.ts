import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeContinueToken, encodeContinueToken } from '../../src/kube/continue-token.ts'
import { goJsonString } from '../../src/kube/go-text.ts'
import type { VersionMap } from '../../src/kube/multi-cluster-version.ts'
import { decodeVersionMap, encodeVersionMap } from '../../src/kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../../src/kube/names.ts'

const mapOf = (versions: Readonly<Record<string, string>>): VersionMap =>
  new Map(Object.entries(versions)) as unknown as Map<ClusterName, ResourceVersion>

const base64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

/** Tokens that a running karmada-search handed out. */
const SEEN: readonly (readonly [token: string, versions: Readonly<Record<string, string>>])[] = [
  ['eyJtZW1iZXIwIjoiMTAwNiIsIm1lbWJlcjEiOiIxMDA4In0', { member0: '1006', member1: '1008' }],
  ['eyJtZW1iZXIwIjoiMTAwNyIsIm1lbWJlcjEiOiIxMDA3In0', { member0: '1007', member1: '1007' }],
  ['eyJtZW1iZXIxIjoiMTAwNiJ9', { member1: '1006' }],
  ['e30', {}],
]

const SEEN_CONTINUE =
  'eyJydiI6ImV5SnRaVzFpWlhJd0lqb2lNVEF3T0NJc0ltMWxiV0psY2pFaU9pSXhNREE0SW4wIiwiY2x1c3RlciI6Im1lbWJlcjAiLCJjb250aW51ZSI6Ik1RIn0'

const anyMap = fc.dictionary(fc.string(), fc.string())

describe('the version of many clusters', () => {
  for (const [token, versions] of SEEN) {
    test(`reads and writes ${token} as karmada-search does`, () => {
      assert.equal(encodeVersionMap(mapOf(versions)), token)
      assert.deepEqual(decodeVersionMap(token), mapOf(versions))
    })
  }

  test('A1: survives encoding and decoding once, whatever the names', () => {
    fc.assert(
      fc.property(anyMap, (versions) => {
        assert.deepEqual(decodeVersionMap(encodeVersionMap(mapOf(versions))), mapOf(versions))
      }),
    )
  })

  test('A1: equal state gives equal bytes, in the byte order of the clusters', () => {
    fc.assert(
      fc.property(anyMap, (versions) => {
        const map = mapOf(versions)
        const reversed = new Map([...map].reverse())
        assert.equal(encodeVersionMap(reversed), encodeVersionMap(map))
        const json = Buffer.from(encodeVersionMap(map), 'base64url').toString('utf8')
        const sorted = Object.entries(versions).sort(([x], [y]) => Buffer.compare(Buffer.from(x), Buffer.from(y)))
        assert.equal(json, `{${sorted.map((pair) => pair.map(goJsonString).join(':')).join(',')}}`)
      }),
    )
    assert.equal(
      encodeVersionMap(mapOf({ 10: '1', 9: '1', a: '1', 'a.b': '1' })),
      base64url('{"10":"1","9":"1","a":"1","a.b":"1"}'),
    )
  })

  test('writes names as Go does', () => {
    assert.equal(encodeVersionMap(mapOf({ 'a<b>&': '1' })), base64url('{"a\\u003cb\\u003e\\u0026":"1"}'))
    assert.deepEqual(decodeVersionMap(base64url('{"__proto__":"7"}')), new Map([['__proto__', '7']]))
  })

  for (const token of [
    '',
    '0',
    '1008',
    '!!!!',
    base64url('[]'),
    base64url('null'),
    base64url('{"a":1}'),
    base64url('{"a"'),
    'e30=',
  ]) {
    test(`takes ${JSON.stringify(token)} for no token`, () => {
      assert.equal(decodeVersionMap(token), undefined)
    })
  }
})

describe('the continue token of many clusters', () => {
  test('reads and writes what karmada-search handed out', () => {
    const parts = { rv: 'eyJtZW1iZXIwIjoiMTAwOCIsIm1lbWJlcjEiOiIxMDA4In0', cluster: 'member0', continue: 'MQ' }
    assert.deepEqual(decodeContinueToken(SEEN_CONTINUE), parts)
    assert.equal(encodeContinueToken(parts), SEEN_CONTINUE)
  })

  test('survives encoding and decoding', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (rv, cluster, position) => {
        const parts = { rv, cluster, continue: position }
        assert.deepEqual(decodeContinueToken(encodeContinueToken(parts)), parts)
      }),
    )
  })

  test('leaves out what is empty, as the original does', () => {
    const token = encodeContinueToken({ rv: 'e30', cluster: 'b', continue: '' })
    assert.equal(Buffer.from(token, 'base64url').toString('utf8'), '{"rv":"e30","cluster":"b"}')
  })

  test('takes nothing else for a token', () => {
    const member = base64url('{"v":"meta.k8s.io/v1","rv":7,"start":"a"}')
    for (const text of [
      '',
      'x',
      '???',
      base64url('[]'),
      base64url('"a"'),
      base64url('{"rv":1}'),
      member,
      `${SEEN_CONTINUE}=`,
    ]) {
      assert.equal(decodeContinueToken(text), undefined, text)
    }
  })
})

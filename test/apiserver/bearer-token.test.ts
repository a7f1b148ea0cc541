import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { bearerTokenAuthenticator } from '../../src/apiserver/authn/bearer-token.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { FakeClock } from '../support/fake-clock.ts'

const ALICE = { username: 'alice', uid: '7', groups: ['dev'], extra: { 'example.org/team': ['x'] } }

function setUp(answer: (token: string) => unknown, ttlMs = 10_000) {
  const clock = new FakeClock()
  const asked: string[] = []
  const authenticate = bearerTokenAuthenticator({
    post: async (review) => {
      const { spec } = review as { spec: { token: string } }
      asked.push(spec.token)
      return answer(spec.token)
    },
    ttlMs,
    monotonicMs: () => clock.monotonicMs(),
    signal: new AbortController().signal,
  })
  const who = (...rawHeaders: string[]) => Promise.resolve(authenticate({ rawHeaders } as unknown as IncomingMessage))
  return { clock, asked, who }
}

const good = (user: unknown): unknown => ({ status: { authenticated: true, user } })

describe('bearer tokens', () => {
  it('are the identity that a TokenReview names, remembered for a while', async () => {
    const { clock, asked, who } = setUp(() => good(ALICE))
    const expected = { name: 'alice', uid: '7', groups: ['dev'], extra: { 'example.org/team': ['x'] } }
    assert.deepEqual(await who('Authorization', 'Bearer abc'), expected)
    assert.deepEqual(await who('authorization', '  bearer abc '), expected)
    assert.deepEqual(asked, ['abc'])
    await clock.advance(9_999)
    await who('Authorization', 'Bearer abc')
    assert.deepEqual(asked, ['abc'])
    await clock.advance(2)
    await who('Authorization', 'Bearer abc')
    assert.deepEqual(asked, ['abc', 'abc'])
  })

  it('are nobody’s where there is none', async () => {
    const { asked, who } = setUp(() => good(ALICE))
    for (const headers of [
      [],
      ['Authorization', 'Basic abc'],
      ['Authorization', 'Bearer'],
      ['Authorization', 'Bearer  x'],
    ]) {
      assert.equal(await who(...headers), undefined)
    }
    assert.deepEqual(asked, [])
  })

  it('that are wrong are refused, and asked about once', async () => {
    const { asked, who } = setUp(() => ({ status: { authenticated: false, error: 'expired' } }))
    for (let i = 0; i < 3; i++) {
      await assert.rejects(who('Authorization', 'Bearer bad'), (error) => isStatusError(error, 'unauthorized'))
    }
    assert.deepEqual(asked, ['bad'])
  })

  it('fail closed: strange answers, half identities, and none at all', async () => {
    for (const answer of [
      null,
      {},
      { status: {} },
      { status: { authenticated: 'true', user: ALICE } },
      { status: { authenticated: true, user: ALICE, error: 'but' } },
      good(undefined),
      good({ ...ALICE, username: '' }),
      good({ ...ALICE, groups: 'system:masters' }),
      good({ ...ALICE, extra: { a: 'b' } }),
    ]) {
      const { who } = setUp(() => answer)
      await assert.rejects(who('Authorization', 'Bearer x'), (error) => isStatusError(error, 'unauthorized'))
    }
    const down = setUp(() => {
      throw new Error('no route to secret-host')
    })
    for (let i = 0; i < 2; i++) {
      await assert.rejects(
        down.who('Authorization', 'Bearer x'),
        (error) => isStatusError(error, 'serviceUnavailable') && !error.message.includes('secret-host'),
      )
    }
    assert.equal(down.asked.length, 2)
  })

  it('in a flood are bounded: one question for each, not too many at once, and those known still come in', async () => {
    let blocked = false
    const { asked, who } = setUp((token) => (blocked && token !== 'known' ? new Promise(() => undefined) : good(ALICE)))
    await who('Authorization', 'Bearer known')
    blocked = true
    for (let i = 0; i < 600; i++) void who('Authorization', `Bearer invented-${i % 300}`).catch(() => undefined)
    await assert.rejects(
      who('Authorization', 'Bearer one-more'),
      (error) => isStatusError(error, 'tooManyRequests') && error.details?.retryAfterSeconds === 1,
    )
    assert.equal(asked.length, 257)
    assert.equal((await who('Authorization', 'Bearer known'))?.name, 'alice')
  })

  it('are not remembered at all with a time of 0', async () => {
    const { asked, who } = setUp(() => good(ALICE), 0)
    for (let i = 0; i < 2; i++) await who('Authorization', 'Bearer abc')
    assert.equal(asked.length, 2)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { IncomingMessage } from 'node:http'
import { answerHealth, PING, type HealthCheck, type Readiness } from '../../src/apiserver/health.ts'
import { guardLoopback } from '../../src/apiserver/loopback-guard.ts'
import { isStatusError } from '../../src/kube/status-error.ts'

describe('health', () => {
  let readiness: Readiness = { state: 'pending', reason: '2 of 3 clusters listed' }
  const sync: HealthCheck = { name: 'informer-sync', endpoints: ['healthz', 'readyz'], check: () => readiness }
  const ask = (endpoint: 'healthz' | 'livez' | 'readyz', one?: string, query = '') =>
    answerHealth([PING, sync], endpoint, one, new URLSearchParams(query))

  it('is live while it is not ready, and says why it is not', async () => {
    assert.deepEqual(await ask('livez'), { status: 200, body: 'ok' })
    assert.deepEqual(await ask('readyz'), {
      status: 503,
      body: '[+]ping ok\n[-]informer-sync pending: 2 of 3 clusters listed\nreadyz check failed\n',
    })
  })
  it('withholds reasons, which name clusters, from whoever does not say who he is', async () => {
    const answer = (one?: string) => answerHealth([PING, sync], 'readyz', one, new URLSearchParams('verbose'), false)
    assert.deepEqual(await answer(), {
      status: 503,
      body: '[+]ping ok\n[-]informer-sync pending: reason withheld\nreadyz check failed\n',
    })
    assert.deepEqual(await answer('informer-sync'), { status: 503, body: 'pending: reason withheld\n' })
  })
  it('answers for one check, and without those excluded', async () => {
    assert.deepEqual(await ask('readyz', 'informer-sync'), { status: 503, body: 'pending: 2 of 3 clusters listed\n' })
    assert.deepEqual(await ask('readyz', 'ping'), { status: 200, body: 'ok' })
    assert.equal(await ask('readyz', 'no-such'), undefined)
    assert.equal(await ask('livez', 'informer-sync'), undefined)
    assert.deepEqual(await ask('readyz', undefined, 'exclude=informer-sync'), { status: 200, body: 'ok' })
  })
  it('lists every check when asked', async () => {
    readiness = { state: 'ready' }
    assert.deepEqual(await ask('readyz', undefined, 'verbose'), {
      status: 200,
      body: '[+]ping ok\n[+]informer-sync ok\nreadyz check passed\n',
    })
    readiness = { state: 'stopped', reason: 'shutting down' }
    assert.equal((await ask('readyz'))?.status, 503)
  })

  it('shows what does not count, by its name and in the long form, and asks it for nothing else', async () => {
    readiness = { state: 'ready' }
    let asked = 0
    const etcd: HealthCheck = {
      name: 'etcd',
      endpoints: ['healthz'],
      informs: ['readyz'],
      check: () => Promise.resolve({ state: 'failed', reason: `asked ${(asked += 1)} times` } as const),
    }
    const answer = (endpoint: 'healthz' | 'livez' | 'readyz', one?: string, query = '') =>
      answerHealth([PING, sync, etcd], endpoint, one, new URLSearchParams(query))
    assert.deepEqual(await answer('readyz'), { status: 200, body: 'ok' })
    assert.equal(asked, 0)
    assert.deepEqual(await answer('readyz', undefined, 'verbose'), {
      status: 200,
      body: '[+]ping ok\n[+]informer-sync ok\n[-]etcd failed: asked 1 times (does not count here)\nreadyz check passed\n',
    })
    assert.deepEqual(await answer('readyz', 'etcd'), { status: 503, body: 'failed: asked 2 times\n' })
    assert.equal(await answer('livez', 'etcd'), undefined)
    assert.deepEqual(await answer('healthz'), {
      status: 503,
      body: '[+]ping ok\n[+]informer-sync ok\n[-]etcd failed: asked 3 times\nhealthz check failed\n',
    })
    assert.equal((await answer('healthz', undefined, 'exclude=etcd'))?.status, 200)
  })
})

describe('loopback guard', () => {
  const guard = (headers: Record<string, string>): boolean => {
    try {
      guardLoopback({ headers } as unknown as IncomingMessage)
      return true
    } catch (error) {
      assert.ok(isStatusError(error, 'forbidden'))
      return false
    }
  }
  for (const host of ['127.0.0.1:8080', 'localhost:8080', 'localhost', '[::1]:8080']) {
    it(`answers under ${host}`, () => {
      assert.equal(guard({ host }), true)
    })
  }
  const refused: Record<string, string>[] = [
    {},
    { host: 'evil.example' },
    { host: 'evil.example:8080' },
    { host: '127.0.0.1.evil.example:8080' },
    { host: 'evil@127.0.0.1' },
    { host: '127.0.0.1/x' },
    { host: '10.0.0.1:8080' },
    { host: 'localhost:8080', origin: 'https://evil.example' },
    { host: 'localhost:8080', origin: 'null' },
    { host: 'localhost:8080', origin: 'http://localhost:9999' },
    { host: 'localhost:8080', 'sec-fetch-site': 'cross-site' },
  ]
  for (const headers of refused) {
    it(`refuses ${JSON.stringify(headers)}`, () => {
      assert.equal(guard(headers), false)
    })
  }
  it('answers pages of its own', () => {
    assert.equal(
      guard({ host: 'localhost:8080', origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }),
      true,
    )
  })
})

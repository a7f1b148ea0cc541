/** The order and the pace of a stop, in virtual time; test/app/draining.test.ts has it over real connections. */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { OpenRequests, ServerStopping } from '../../src/apiserver/open-requests.ts'
import { stopServer, type ShutdownOptions } from '../../src/app/server-shutdown.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { FakeClock } from '../support/fake-clock.ts'

const asking = (url: string, agent?: string): IncomingMessage =>
  ({ url, headers: agent === undefined ? {} : { 'user-agent': agent } }) as IncomingMessage
const RESPONSE = {} as ServerResponse
const LIST = asking('/apis/search.karmada.io/v1alpha1/search/cache/api/v1/pods')

function setUp(options: Partial<ShutdownOptions> = {}, graceMs = 30_000, sessions = 0) {
  const clock = new FakeClock()
  const requests = new OpenRequests()
  const steps: string[] = []
  const note = (step: string): void => void steps.push(`${clock.monotonicMs()} ${step}`)
  const stop = (): Promise<void> =>
    stopServer(
      { delayMs: 1_000, ...options },
      {
        requests,
        clock,
        log: createLogger('silent'),
        server: {
          announceClose: () => (note('announced'), sessions),
          close: (ms) => (note(`closed, ${ms} ms left`), Promise.resolve()),
        },
        notReady: () => note('not ready'),
        endStreams: () => note('streams ended'),
      },
      graceMs,
    ).then(() => note('stopped'))
  return { clock, requests, steps, stop, note }
}

describe('a stop', () => {
  it('closes the port after the delay, and ends watches at once', async () => {
    const { clock, requests, steps, stop, note } = setUp()
    requests.watches.onEnd((reason) => {
      assert.ok(reason instanceof ServerStopping)
      note('watch ended')
    })
    const stopped = stop()
    await clock.advance(999)
    assert.deepEqual(steps, ['0 not ready'])
    requests.admit(LIST, RESPONSE)
    await clock.advance(1)
    await stopped
    assert.deepEqual(steps.slice(1), [
      '1000 announced',
      '1000 closed, 29000 ms left',
      '1000 watch ended',
      '1000 streams ended',
      '1000 stopped',
    ])
    requests.watches.onEnd(() => note('a late watch ended'))
    assert.equal(steps.at(-1), '1000 a late watch ended')
  })

  it('gives HTTP/2 clients the time to hear of it before the port closes', async () => {
    const { clock, steps, stop } = setUp({ delayMs: 0 }, 10_000, 2)
    const stopped = stop()
    await clock.advance(249)
    assert.deepEqual(steps, ['0 not ready', '0 announced'])
    await clock.advance(1)
    await stopped
    assert.match(steps[2] ?? '', /^250 closed, 9750 ms left/)
  })

  it('says 429 on an open port until what is under way is answered, with --shutdown-send-retry-after', async () => {
    const { clock, requests, steps, stop } = setUp({ sendRetryAfter: true })
    const leave = requests.enter(LIST)
    requests.enter(asking('/readyz?verbose'))
    requests.enter(asking('/anything', 'kube-apiserver/v1.36.3 (linux/amd64)'))
    const stopped = stop()
    await clock.advance(1_000)
    assert.throws(
      () => requests.admit(LIST, RESPONSE),
      (error) => {
        assert.ok(isStatusError(error, 'tooManyRequests'))
        assert.equal(error.toStatus().details?.retryAfterSeconds, 5)
        return /shutting down/.test(error.message)
      },
    )
    for (const url of ['/readyz', '/livez/ping', '/healthz?verbose', '/metrics']) requests.admit(asking(url), RESPONSE)
    requests.admit(asking('/apis', 'kube-apiserver/v1.36.3 (linux/amd64)'), RESPONSE)
    assert.throws(() => requests.admit(asking('/apis', 'kubectl/v1.36.3 kube-apiserver/'), RESPONSE))
    await clock.advance(5_000)
    assert.deepEqual(steps, ['0 not ready', '1000 announced'])
    leave()
    await stopped
    assert.deepEqual(steps.slice(2), ['6000 streams ended', '6000 closed, 2000 ms left', '6000 stopped'])
    assert.equal(clock.pending, 0, 'timers left behind')
  })

  it('waits no longer than its grace for requests that do not end', async () => {
    const { clock, requests, steps, stop } = setUp({ sendRetryAfter: true }, 11_000)
    requests.enter(LIST)
    const stopped = stop()
    await clock.advance(8_999)
    assert.equal(steps.length, 2)
    await clock.advance(1)
    await stopped
    assert.deepEqual(steps.slice(2), ['9000 streams ended', '9000 closed, 2000 ms left', '9000 stopped'])
  })
})

describe('watches of a server that stops', () => {
  /** How many have ended after each 100 ms. */
  async function pace(count: number, graceMs: number, graces: number): Promise<number[]> {
    const clock = new FakeClock()
    const { watches } = new OpenRequests()
    const ended: number[] = []
    for (let at = 0; at < count; at++) {
      const forget = watches.onEnd(() => {
        ended.push(at)
        forget()
      })
    }
    const done = watches.end(graceMs, clock)
    const after: number[] = []
    for (let at = 0; at < graces; at++) {
      await clock.advance(100)
      after.push(ended.length)
    }
    await clock.advance(60_000)
    await done
    assert.deepEqual(
      ended,
      ended.toSorted((a, b) => a - b),
      'the oldest first',
    )
    assert.equal(watches.open, 0)
    assert.equal(ended.length, count)
    return after
  }

  it('end at 200 a second where that is enough', async () => {
    assert.deepEqual(await pace(100, 10_000, 5), [21, 41, 61, 81, 100])
  })

  it('end evenly over the time there is where they are many', async () => {
    // 3,000 in half a second, in steps of 5 ms.
    assert.deepEqual(await pace(3_000, 500, 5), [630, 1_230, 1_830, 2_430, 3_000])
  })

  it('are passed over where their client has left meanwhile', async () => {
    const clock = new FakeClock()
    const { watches } = new OpenRequests()
    watches.onEnd(() => undefined)
    const forget = watches.onEnd(() => assert.fail('has left'))
    const done = watches.end(1_000, clock)
    forget()
    await clock.advance(1_000)
    await done
  })
})

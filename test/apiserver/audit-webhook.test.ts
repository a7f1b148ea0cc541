import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BatchSink, type BatchLimits } from '../../src/apiserver/audit/batch-sink.ts'
import type { AuditEvent } from '../../src/apiserver/audit/event.ts'
import { WebhookSink, type WebhookOptions } from '../../src/apiserver/audit/webhook-sink.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { Counter, createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { FakeClock } from '../support/fake-clock.ts'

function eventOf(auditID: string, requestObject?: unknown): AuditEvent {
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID,
    stage: 'ResponseComplete',
    requestURI: '/x',
    verb: 'get',
    user: { username: 'bob' },
    sourceIPs: [],
    ...(requestObject === undefined ? {} : { requestObject }),
    requestReceivedTimestamp: '2026-11-30T00:00:00.000000Z',
    stageTimestamp: '2026-11-30T00:00:00.000000Z',
  }
}

interface EventList {
  readonly kind: string
  readonly apiVersion: string
  readonly items: readonly Readonly<Record<string, unknown>>[]
}

/** `answers` in turn, the last one from then on. */
function webhook(answers: readonly (number | Error)[], more: Partial<WebhookOptions> = {}) {
  const registers = [createMetricsRegistry()]
  const errors = new Counter({ name: 'errors', help: 'x', labelNames: ['plugin'], registers })
  const clock = new FakeClock()
  const posted: EventList[] = []
  const logged: string[] = []
  const stop = new AbortController()
  const sink = new WebhookSink({
    post: (body) => {
      posted.push(JSON.parse(body) as EventList)
      const answer = answers[Math.min(posted.length, answers.length) - 1] ?? 200
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    },
    initialBackoffMs: 10_000,
    errors,
    log: createLogger('error', { write: (line: string) => logged.push(line) }),
    clock,
    random: () => 0,
    signal: stop.signal,
    ...more,
  })
  const ids = () => posted.map(({ items }) => items.map(({ auditID }) => auditID).join())
  return { sink, errors, clock, posted, ids, logged, stop, counted: async () => registers[0]?.metrics() ?? '' }
}

const LIMITS: BatchLimits = { bufferSize: 100, maxSize: 2, maxWaitMs: 1_000 }

describe('the audit webhook', () => {
  it('gets an EventList, whose items do not say again what they are', async () => {
    const { sink, posted } = webhook([200])
    assert.equal(await sink.log(eventOf('1')), true)
    const [{ kind, apiVersion, items }] = posted as [EventList]
    assert.deepEqual([kind, apiVersion, items.length], ['EventList', 'audit.k8s.io/v1', 1])
    assert.equal(items[0]?.['auditID'], '1')
    assert.ok(!('kind' in (items[0] ?? {})))
  })

  it('is asked five times, with growing waits, whatever went wrong; then the events are lost, counted and told of', async () => {
    const { sink, posted, clock, counted, logged } = webhook([503, new Error('reset'), 403, 429, 500])
    const taken = sink.log(eventOf('1'))
    for (const [waitMs, before] of [
      [10_000, 1],
      [15_000, 2],
      [22_500, 3],
      [33_750, 4],
    ] as const) {
      await clock.advance(waitMs - 1)
      assert.equal(posted.length, before)
      await clock.advance(1)
    }
    assert.equal(await taken, false)
    assert.equal(posted.length, 5)
    assert.match(await counted(), /errors\{plugin="webhook"\} 1/)
    assert.equal(logged.length, 1)
    const { sink: well, clock: other } = webhook([503, 200])
    const second = well.log(eventOf('1'))
    await other.advance(10_000)
    assert.equal(await second, true)
  })

  it('gets no event and no list above its limits', async () => {
    const { sink, posted, ids, counted } = webhook([200], { maxEventBytes: 500, maxBatchBytes: 600 })
    const long = eventOf('x'.repeat(600))
    await sink.write([eventOf('1', 'y'.repeat(500)), eventOf('2'), long, eventOf('3')])
    assert.deepEqual(ids(), ['1,2', '3'])
    const [cut] = posted[0]?.items ?? []
    assert.equal(cut?.['requestObject'], undefined)
    assert.deepEqual(cut?.['annotations'], { 'audit.k8s.io/truncated': 'true' })
    assert.match(await counted(), /errors\{plugin="webhook"\} 1/)
  })

  it('stops waiting when the process ends', async () => {
    const { sink, stop, clock } = webhook([503])
    const taken = sink.log(eventOf('1'))
    await clock.advance(1)
    stop.abort(new Error('stop'))
    assert.equal(await taken, false)
    assert.equal(clock.pending, 0)
  })
})

describe('batches of audit events', () => {
  it('are throttled: so many at once, then so many a second', async () => {
    const { sink, errors, clock, ids } = webhook([200])
    const batches = new BatchSink(sink, { ...LIMITS, throttle: { qps: 2, burst: 2 }, errors, clock })
    for (let i = 0; i < 10; i++) batches.log(eventOf(String(i)))
    await clock.advance(0)
    assert.deepEqual(ids(), ['0,1', '2,3'])
    await clock.advance(500)
    assert.deepEqual(ids().slice(2), ['4,5'])
    await clock.advance(499)
    assert.equal(ids().length, 3)
    await batches.flush()
    assert.deepEqual(ids().slice(3), ['6,7', '8,9'])
    assert.equal(clock.pending, 0)
  })

  it('count against the buffer until they are through, and the next ones wait for few of them', async () => {
    const ends: (() => void)[] = []
    const { errors, clock, counted } = webhook([])
    const batches = new BatchSink(
      { write: () => new Promise<void>((resolve) => ends.push(resolve)) },
      { ...LIMITS, bufferSize: 20, errors, clock },
    )
    let taken = 0
    for (let i = 0; i < 25; i++) {
      if (batches.log(eventOf(String(i)))) taken += 1
      await clock.advance(0)
    }
    assert.equal(taken, 20)
    assert.equal(ends.length, 8)
    assert.match(await counted(), /errors\{plugin="buffered"\} 5/)
    ends[0]?.()
    await clock.advance(0)
    assert.equal(ends.length, 9)
    let flushed = false
    const flush = batches.flush().then(() => (flushed = true))
    for (let done = 1; done < ends.length; done++) {
      assert.equal(flushed, false)
      ends[done]?.()
      await clock.advance(0)
    }
    await flush
    assert.equal(clock.pending, 0)
  })
})

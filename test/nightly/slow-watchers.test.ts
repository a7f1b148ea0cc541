import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { slowWatchers } from '../support/slow-watchers.ts'

test('B3: 20 watches on 100,000 pods, 1,000 events/s for two minutes: slow ones are cut, the others lag < 1 s', async () => {
  let nextMs = performance.now()
  const pause = async (): Promise<void> => {
    nextMs += 1_000
    await delay(Math.max(0, nextMs - performance.now()))
  }
  const { lagsMs, rss } = await slowWatchers({ pods: 100_000, rounds: 120, eventsPerRound: 1_000, pause })
  const sorted = lagsMs.toSorted((a, b) => a - b)
  assert.ok((sorted[Math.floor(sorted.length * 0.99)] ?? 0) < 1_000, `p99 lag ${sorted.at(-2)?.toFixed(0)} ms`)
  // Ten stalled clients may hold 8 MiB of window together, and the sockets' buffers.
  assert.ok(rss[1] - rss[0] < 500_000_000, `${Math.round((rss[1] - rss[0]) / 1e6)} MB more`)
})

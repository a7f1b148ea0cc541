/**
 * Twenty watches on many pods: ten clients stop reading, five drop their connections, five keep up. Events come in rounds, each
 * a virtual second; the ones who keep up must hear every one of them, the others are cut and hold nothing.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { StalledClient } from '../http/loopback.ts'
import { fleetApi, P } from '../proxy/api-fixture.ts'
import { Loopback } from '../http/loopback.ts'
import { pod, PODS, TestFleet, token } from '../proxy/fleet-fixture.ts'
import { MemberWorld } from '../proxy/member-fixture.ts'
import { settle } from './fake-clock.ts'

export interface SlowWatchersOptions {
  readonly pods: number
  readonly rounds: number
  readonly eventsPerRound: number
  /** Between rounds, after everybody who keeps up has heard: to keep a pace. */
  readonly pause?: () => Promise<void>
}

export interface SlowWatchersResult {
  /** Milliseconds from an event to the slowest of those who keep up, for each round. */
  readonly lagsMs: readonly number[]
  /** Of the process, before the events and at their end. */
  readonly rss: readonly [before: number, after: number]
}

const WINDOW_BYTES = 8 * 1024 * 1024
const PADDING = 'x'.repeat(2_000)

export async function slowWatchers(options: SlowWatchersOptions): Promise<SlowWatchersResult> {
  const fleet = new TestFleet({ windowBytes: WINDOW_BYTES }).register(PODS, 'Pod', true)
  const named = (i: number): string => `p-${i % options.pods}`
  const objects = Array.from({ length: options.pods }, (_, i) => pod('a', named(i), { spec: { padding: PADDING } }))
  const shard = fleet.shard('member1', PODS).list(objects, 1)
  const resource = fleet.cache.resource(PODS)!
  const members = new MemberWorld(fleet.clock)
  const api = await Loopback.start(fleetApi(fleet, members))
  try {
    const path = `${P}/api/v1/pods?watch=true&resourceVersion=${token({ member1: '1' })}`
    const stalled = await stall(api, path, 10)
    const leaving = await stall(api, path, 5)
    const healthy = await Promise.all(Array.from({ length: 5 }, () => countingWatch(api.url + path)))
    assert.equal(resource.watchers, 20)
    const before = process.memoryUsage.rss()
    const lagsMs: number[] = []
    let version = 1
    for (let round = 0; round < options.rounds; round++) {
      if (round === 1) for (const client of leaving) client.leave()
      const startedMs = performance.now()
      for (let i = 0; i < options.eventsPerRound; i++) {
        shard.put(pod('a', named(version), { spec: { padding: PADDING, round } }), ++version)
      }
      await settle(2)
      await Promise.all(healthy.map((watch) => watch.until(version - 1)))
      lagsMs.push(performance.now() - startedMs)
      assert.ok(resource.window.bytes <= WINDOW_BYTES, `the window holds ${resource.window.bytes} bytes`)
      await fleet.clock.advance(1_000)
      await options.pause?.()
    }
    for (const { count } of healthy) assert.equal(count, version - 1, 'nothing is missed, nothing comes twice')
    await fleet.clock.advance(10_000)
    await Promise.all([...stalled, ...leaving].map(({ closed }) => closed))
    assert.equal(resource.watchers, 5, 'only those who keep up are left')
    const after = process.memoryUsage.rss()
    for (const watch of healthy) watch.close()
    while (resource.watchers > 0) await settle(1)
    assert.deepEqual(api.faults, [])
    return { lagsMs, rss: [before, after] }
  } finally {
    await api.close()
    await members.close()
    fleet.close()
  }
}

async function stall(api: Loopback, path: string, count: number): Promise<StalledClient[]> {
  const clients: StalledClient[] = []
  for (let i = 0; i < count; i++) clients.push(await api.stalledWatch(path))
  return clients
}

interface CountingWatch {
  /** Resolves when so many events came, each with the version that follows the one before. */
  until(count: number): Promise<void>
  readonly count: number
  close(): void
}

/** A client that keeps up and keeps nothing. */
async function countingWatch(url: string): Promise<CountingWatch> {
  const request = http.get(url)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  let count = 0
  let wrong: string | undefined
  let wake: (() => void) | undefined
  let rest = ''
  response.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      count += 1
      if (!line.includes(`"resourceVersion":"${token({ member1: String(count + 1) })}"`)) wrong ??= line.slice(0, 200)
    }
    wake?.()
  })
  response.on('error', () => undefined)
  return {
    get count() {
      return count
    },
    async until(wanted) {
      while (count < wanted && wrong === undefined) await new Promise<void>((resolve) => (wake = resolve))
      assert.equal(wrong, undefined, `event ${count}`)
    },
    close: () => request.destroy(),
  }
}

/** The cache against a naive model, under random lists, events, narrowed scopes, drops, lost histories and resumes. */
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { ObjectKey } from '../../src/kube/names.ts'
import { parseLabelSelector } from '../../src/kube/label-selector.ts'
import { settle } from '../support/fake-clock.ts'
import { versionsText, WatchClient, type Standing } from './client.ts'
import { keyOf } from './client.ts'
import { objectsOf } from './objects.ts'
import { NAMESPACES, World } from './world.ts'

const SELECTORS = ['app=x', 'app!=x', 'tier', '!tier', 'app in (x,y),tier=1', 'tier>1', 'app notin (y)'].map(
  parseLabelSelector,
)

type Operation = (run: Run) => Promise<void> | void

/** One run: the world, its watchers, and the snapshots that must not change. */
class Run {
  readonly world: World
  readonly clients: { readonly client: WatchClient; readonly namespace: string | undefined }[] = []
  readonly #snapshots: { readonly taken: readonly string[]; readonly now: () => string[] }[] = []

  /** The world's epoch when watchers had last been told everything: what they are told now may be as old as that. */
  #settledEpoch = 0

  constructor(windowBytes: number) {
    this.world = new World(['m1', 'm2', 'm3'], windowBytes)
  }

  watch(namespace: string | undefined, from?: Standing): WatchClient {
    const client = new WatchClient(
      this.world.test.pods,
      { ...(namespace !== undefined && { namespace }), ...(from && { from: from.versions }) },
      from?.view,
      () => this.#settledEpoch,
    )
    this.clients.push({ client, namespace })
    return client
  }

  async settle(): Promise<void> {
    await settle(6)
    this.#settledEpoch = this.world.epoch
  }

  takeSnapshot(): void {
    const snapshot = this.world.test.pods.snapshot({})
    const now = (): string[] => Array.from({ length: snapshot.length }, (_, i) => String(snapshot.bytesAt(i)))
    this.#snapshots.push({ taken: now(), now })
  }

  checkSnapshots(): void {
    for (const { taken, now } of this.#snapshots) assert.deepEqual(now(), taken, 'a snapshot changed')
  }

  /** What readers see equals the model, by every way of reading. */
  checkReaders(): void {
    const { pods } = this.world.test
    const expected = this.world.expected()
    assert.deepEqual(read(this.world, {}), expected)
    for (const namespace of NAMESPACES) {
      assert.deepEqual(read(this.world, { namespace }), this.world.expected({ namespace }))
    }
    for (const labels of SELECTORS) assert.deepEqual(read(this.world, { labels }), this.world.expected({ labels }))
    assert.deepEqual(this.#pages(2), expected)
    const synced = this.world.members.filter(({ cached }) => cached !== undefined).map(({ name }) => name)
    assert.deepEqual([...pods.versions().keys()], synced)
    for (const [key, json] of expected) {
      const [name = '', namespace = '', object = ''] = key.split('/')
      const got = pods.get(name as (typeof synced)[number], namespace, object)
      assert.equal(String(got?.bytes), json)
    }
  }

  #pages(limit: number): [string, string][] {
    const { pods } = this.world.test
    const result: [string, string][] = []
    let page = pods.snapshot({ limit })
    for (;;) {
      result.push(...[...objectsOf(page)].map((object): [string, string] => [keyOf(object), String(object.bytes)]))
      if (page.remaining === 0) return result
      const last = page.at(page.length - 1)
      const after = { cluster: last.cluster, key: `${last.namespace}/${last.name}` as ObjectKey }
      const { remaining } = page
      page = pods.snapshot({ limit, after })
      assert.equal(page.length + page.remaining, remaining)
    }
  }

  /** A watcher that has not been cut has converged; one that had no reason to be cut has not been. */
  checkClient(client: WatchClient, namespace: string | undefined, epoch: number, mayFallBehind: boolean): void {
    if (client.expired !== undefined) {
      assert.ok(mayFallBehind || epoch < this.world.epoch, `cut without a reason: ${client.expired}`)
      return
    }
    const filter = namespace === undefined ? {} : { namespace }
    const expected = this.world.expected(filter)
    assert.deepEqual([...client.view].sort(byKey), expected.sort(byKey))
  }
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function read(world: World, filter: Parameters<World['test']['pods']['snapshot']>[0]): [string, string][] {
  return [...objectsOf(world.test.pods.snapshot(filter))].map((object) => [keyOf(object), String(object.bytes)])
}

const member = fc.nat(2)
const namespace = fc.constantFrom(...NAMESPACES)
const name = fc.constantFrom('p', 'q', 'r', 'p-1')
const labels = fc.record(
  { app: fc.constantFrom('x', 'y'), tier: fc.constantFrom('1', '2') },
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, string>>
const scope = fc.option(
  fc.subarray([...NAMESPACES]).map((names) => new Set<string>(names)),
  { nil: undefined },
)
const from = fc.integer({ min: 1, max: 60 })

const write = fc.tuple(member, namespace, name, fc.constantFrom('put', 'put', 'delete', 'recreate'), labels).map(
  ([m, ns, n, how, l]): Operation =>
    ({ world }) =>
      world.write(world.member(m), ns, n, how, l),
)
const deliver = fc.tuple(member, fc.integer({ min: 1, max: 4 })).map(
  ([m, count]): Operation =>
    ({ world }) =>
      world.deliver(world.member(m), count),
)
const relist = fc
  .tuple(member, fc.constantFrom('sorted', 'shuffled', 'doubled', 'discarded'), fc.option(scope, { freq: 4 }))
  .map(
    ([m, how, narrowed]): Operation =>
      ({ world }) =>
        world.relist(world.member(m), how, narrowed ?? undefined),
  )
const watch = fc.option(namespace, { nil: undefined }).map(
  (ns): Operation =>
    (run) =>
      void run.watch(ns),
)
const resume = fc.tuple(fc.nat(), fc.nat()).map(([c, s]): Operation => async (run) => {
  const chosen = run.clients[c % Math.max(1, run.clients.length)]
  const standing = chosen?.client.standings[s % Math.max(1, chosen.client.standings.length)]
  if (chosen === undefined || standing === undefined) return
  await chosen.client.stop()
  run.watch(chosen.namespace, standing)
})

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 12, arbitrary: write },
  { weight: 8, arbitrary: deliver },
  { weight: 4, arbitrary: relist },
  { weight: 3, arbitrary: watch },
  { weight: 4, arbitrary: resume },
  { weight: 4, arbitrary: fc.constant<Operation>((run) => run.settle()) },
  { weight: 2, arbitrary: fc.constant<Operation>((run) => run.takeSnapshot()) },
  {
    weight: 2,
    arbitrary: member.map(
      (m): Operation =>
        ({ world }) =>
          world.bookmark(world.member(m)),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(member, fc.nat()).map(
      ([m, i]): Operation =>
        ({ world }) =>
          world.replay(world.member(m), i),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(member, scope).map(
      ([m, names]): Operation =>
        ({ world }) =>
          world.rescope(world.member(m), names),
    ),
  },
  {
    weight: 1,
    arbitrary: member.map(
      (m): Operation =>
        ({ world }) =>
          world.drop(world.member(m)),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(member, fc.boolean(), from).map(
      ([m, isAnother, at]): Operation =>
        ({ world }) =>
          world.reopen(world.member(m), isAnother, at),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(member, from).map(
      ([m, at]): Operation =>
        ({ world }) =>
          world.loseHistory(world.member(m), at),
    ),
  },
)

/** Everything the members have reaches the cache. */
function converge(run: Run): void {
  for (const each of run.world.members) {
    if (each.writer === undefined) continue
    if (each.needsList) run.world.relist(each, 'sorted')
    run.world.deliver(each, Number.POSITIVE_INFINITY)
  }
}

async function check(operations: readonly Operation[], windowBytes: number, mayFallBehind: boolean): Promise<void> {
  const run = new Run(windowBytes)
  run.watch(undefined)
  for (const step of operations) {
    await step(run)
    run.checkReaders()
  }
  converge(run)
  run.checkReaders()
  await run.settle()
  run.checkSnapshots()

  for (const { client } of run.clients) {
    for (const { versions, view } of client.standings) {
      for (const key of view.keys()) {
        assert.ok(versions.has(key.split('/')[0] as never), `${key} is not covered by ${versionsText(versions)}`)
      }
    }
  }
  const first = [...run.clients]
  const resumed = first.flatMap(({ client, namespace: ns }) =>
    client.standings.map((standing) => ({ standing, namespace: ns, client: run.watch(ns, standing) })),
  )
  await run.settle()
  // What waits for a shard that is not there yet is cut after five seconds.
  await run.world.test.clock.advance(6_000)
  for (const { client, namespace: ns } of first) {
    if (!client.ended || client.expired !== undefined) run.checkClient(client, ns, epochOf(client), mayFallBehind)
  }
  for (const { client, standing, namespace: ns } of resumed) {
    const isPartial = [...standing.versions.values()].some((text) => text === '0')
    run.checkClient(client, ns, standing.epoch, mayFallBehind || isPartial)
  }
  await Promise.all(run.clients.map(({ client }) => client.stop()))
  run.world.test.cache.close()
}

/** When a client that was cut had last been told something. */
function epochOf(client: WatchClient): number {
  return client.standings.at(-1)?.epoch ?? -1
}

const operations = fc.array(operation, { minLength: 10, maxLength: 70, size: 'max' })

test('readers equal the model, and every watcher that resumes from any version it was given converges', async () => {
  await fc.assert(
    fc.asyncProperty(operations, (steps) => check(steps, 1 << 30, false)),
    { numRuns: 150 },
  )
})

test('with a window of a few events, watchers converge or are cut, never silently wrong', async () => {
  await fc.assert(
    fc.asyncProperty(operations, (steps) => check(steps, 8_000, true)),
    { numRuns: 100 },
  )
})

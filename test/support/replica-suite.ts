/**
 * Two replicas of `fleetsearch serve` and two real members behind a real APIService, over a real etcd: what a client sees of
 * a start, of deaths and of a rolling update, which is nothing.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { BASE, CACHE, startKarmadaFleet, until, type KarmadaFleet } from './karmada-fleet.ts'
import { podManifest } from './manifests.ts'
import { startEtcd, type RealEtcd } from './real-parts/etcd.ts'
import { podsIn, podsOf, startLoad, type Load, type LoadReport } from './replica-load.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { WritesAndReads } from './writes-and-reads.ts'
import { prepareReplicas, type Replica, type Replicas } from './serve-replicas.ts'

export interface ReplicaSuiteOptions {
  /** How long leaders are killed for, one every 10 s. */
  readonly killingMs: number
}

const REGISTRY = '/registry/search.karmada.io/resourceRegistries/all'
const KILL_EVERY_MS = 10_000
const PODS = 40 // of each member

/** A leader within each 10 s; the rest are defaults. */
const FLAGS = [
  '--leader-elect-lease-duration=5s',
  '--leader-elect-renew-deadline=3s',
  '--leader-elect-retry-period=1s',
  '--shutdown-delay-duration=1s',
]

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export function replicaSuite({ killingMs }: ReplicaSuiteOptions): void {
  describe('replicas behind an APIService', () => {
    let fleet: KarmadaFleet
    let etcd: RealEtcd
    let replicas: Replicas
    let expected: string
    let way: TcpProxy // to m2
    const first = (): Replica => replicas.all[0]!
    const second = (): Replica => replicas.all[1]!

    before(async () => {
      ;[fleet, etcd] = await Promise.all([startKarmadaFleet(['m1', 'm2'], { joined: ['m1'] }), startEtcd()])
      const m2 = fleet.members[1]!
      way = await startTcpProxy(Number(new URL(m2.url).port))
      await fleet.join(m2, { url: `https://127.0.0.1:${way.port}` })
      await Promise.all(fleet.members.map((member) => seed(member)))
      expected = await podsOf(fleet.members)
      const value = readFileSync(new URL('../fixtures/karmada-search/etcd-value.json', import.meta.url), 'utf8')
      await etcd.put(REGISTRY, value)
      replicas = await prepareReplicas(fleet.host, 3, [`--etcd-servers=${etcd.urls.join(',')}`, ...FLAGS])
    })
    after(async () => {
      await replicas?.stop()
      await way?.close()
      await Promise.all([fleet?.stop(), etcd?.stop()])
    })

    async function seed(member: KarmadaFleet['members'][number]): Promise<void> {
      for (let i = 0; i < PODS; i++) {
        await member.ok('/api/v1/namespaces/default/pods', { body: podManifest(`web-${i}`) })
      }
    }

    async function available(): Promise<string> {
      const object = (await fleet.host.ok(
        '/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.search.karmada.io',
      )) as {
        status?: { conditions?: Condition[] }
      }
      const condition = object.status?.conditions?.find(({ type }) => type === 'Available')
      return condition?.status === 'True' ? 'True' : `${condition?.reason}: ${condition?.message}`
    }

    async function conditions(): Promise<Condition[]> {
      const registry = (await fleet.host.ok(`${BASE}/resourceregistries/all`)) as {
        status?: { conditions?: Condition[] }
      }
      return registry.status?.conditions ?? []
    }

    /** Runs `disturb` under load, looking on at the APIService all the time. */
    async function underLoad(t: TestContext, disturb: (load: Load) => Promise<void>): Promise<LoadReport> {
      const load = startLoad(fleet.host, replicas.all, expected)
      const stop = new AbortController()
      const unavailable = new Set<string>()
      const looking = (async () => {
        while (!stop.signal.aborted) {
          const state = await available()
          if (state !== 'True') unavailable.add(state)
          await delay(100)
        }
      })()
      try {
        await delay(500)
        await disturb(load)
        await delay(500)
      } finally {
        stop.abort()
        await looking
      }
      const report = await load.stop()
      t.diagnostic(JSON.stringify(report))
      assert.deepEqual(report.faults, [])
      assert.ok(report.answered > 50, `${report.answered} answers`)
      assert.deepEqual([...unavailable], [], 'the APIService stays Available')
      return report
    }

    it('F4: cold start: an aggregator that asks from t=0 is answered by discovery while etcd is slow; the rest says 503', async () => {
      etcd.members[0]!.process.signal('STOP')
      await first().start()
      const seen = new Map<string, Set<number>>()
      const ask = async (path: string): Promise<number> => {
        const answer = await first()
          .client.request(path)
          .catch(() => undefined)
        if (answer !== undefined) seen.set(path, (seen.get(path) ?? new Set<number>()).add(answer.status))
        return answer?.status ?? 0
      }
      const paths = [BASE, '/apis', '/openapi/v2', '/livez', '/readyz', `${CACHE}/api/v1/pods`]
      await until(async () => {
        await Promise.all(paths.map(ask))
        return (await available()) === 'True'
      }, 'the APIService, with an etcd that hangs')
      await Promise.all(paths.map(ask))
      assert.deepEqual(
        paths.map((path) => [path, [...(seen.get(path) ?? [])]]),
        [
          [BASE, [200]],
          ['/apis', [200]],
          ['/openapi/v2', [200]],
          ['/livez', [200]],
          ['/readyz', [503]],
          [`${CACHE}/api/v1/pods`, [503]],
        ],
      )
      const readyz = await first().client.request('/readyz?verbose')
      assert.match(readyz.text, /informer-sync pending: the registries have not been read yet/)
      const complaints =
        first()
          .process.logTail(10_000)
          .match(/"level":[45]0/g) ?? []
      assert.ok(complaints.length <= 5, `what follows registries retries quietly: ${first().process.logTail(30)}`)
    })

    it('F4: registries whose store came up after us are read, and a full cache is what makes a replica ready', async () => {
      etcd.members[0]!.process.signal('CONT')
      await second().start()
      await replicas.untilReady(2)
      for (const { client } of [first(), second()]) {
        assert.equal(podsIn(await client.request(`${CACHE}/api/v1/pods`)), expected)
      }
      assert.equal(podsIn(await fleet.host.request(`${CACHE}/api/v1/pods`)), expected)
      assert.equal(await available(), 'True')
    })

    it('one replica leads and writes the status', async () => {
      await until(async () => (await replicas.leader()) !== undefined, 'a leader')
      await until(async () => (await conditions()).length >= 2, 'conditions')
      await settled()
    })

    /** The status is true, and then nobody writes it: one truth, whoever leads. */
    async function settled(): Promise<void> {
      const states = async (): Promise<string> =>
        (await conditions()).map(({ type, status }) => `${type}=${status}`).join()
      await until(async () => /Ready=True/.test(await states()) && !/=False/.test(await states()), 'a settled status')
      let revision = ''
      let sinceMs = performance.now()
      await until(
        async () => {
          const now = (await etcd.get(REGISTRY))?.modRevision ?? ''
          if (now !== revision) sinceMs = performance.now()
          revision = now
          return performance.now() - sinceMs > 12_000
        },
        'a status that nobody writes any more',
        90_000,
      )
    }

    it('F4: stays Available and right while etcd hangs, for reads of registries too', async (t) => {
      await underLoad(t, async () => {
        etcd.members[0]!.process.signal('STOP')
        const startedMs = performance.now()
        const list = await fleet.host.request(`${BASE}/resourceregistries`)
        assert.equal(list.status, 503, 'not 404, not 500')
        assert.ok(performance.now() - startedMs < 20_000)
        await delay(2_000)
        etcd.members[0]!.process.signal('CONT')
      })
    })

    it('stays Available and right while a member is dead and when it is back', async (t) => {
      await underLoad(t, async () => {
        await fleet.members[1]!.kill()
        await delay(3_000)
        await fleet.members[1]!.restart()
        await delay(3_000)
      })
    })

    it('F4: stays Available while 1 of 2 replicas is down; only what was under way with it is lost', async (t) => {
      await underLoad(t, async (load) => {
        await load.cutting(() => second().kill())
        await delay(5_000)
        await second().start()
        await replicas.untilReady(2)
      })
    })

    it(`kill -9 of the leader every 10 s for ${killingMs / 1_000} s: nothing is lost but what was under way with it`, async (t) => {
      let kills = 0
      const report = await underLoad(t, async (load) => {
        const endMs = performance.now() + killingMs
        while (performance.now() < endMs) {
          const nextMs = performance.now() + KILL_EVERY_MS
          await until(async () => (await replicas.leader()) !== undefined, 'a leader', 30_000)
          const leader = (await replicas.leader())!
          await load.cutting(() => leader.kill())
          kills += 1
          await leader.start()
          await replicas.untilReady(2)
          await delay(Math.max(0, nextMs - performance.now()))
        }
      })
      t.diagnostic(`${kills} leaders killed`)
      assert.ok(kills >= 2)
      assert.ok(report.notReady > 0, 'replicas were asked before they were ready')
      await until(async () => (await replicas.leader()) !== undefined, 'a leader')
      await settled()
    })

    it('a rolling update fails no request and shows no list in part', async (t) => {
      const [old, other, next] = [first(), second(), replicas.all[2]!]
      const report = await underLoad(t, async () => {
        for (const [comes, goes] of [
          [next, old],
          [old, other],
        ] as const) {
          await comes.start()
          await replicas.untilReady(3)
          assert.equal(await goes.terminate(), 0)
          await replicas.untilReady(2)
        }
      })
      assert.equal(report.cut, 0)
      // Who lets go of the lease is followed within a period.
      await until(async () => (await replicas.leader()) !== undefined, 'a leader', 5_000)
    })

    it('goes on as before: a new object is on every replica soon', async () => {
      await fleet.members[0]!.ok('/api/v1/namespaces/default/pods', { body: podManifest('late') })
      expected = await podsOf(fleet.members)
      const clients = replicas.all.filter(({ up }) => up).map(({ client }) => client)
      assert.equal(clients.length, 2)
      await until(async () => {
        const lists = await Promise.all(clients.map((client) => client.request(`${CACHE}/api/v1/pods`)))
        return lists.every((list) => podsIn(list) === expected)
      }, 'the new pod')
      await settled()
    })

    describe('what is written through one replica is read through the other', () => {
      const pair = (): WritesAndReads => {
        const [a, b] = replicas.all.filter(({ up }) => up).map(({ client }) => client)
        return new WritesAndReads(a!, b!)
      }

      it('at once, whether it is made, changed or deleted: from the cache', async () => {
        const both = pair()
        // Those that were killed a minute ago may have left something unsaid.
        await until(async () => (await both.isLive()) === false, 'the cache to answer', 90_000)
        const [uncovered, live] = await both.waits()
        for (let i = 0; i < 25; i++) await both.round(`written-${i}`)
        assert.deepEqual(await both.waits(), [uncovered, live])
      })

      it('at once, as controllers do it: what one replica has changed the other changes next', async () => {
        await pair().takeTurns('turns', 25)
      })

      it('at once, while nothing is heard of the member’s changes: from the member', async () => {
        const both = pair()
        await both.make('quiet')
        await delay(1_500)
        way.holdEvents()
        try {
          for (let i = 0; i < 2; i++) {
            await both.change('quiet', `held-${i}`)
            assert.equal(await both.isLive(), true)
          }
          await both.remove('quiet')
        } finally {
          way.resume()
        }
        await both.make('after')
        await until(async () => (await both.isLive()) === false, 'the cache to answer again')
      })

      it('and while one of them is dead, from the members until it is known to be gone', async () => {
        const [a, b] = replicas.all.filter(({ up }) => up)
        await b!.kill()
        await new WritesAndReads(a!.client, a!.client).round('alone')
        await b!.start()
        await replicas.untilReady(2)
        await pair().round('both again')
      })
    })
  })
}

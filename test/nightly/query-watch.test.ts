/**
 * `search/query/proxy?watch=true` behind a real aggregator, longer than anything on the way would wait: objects enter, change
 * and leave the result all the while, the client's connection breaks once, and a watch of which nothing happens stays too.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { seededRandom } from '../support/fake-clock.ts'
import { BASE, startKarmadaFleet, startServe, until } from '../support/karmada-fleet.ts'
import { QueryFollower } from '../support/query-follower.ts'
import type { RealCluster } from '../support/real-parts/index.ts'

/** The aggregator cuts what it takes for short after one minute; proxies on the way commonly after five or ten. */
const FIRST_MS = 15.5 * 60_000
const AWAY_MS = 5_000
const SECOND_MS = 60_000

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const NAMES = 40
const PACE_MS = 50

it('a watch of a query lasts, misses nothing, and goes on by its token', { timeout: 1_800_000 }, async (t) => {
  const seed = 1 + Math.floor(Math.random() * 1_000_000)
  t.diagnostic(`seed ${seed}`)
  const fleet = await startKarmadaFleet(['member1', 'member2'])
  const { host, members } = fleet
  const serve = await startServe(host)
  const following = (q: string): QueryFollower => {
    const url = `${host.url}${BASE}/search/query/proxy?watch=true&q=${encodeURIComponent(q)}`
    return new QueryFollower({ url, token: host.adminToken, caPem: host.caPem })
  }
  const busy = following('kind:ConfigMap label.show=yes')
  const quiet = following('kind:PriorityClass name=quiet')
  const churning = new AbortController()
  try {
    const resourceSelectors = [
      { apiVersion: 'v1', kind: 'ConfigMap' },
      { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' },
    ]
    await fleet.register('all', { targetCluster: {}, resourceSelectors })
    const answers = async (): Promise<boolean> =>
      (await host.request(`${BASE}/search/cache${CONFIG_MAPS}`)).status === 200
    await until(answers, 'the registry')
    await busy.start()
    await quiet.start()
    const changes = members.map((member, i) => churn(member, seededRandom(seed + i), churning.signal))
    // Whichever ends first: neither may.
    const ended = await Promise.race([
      delay(FIRST_MS, 'lasted', { signal: churning.signal }),
      busy.ended.then(() => 'the busy watch ended'),
      quiet.ended.then(() => 'the quiet watch ended'),
    ])
    assert.equal(ended, 'lasted')
    assert.deepEqual(busy.faults, [])
    for (const type of ['ADDED', 'MODIFIED', 'DELETED'] as const) assert.ok(busy.events[type] > 100, type)
    await busy.cut()
    await delay(AWAY_MS)
    await busy.start()
    await delay(SECOND_MS)
    churning.abort()
    await Promise.all(changes)
    let theirs: [string, string][] = []
    const same = async (): Promise<boolean> => {
      theirs = await inResult(members)
      return JSON.stringify([...busy.held].sort()) === JSON.stringify(theirs)
    }
    await until(same, 'the result').catch(() => assert.deepEqual([...busy.held].sort(), theirs))
    assert.deepEqual(busy.faults, [])
    assert.ok(quiet.events.BOOKMARK > 5, `${quiet.events.BOOKMARK} bookmarks of a quiet watch`)
    assert.deepEqual([quiet.events.ADDED, quiet.events.MODIFIED, quiet.events.DELETED], [0, 0, 0])
    t.diagnostic(JSON.stringify({ busy: busy.events, quiet: quiet.events, held: busy.held.size }))
  } finally {
    churning.abort()
    await Promise.all([busy.stop(), quiet.stop()])
    await serve.stop()
    await fleet.stop()
  }
})

/** Creates, changes, shows, hides and deletes until `signal` aborts. */
async function churn(member: RealCluster, random: () => number, signal: AbortSignal): Promise<void> {
  for (let step = 0; !signal.aborted; step++) {
    const name = `c-${Math.floor(random() * NAMES)}`
    const labels = { show: random() < 0.5 ? 'yes' : 'no' }
    const what = random()
    if (what < 0.3) await member.request(CONFIG_MAPS, { body: { metadata: { name, labels } } })
    else if (what < 0.55) await patch(member, name, { data: { step: String(step) } })
    else if (what < 0.85) await patch(member, name, { metadata: { labels } })
    else await member.request(`${CONFIG_MAPS}/${name}`, { method: 'DELETE' })
    await delay(PACE_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function patch(member: RealCluster, name: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  await member.request(`${CONFIG_MAPS}/${name}`, { method: 'PATCH', headers, body: JSON.stringify(body) })
}

/** What the members themselves have in it, by cluster, namespace and name. */
async function inResult(members: readonly RealCluster[]): Promise<[string, string][]> {
  const found = await Promise.all(
    members.map(async (member) => {
      const { items } = (await member.ok(`${CONFIG_MAPS}?labelSelector=show%3Dyes`)) as {
        items: { metadata: { name: string; uid: string; resourceVersion: string } }[]
      }
      return items.map(({ metadata: { name, uid, resourceVersion } }): [string, string] => [
        `${member.name}/default/${name}`,
        `${uid}@${resourceVersion}`,
      ])
    }),
  )
  return found.flat().sort()
}

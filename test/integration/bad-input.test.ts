/**
 * The whole service over members, registries and disks that are not as they should be. For each: a clear message, no fault
 * of ours, and everything else goes on being served.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { Fault, FakeMember, NewObject } from '../support/fake-member.ts'
import { startFakeMember } from '../support/fake-member.ts'
import { BASE, CACHE, PROXY, QUERY } from '../support/local-process.ts'
import { podManifest } from '../support/manifests.ts'
import { eventually, startWholeService, type WholeService } from '../support/whole-service.ts'
import type { SqliteStore } from '../../src/backendstore/sqlite/store.ts'

const REGISTRIES = `${BASE}/resourceregistries`
const pod = (name: string): NewObject => podManifest(name) as NewObject

interface Status {
  readonly message: string
  readonly reason: string
  readonly code: number
  readonly details?: { readonly causes?: readonly { readonly field: string; readonly message: string }[] }
}

/** What `search/cache` holds: `cluster/name`. */
async function cached(api: WholeService, path = '/api/v1/pods'): Promise<string[]> {
  const answer = await api.request(CACHE + path)
  if (answer.status !== 200) return []
  const { items } = answer.json() as { items: { metadata: { name: string; annotations: Record<string, string> } }[] }
  return items.map(({ metadata }) => `${metadata.annotations['cluster.karmada.io/name']!}/${metadata.name}`)
}

async function found(api: WholeService, q: string): Promise<number> {
  return ((await api.ok(`${QUERY}?q=${encodeURIComponent(q)}`)) as { total: number }).total
}

/** Ends a test: whatever happened outside, no fault of ours was logged or thrown. */
function assertNoFault(api: WholeService): void {
  const ours = api.log.filter(({ msg }) => /broke|inside this program|request failed/.test(msg))
  assert.deepEqual(ours, [])
  assert.deepEqual(api.faults, [])
}

describe('registries that are not as they should be', () => {
  let api: WholeService
  let member: FakeMember

  before(async () => {
    member = await startFakeMember({ objects: [pod('web-0')] })
    api = await startWholeService()
    api.join('m1', member.url)
    await api.register('pods', 'v1/Pod')
    await eventually(async () => (await cached(api)).length === 1, 'the pod')
  })
  after(async () => {
    await api?.stop()
    await member?.close()
  })

  it('names every fault of a malformed registry at once, each with its field, and stores nothing', async () => {
    const answer = await api.request(REGISTRIES, {
      body: {
        apiVersion: 'search.karmada.io/v1alpha1',
        kind: 'ResourceRegistry',
        metadata: { name: 'Not_A_Name' },
        spec: {
          targetCluster: { labelSelector: { matchExpressions: [{ key: 'tier', operator: 'Likes', values: ['a'] }] } },
          resourceSelectors: [{ apiVersion: 'a/b/c', kind: '', namespace: 'No Namespace' }],
          backendStore: { openSearch: { addresses: ['ftp://host', 'no url'] } },
        },
      },
    })
    assert.equal(answer.status, 422, answer.text)
    const { reason, details } = answer.json() as Status
    assert.equal(reason, 'Invalid')
    const fields = (details?.causes ?? []).map(({ field }) => field)
    for (const field of [
      'metadata.name',
      'spec.targetCluster.labelSelector.matchExpressions[0].operator',
      'spec.resourceSelectors[0].apiVersion',
      'spec.resourceSelectors[0].kind',
      'spec.resourceSelectors[0].namespace',
      'spec.backendStore.openSearch.addresses[0]',
      'spec.backendStore.openSearch.addresses[1]',
    ]) {
      assert.ok(fields.includes(field), `${field} is named among ${fields.join(', ')}`)
    }
    assert.equal((await api.request(`${REGISTRIES}/Not_A_Name`)).status, 404)
    assertNoFault(api)
  })

  it('refuses what is no registry at all', async () => {
    const bodies: [unknown, number][] = [
      ['{"metadata":', 400],
      [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } }, 400],
      [{ apiVersion: 'search.karmada.io/v1alpha1', kind: 'ResourceRegistry', metadata: { name: 'x' }, spec: 5 }, 400],
      [{ metadata: { name: 'x' }, spec: { resourceSelectors: 'pods' } }, 400],
    ]
    for (const [body, code] of bodies) {
      const headers = { 'content-type': 'application/json' }
      const answer = await api.request(REGISTRIES, { method: 'POST', headers, body })
      assert.equal(answer.status, code, `${JSON.stringify(body)}: ${answer.text}`)
      assert.equal((answer.json() as Status).code, code)
    }
  })

  it('says in its status that no cluster serves a kind, answers an empty list for it, and serves the rest', async () => {
    await api.register('unicorns', 'fantasy.example/v1/Unicorn', 'apps/v1/Deployment')
    await eventually(async () => {
      const { status } = (await api.ok(`${REGISTRIES}/unicorns`)) as { status?: unknown }
      return /Unicorn/.test(JSON.stringify(status ?? {}))
    }, 'a condition that names the kind')
    assert.equal((await api.request(`${CACHE}/apis/fantasy.example/v1/unicorns`)).status, 200)
    assert.deepEqual(await cached(api, '/apis/fantasy.example/v1/unicorns'), [])
    assert.equal((await api.request(`${CACHE}/apis/fantasy.example/v1/dragons`)).status, 404)
    assert.deepEqual(await cached(api), ['m1/web-0'])
    assertNoFault(api)
  })
})

describe('members that are not as they should be', () => {
  let api: WholeService
  let good: FakeMember
  let bad: FakeMember

  beforeEach(async () => {
    good = await startFakeMember({ objects: [pod('good-0')], name: 'good' })
    bad = await startFakeMember({ objects: [pod('bad-0'), pod('bad-1')], name: 'bad' })
    api = await startWholeService()
    api.join('good', good.url)
  })
  afterEach(async () => {
    await api?.stop()
    await Promise.all([good?.close(), bad?.close()])
  })

  async function freshness(): Promise<{ states: string; warning: string }> {
    const { headers } = await api.request(`${CACHE}/api/v1/pods`)
    return { states: String(headers['fleetsearch-freshness']), warning: String(headers.warning ?? '') }
  }

  /** The good member is followed live while the bad one fails. */
  async function assertTheRestWorks(name: string): Promise<void> {
    good.put(pod(name))
    await eventually(async () => (await cached(api)).includes(`good/${name}`), 'a change in the good member')
    await eventually(async () => (await found(api, `name:${name}`)) === 1, 'the change in the store')
    assert.equal((await api.request('/readyz')).status, 200)
  }

  const LISTS: readonly [string, Fault, RegExp][] = [
    ['truncated JSON', { type: 'truncateAfter', bytes: 700 }, /ends|truncated|cut/i],
    ['a connection that breaks', { type: 'cutAfter', bytes: 700 }, /broke|closed|reset/i],
    ['garbage', { type: 'body', text: Buffer.from([0, 255, 254, 1, 2, 3, 123, 91, 34]) }, /JSON|byte 0/i],
    ['a web page', { type: 'body', text: '<html><body>Sign in to Wi-Fi</body></html>' }, /JSON|byte 0/i],
    ['an empty body', { type: 'body', text: '' }, /ends|empty|truncated/i],
    ['another object', { type: 'body', text: '{"kind":"Pod","metadata":{"name":"x"}}' }, /list|items/i],
    [
      'items that are no objects',
      { type: 'body', text: '{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":[1,null,"x"]}' },
      /unexpected '1' in a list/,
    ],
    ['500', { type: 'status', code: 500, message: 'etcdserver: no leader' }, /500.*no leader/],
    ['403', { type: 'status', code: 403, message: 'pods is forbidden' }, /403.*forbidden/],
    ['a redirect', { type: 'body', text: '', code: 302, headers: { location: 'http://127.0.0.1:1/x' } }, /302/],
    ['damaged gzip', { type: 'body', text: 'no gzip', headers: { 'content-encoding': 'gzip' } }, /gzip/],
  ]

  for (const [what, fault, reason] of LISTS) {
    it(`a list of ${what}: says so, serves the rest, and goes on as soon as it is right`, async () => {
      const lift = bad.misbehave({ on: { resource: 'pods', watch: false }, fault })
      api.join('bad', bad.url)
      await api.register('pods', 'v1/Pod')
      await eventually(async () => (await freshness()).states.includes('bad;missing'), 'the mark')
      const { states, warning } = await freshness()
      assert.match(states, /good;live/)
      assert.match(warning, /1 of 2 clusters is missing from this answer: bad \(/)
      assert.match(warning, reason)
      const told = api.log.filter(({ cluster, gvr, level }) => cluster === 'bad' && gvr === 'v1/pods' && level === 40)
      assert.ok(told.length >= 1 && told.length <= 3, `${told.length} warnings`)
      await assertTheRestWorks('good-1')
      assert.ok(bad.requested({ resource: 'pods' }).length < 20, 'no storm')
      lift()
      // What only an administrator can mend is asked for again after half a minute.
      if (what === '403') return
      await eventually(
        async () => (await cached(api)).filter((name) => name.startsWith('bad/')).length === 2,
        'recovery',
      )
      assert.match((await freshness()).states, /bad;live/)
      assertNoFault(api)
    })
  }

  it('objects that are none, in a list that is right otherwise: are left out and told, the others are served', async () => {
    const deep = `{"metadata":{"name":"deep","resourceVersion":"4"},"spec":${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}}`
    const right = JSON.stringify({ metadata: { name: 'right', namespace: 'default', uid: 'u', resourceVersion: '3' } })
    const items = [deep, '{}', '{"metadata":{"uid":"no name"}}', '{"metadata":{"name":5}}', right].join()
    const text = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${bad.version}"},"items":[${items}]}`
    bad.misbehave({ on: { resource: 'pods', watch: false }, fault: { type: 'body', text } })
    api.join('bad', bad.url)
    await api.register('pods', 'v1/Pod')
    await eventually(async () => (await cached(api)).includes('bad/right'), 'the one that is right')
    assert.deepEqual(await cached(api), ['bad/right', 'good/good-0'])
    const told = api.log.filter(({ cluster, gvr }) => cluster === 'bad' && gvr === 'v1/pods')
    assert.match(JSON.stringify(told), /nested deeper|no name|is no object/)
    assert.ok(told.length <= 2, 'once, not for each')
    await assertTheRestWorks('good-1')
    assertNoFault(api)
  })

  it('a watch of garbage: keeps what it had, follows on, and tells no change that was none', async () => {
    api.join('bad', bad.url)
    await api.register('pods', 'v1/Pod')
    await eventually(async () => (await cached(api)).length === 3, 'all pods')
    await bad.until(() => bad.watches('pods').length === 1)
    const pieces = ['{"type":"ADDED","object":{"metadata":', '\u0000\u0001garbage\n', '{"kind":"Status"}\n', '[[[[[[\n']
    for (const piece of pieces) {
      const before = bad.requested({ resource: 'pods', watch: true }).length
      bad.cutWatches('pods', piece)
      await eventually(() => bad.requested({ resource: 'pods', watch: true }).length > before, 'another watch')
      assert.equal((await cached(api)).length, 3)
    }
    bad.put(pod('bad-2'))
    await eventually(async () => (await cached(api)).includes('bad/bad-2'), 'the change')
    await assertTheRestWorks('good-1')
    assertNoFault(api)
  })

  it('discovery of garbage: says that the member is missing, and serves the rest', async () => {
    for (const path of ['/api', '/apis']) {
      bad.misbehave({ on: { path }, fault: { type: 'body', text: '{"kind":"APIGroupDiscoveryList","items":[{"meta' } })
    }
    api.join('bad', bad.url)
    await api.register('pods', 'v1/Pod')
    await eventually(async () => (await freshness()).states.includes('bad;missing'), 'the mark')
    await assertTheRestWorks('good-1')
    bad.behave()
    await eventually(async () => (await cached(api)).includes('bad/bad-0'), 'recovery')
    assertNoFault(api)
  })

  it('a dead member: is missing with the reason, and joins when it comes up', async () => {
    await bad.stop()
    api.join('bad', bad.url)
    await api.register('pods', 'v1/Pod')
    await eventually(async () => (await freshness()).states.includes('bad;missing'), 'the mark')
    assert.match((await freshness()).warning, /bad \([^)]*refused/)
    await assertTheRestWorks('good-1')
    await bad.start()
    await eventually(async () => (await cached(api)).includes('bad/bad-0'), 'recovery')
    assertNoFault(api)
  })

  it('a member that never answers: does not hold readiness beyond its bound, nor anybody else', async () => {
    bad.misbehave({ fault: { type: 'stall' } })
    api.join('bad', bad.url)
    await api.register('pods', 'v1/Pod')
    await eventually(async () => (await cached(api)).includes('good/good-0'), 'the good member')
    await eventually(async () => (await api.request('/readyz')).status === 200, 'readiness')
    await assertTheRestWorks('good-1')
    const startedMs = performance.now()
    const live = await api.request(`${PROXY}/api/v1/configmaps`)
    assert.equal(live.status, 200)
    assert.match(String(live.headers.warning), /bad/)
    assert.ok(performance.now() - startedMs < 40_000, 'a live read is bounded')
    assertNoFault(api)
  })
})

describe('disks that are full', () => {
  it('registries: says so with a code that asks to come again, keeps what is stored, and serves all', async () => {
    const member = await startFakeMember({ objects: [pod('web-0')] })
    const api = await startWholeService({ maxRegistryBytes: 96 << 10 })
    try {
      api.join('m1', member.url)
      await api.register('pods', 'v1/Pod')
      await eventually(async () => (await cached(api)).length === 1, 'the pod')
      const full = await fillRegistries(api)
      assert.equal(full.code, 503)
      assert.match(full.message, /the disk is full/)
      const before = await registryNames(api)
      assert.ok(before.includes('pods'))
      const { status } = await api.request(`${REGISTRIES}/filler-0`, { method: 'DELETE' })
      assert.ok([200, 503].includes(status))
      member.put(pod('web-1'))
      await eventually(async () => (await cached(api)).length === 2, 'a change in the member')
      await eventually(async () => (await found(api, 'name:web-0')) === 1, 'the first pod in the store')
      assert.ok((await registryNames(api)).length >= before.length - 1)
      assertNoFault(api)
    } finally {
      await api.stop()
      await member.close()
    }
  })

  async function registryNames(api: WholeService): Promise<string[]> {
    const { items } = (await api.ok(REGISTRIES)) as { items: { metadata: { name: string } }[] }
    return items.map(({ metadata }) => metadata.name)
  }

  /** Creates registries until one is refused. */
  async function fillRegistries(api: WholeService): Promise<Status> {
    const annotations = { padding: 'x'.repeat(8_000) }
    for (let i = 0; i < 100; i++) {
      const metadata = { name: `filler-${i}`, annotations }
      const answer = await api.request(REGISTRIES, { body: { metadata, spec: { targetCluster: {} } } })
      if (answer.status !== 201) return answer.json() as Status
    }
    return assert.fail('the file never was full')
  }

  it('search store: says so, answers what it has, and catches up when there is room again', async () => {
    const member = await startFakeMember({ objects: [pod('web-0')] })
    const api = await startWholeService()
    try {
      api.join('m1', member.url)
      await api.register('pods', 'v1/Pod')
      await eventually(async () => (await found(api, 'name:web-0')) === 1, 'the first pod in the store')
      await api.service.store!.use((store) => (store as SqliteStore).limitPages(1))
      for (let i = 0; i < 500; i++) member.put(pod(`late-${i}-${'x'.repeat(40)}`))
      await eventually(async () => (await cached(api)).length === 501, 'the cache goes on')
      await eventually(() => api.log.some(({ msg }) => /search store failed/.test(msg)), 'a message')
      const told = api.log.filter(({ msg }) => /search store failed/.test(msg))
      assert.match(JSON.stringify(told[0]), /no space is left/)
      assert.equal(told.length, 1, 'once')
      assert.equal(await found(api, 'name:web-0'), 1, 'what is stored is found')
      const behind = (await api.ok(`${QUERY}?q=web`)) as { index: { pending: number; lagSeconds: number } }
      assert.ok(behind.index.pending > 0, 'and says how far it is behind')
      await api.service.store!.use((store) => (store as SqliteStore).limitPages(1 << 30))
      await eventually(async () => (await found(api, 'name:late-*')) === 500, 'all of them', 60_000)
      assert.deepEqual(api.faults, [])
    } finally {
      await api.stop()
      await member.close()
    }
  })
})

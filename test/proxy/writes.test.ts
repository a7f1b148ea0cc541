/** What reaches a member of a write, and what its caller and later readers see: over a fake member that keeps every byte. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import http from 'node:http'
import type { MemberRequest } from '../../src/fleet/member.ts'
import { Fences, type FencePeers } from '../../src/proxy/write/fences.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { until } from '../support/fake-clock.ts'
import type { Loopback } from '../http/loopback.ts'
import { P, PREFIX, withApi } from './api-fixture.ts'
import { decodeToken, pod, podFleet, PODS, token, type TestFleet } from './fleet-fixture.ts'
import { MemberWorld, scriptedClient, served, type Reply } from './member-fixture.ts'

interface World {
  readonly api: Loopback
  readonly fleet: TestFleet
  readonly asked: (MemberRequest & { readonly cluster: string })[]
}

const PATH = '/api/v1/namespaces/default/pods/p'
const written = (version: string, metadata: object = {}): Reply => ({
  body: {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', namespace: 'default', uid: 'u', resourceVersion: version, ...metadata },
  },
})

/** One pod, in m1; m2 has none. */
async function withWorld(
  reply: (request: MemberRequest) => Reply,
  run: (world: World) => Promise<void>,
  object = pod('default', 'p'),
  peers?: FencePeers,
): Promise<void> {
  const fleet = podFleet({ m1: { objects: [object], version: 5 }, m2: { objects: [], version: 1 } })
  const members = new MemberWorld(fleet.clock)
  const asked: World['asked'] = []
  for (const cluster of ['m1', 'm2']) {
    const client = scriptedClient((request) => {
      asked.push({ ...request, cluster })
      return reply(request)
    })
    members.engage(cluster, client, [served('pods', 'Pod')])
  }
  await withApi(fleet, members, (api) => run({ api, fleet, asked }), { peers })
}

const json = { 'content-type': 'application/json' }

test('D2: a PUT reaches the owner alone with its own version, the answer has annotations and map', () =>
  withWorld(
    () => written('6'),
    async ({ api, fleet, asked }) => {
      const shown = await api.ask(P + PATH)
      const body = shown.text.trim().replace('"metadata":{', '"metadata":{"labels":{"a":"b"},')
      const answer = await api.ask(`${P}${PATH}?fieldManager=x&fieldManager=y`, { method: 'PUT', headers: json, body })
      assert.equal(answer.status, 200)
      assert.deepEqual(decodeToken(answer.json.metadata.resourceVersion), { m1: '6' })
      assert.deepEqual(api.audited, [['proxy.fleetsearch.dev/cluster', 'm1']])
      assert.equal(answer.json.metadata.annotations['cluster.karmada.io/name'], 'm1')
      assert.equal(asked.length, 1)
      const [{ cluster, method, path, body: sent }] = asked as [World['asked'][number]]
      assert.deepEqual([cluster, method, path], ['m1', 'PUT', `${PATH}?fieldManager=x&fieldManager=y`])
      const { metadata } = JSON.parse(String(sent)) as { metadata: Record<string, unknown> }
      assert.deepEqual([metadata['resourceVersion'], metadata['annotations']], ['5', undefined])
      fleet.shard('m1', PODS).put(pod('default', 'p'), 6)
    },
  ))

test('D2: a token of another cluster is 409 and a version that is none 400: nothing is sent', () =>
  withWorld(
    () => written('6'),
    async ({ api, asked }) => {
      for (const [version, status] of [
        [token({ m2: '1' }), 409],
        ['nonsense', 400],
      ] as const) {
        const body = JSON.stringify({ metadata: { name: 'p', resourceVersion: version } })
        assert.equal((await api.ask(P + PATH, { method: 'PUT', headers: json, body })).status, status)
        const options = JSON.stringify({ kind: 'DeleteOptions', preconditions: { resourceVersion: version } })
        assert.equal((await api.ask(P + PATH, { method: 'DELETE', headers: json, body: options })).status, status)
      }
      assert.deepEqual(asked, [])
    },
  ))

test('G8: media types that cannot be read, answers that cannot be given and bodies that are too large are refused first', () =>
  withWorld(
    () => written('6'),
    async ({ api, asked }) => {
      const ask = (method: string, headers: Record<string, string>, body = '{}') =>
        api.ask(P + PATH, { method, headers, body })
      assert.equal((await ask('PATCH', json)).status, 415)
      assert.equal((await ask('PUT', { 'content-type': 'application/cbor' })).status, 415)
      assert.equal((await ask('PUT', { ...json, 'content-encoding': 'br' })).status, 415)
      const protobuf = 'application/vnd.kubernetes.protobuf'
      assert.equal((await ask('PUT', { ...json, accept: protobuf })).status, 406, 'D3: not after it is written')
      assert.equal((await ask('PUT', json, `"${'x'.repeat(3 * 1024 * 1024)}"`)).status, 413)
      assert.equal(asked.length, 0)
      assert.equal((await ask('PUT', { ...json, accept: `${protobuf},application/json` })).status, 200)
      assert.equal(asked[0]?.headers?.['accept'], 'application/json')
    },
  ))

test('D2: chunked and gzip bodies are translated too', () =>
  withWorld(
    () => written('6'),
    async ({ api, fleet, asked }) => {
      const body = gzipSync(JSON.stringify({ metadata: { name: 'p', resourceVersion: token({ m1: '5' }) } }))
      const status = await new Promise((resolve, reject) => {
        const headers = { ...json, 'content-encoding': 'gzip' }
        const request = http.request(api.url + P + PATH, { method: 'PUT', headers }, (response) => {
          response.resume().once('end', () => resolve(response.statusCode))
        })
        request.once('error', reject)
        request.write(body.subarray(0, 20))
        request.end(body.subarray(20))
      })
      assert.equal(status, 200)
      assert.equal(String(asked[0]?.body), '{"metadata":{"name":"p","resourceVersion":"5"}}')
      assert.equal(asked[0]?.headers?.['content-encoding'], undefined)
      fleet.shard('m1', PODS).put(pod('default', 'p'), 6)
    },
  ))

test('D2: what the member’s own object has under our annotations is asked for, and put back', () => {
  const own = { 'cluster.karmada.io/name': 'theirs' }
  return withWorld(
    ({ method }) => (method === 'GET' ? written('5', { annotations: own }) : written('6', { annotations: own })),
    async ({ api, asked }) => {
      const shown = await api.ask(P + PATH)
      assert.equal(shown.json.metadata.annotations['cluster.karmada.io/name'], 'm1')
      await api.ask(P + PATH, { method: 'PUT', headers: json, body: shown.text })
      const { metadata } = JSON.parse(String(asked.at(-1)?.body)) as { metadata: { annotations: object } }
      assert.deepEqual(metadata.annotations, own)
    },
    pod('default', 'p', { metadata: { name: 'p', annotations: own } }),
  )
})

test('read your writes: a read waits for what was written, and goes to the member where it does not come', () =>
  withWorld(
    ({ method }) => (method === 'PATCH' ? written('7') : written('8')),
    async ({ api, fleet }) => {
      const shard = fleet.shard('m1', PODS)
      const patch = () =>
        api.ask(P + PATH, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: '{}' })
      await patch()
      let answered = false
      const waiting = api.ask(P + PATH).then((answer) => {
        answered = true
        return answer
      })
      await fleet.clock.advance(500)
      assert.equal(answered, false)
      shard.put(pod('default', 'p'), 7)
      await fleet.clock.advance(20)
      assert.deepEqual(decodeToken((await waiting).json.metadata.resourceVersion), { m1: '7' })
      assert.equal(
        (await api.ask(`${PREFIX}/proxying/cluster.m2/proxy${PATH}`)).status,
        404,
        'other clusters wait for nothing',
      )
    },
  ))

test('read your writes: what does not come within 3 s is read from the member', () =>
  withWorld(
    ({ method }) => (method === 'PATCH' ? written('7') : written('8')),
    async ({ api, fleet }) => {
      const headers = { 'content-type': 'application/merge-patch+json' }
      await api.ask(`${PREFIX}/proxying/cluster.m1/proxy${PATH}`, { method: 'PATCH', headers, body: '{}' })
      const reading = api.ask(`${PREFIX}/proxying/cluster.m1/proxy${PATH}`)
      await fleet.clock.advanceUntil(() => fleet.clock.monotonicMs() >= 3_200)
      assert.deepEqual(decodeToken((await reading).json.metadata.resourceVersion), { m1: '8' })
    },
  ))

test('read your writes: a deleted object is waited for to go; a dry run changes nothing', () =>
  withWorld(
    () => ({ body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } }),
    async ({ api, fleet }) => {
      assert.equal((await api.ask(`${P}${PATH}?dryRun=All`, { method: 'DELETE' })).status, 200)
      assert.equal((await api.ask(P + PATH)).status, 200)
      assert.equal((await api.ask(P + PATH, { method: 'DELETE' })).status, 200)
      const reading = api.ask(`${P}/api/v1/pods`)
      await fleet.clock.advance(500)
      fleet.shard('m1', PODS).delete(pod('default', 'p'), 6)
      await fleet.clock.advance(20)
      assert.deepEqual((await reading).json.items, [])
    },
  ))

test('an audit event of each write names the cluster that it went to; a refused one names none', () =>
  withWorld(
    () => written('6'),
    async ({ api }) => {
      const annotations = async (prefix: string, path: string, method: string): Promise<unknown> => {
        api.audited.length = 0
        await api.ask(prefix + path, { method, headers: json, ...(method === 'DELETE' ? {} : { body: '{}' }) })
        return Object.fromEntries(api.audited)
      }
      const chosen = `${PREFIX}/proxying/cluster.m2/proxy`
      const key = 'proxy.fleetsearch.dev/cluster'
      for (const [method, subresource] of [
        ['PUT', ''],
        ['PUT', '/status'],
        ['POST', '/eviction'],
        ['POST', '/binding'],
        ['DELETE', ''],
      ] as const) {
        assert.deepEqual(await annotations(P, PATH + subresource, method), { [key]: 'm1' }, method + subresource)
      }
      assert.deepEqual(await annotations(chosen, '/api/v1/namespaces/default/pods', 'POST'), { [key]: 'm2' })
      assert.deepEqual(await annotations(P, '/api/v1/namespaces/default/pods', 'DELETE'), {}, 'of many: 405')
    },
  ))

test('a cluster there is none of is 404, with a warning: kubectl takes 404 of discovery for an empty one and hides the message', () =>
  withWorld(
    () => written('6'),
    async ({ api }) => {
      for (const path of ['/api', '/apis', PATH]) {
        const { status, headers, json: body } = await api.ask(`${PREFIX}/proxying/cluster.nope/proxy${path}`)
        assert.equal(status, 404)
        assert.match(body.message, /clusters\.cluster\.karmada\.io "nope" not found/)
        assert.equal(headers['warning'], '299 - "clusters.cluster.karmada.io \\"nope\\" not found"')
      }
    },
  ))

/** Other replicas as the fences see them: they say what the test says. */
class ScriptedPeers implements FencePeers {
  isCovered = true
  reason: string | undefined
  readonly announced: unknown[] = []
  answer: () => Promise<void> = () => Promise.resolve()
  tell: (notice: unknown, ageMs: number) => void = () => undefined

  refusal(): string | undefined {
    return this.reason
  }

  announce(fence: unknown): Promise<void> {
    this.announced.push(fence)
    return this.answer()
  }

  covered(): boolean {
    return this.isCovered
  }

  onAnnounced(listener: (notice: unknown, ageMs: number) => void): void {
    this.tell = listener
  }
}

const patch = (api: Loopback) =>
  api.ask(P + PATH, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: '{}' })

test('other replicas: nobody is told of a write before they are, and nothing is sent where they cannot be told', () => {
  const peers = new ScriptedPeers()
  return withWorld(
    () => written('7'),
    async ({ api, fleet, asked }) => {
      let heard = (): void => undefined
      peers.answer = () => new Promise((resolve) => (heard = resolve))
      let isAnswered = false
      const writing = patch(api).then((answer) => {
        isAnswered = true
        return answer
      })
      await until(() => peers.announced.length === 1)
      assert.equal(isAnswered, false)
      heard()
      assert.equal((await writing).status, 200)
      const awaited = { kind: 'version', version: '7', namespace: 'default', name: 'p' }
      assert.deepEqual(peers.announced, [{ group: '', resource: 'pods', cluster: 'm1', clusterUid: 'uid-m1', awaited }])
      fleet.shard('m1', PODS).put(pod('default', 'p'), 7)
      peers.answer = () => Promise.reject(new Error('they are deaf'))
      const unsure = await patch(api)
      assert.equal(unsure.status, 504)
      assert.match(unsure.json.message, /has carried it out, and other replicas could not be told of it: they are deaf/)
      asked.length = 0
      peers.reason = 'nobody knows this one'
      const refused = await patch(api)
      assert.deepEqual([refused.status, asked.length], [503, 0])
      assert.match(refused.json.message, /no write is sent now: nobody knows this one/)
      assert.equal((await api.ask(`${P}${PATH}?dryRun=All`, { method: 'DELETE' })).status, 200, 'changes nothing')
    },
    undefined,
    peers,
  )
})

test('other replicas: what one of them has written is waited for here, then read from the member, for a minute', () => {
  const peers = new ScriptedPeers()
  return withWorld(
    () => written('8'),
    async ({ api, fleet }) => {
      const chosen = `${PREFIX}/proxying/cluster.m1/proxy${PATH}`
      const version = async (): Promise<unknown> => decodeToken((await api.ask(chosen)).json.metadata.resourceVersion)
      const fence = (awaited: object, more: object = {}) => ({
        group: '',
        resource: 'pods',
        cluster: 'm1',
        clusterUid: 'uid-m1',
        awaited,
        ...more,
      })
      const seven = { kind: 'version', version: '7', namespace: 'default', name: 'p' }
      // What is none, of another cluster of that name, of a kind that nobody registered, or long past, holds nothing up.
      for (const notice of [
        undefined,
        7,
        {},
        fence({}),
        fence({ ...seven, version: 7 }),
        fence(seven, { clusterUid: 'x' }),
      ]) {
        peers.tell(notice, 0)
      }
      peers.tell(fence(seven, { resource: 'secrets' }), 0)
      peers.tell(fence(seven), 60_001)
      assert.deepEqual(await version(), { m1: '5' })
      peers.tell(fence(seven), 0)
      const reading = version()
      await fleet.clock.advance(1_000)
      fleet.shard('m1', PODS).put(pod('default', 'p'), 7)
      await fleet.clock.advance(20)
      assert.deepEqual(await reading, { m1: '7' })
      peers.tell(fence({ ...seven, version: '9' }), 2_900)
      const late = version()
      await fleet.clock.advanceUntil(() => fleet.clock.monotonicMs() > 1_300)
      assert.deepEqual(await late, { m1: '8' }, 'it was written 3 s ago')
      assert.deepEqual(await version(), { m1: '8' })
      await fleet.clock.advance(60_000)
      assert.deepEqual(await version(), { m1: '7' }, 'the cluster says itself that it is stale')
    },
    undefined,
    peers,
  )
})

test('what is counted of writes that have not arrived has not, though nobody reads', async () => {
  const fleet = podFleet({ m1: { objects: [pod('default', 'p')], version: 5 } })
  const peers = new ScriptedPeers()
  const metrics = createMetricsRegistry()
  new Fences({ clock: fleet.clock, cache: fleet.cache, metrics, peers })
  const counted = async (): Promise<unknown> => /fleetsearch_proxy_fences (\d+)/.exec(await metrics.metrics())?.[1]
  const wrote = (version: string): void => {
    const awaited = { kind: 'version', version, namespace: 'default', name: 'p' }
    peers.tell({ group: '', resource: 'pods', cluster: 'm1', clusterUid: 'uid-m1', awaited }, 0)
  }
  wrote('7')
  wrote('9')
  assert.equal(await counted(), '2')
  fleet.shard('m1', PODS).put(pod('default', 'p'), 7)
  assert.equal(await counted(), '1')
  await fleet.clock.advance(60_000)
  assert.equal(await counted(), '0')
  wrote('9')
  fleet.cache.unregister(PODS)
  assert.equal(await counted(), '0')
  fleet.close()
})

test('other replicas: one that is deleted is not shown by a cache that has not even seen it made', () => {
  const peers = new ScriptedPeers()
  return withWorld(
    () => ({ status: 404, body: { kind: 'Status', apiVersion: 'v1', code: 404, message: 'gone' } }),
    async ({ api, fleet }) => {
      const gone = { kind: 'gone', version: '7', namespace: 'default', name: 'q', uid: 'uid-default-q' }
      peers.tell({ group: '', resource: 'pods', cluster: 'm1', clusterUid: 'uid-m1', awaited: gone }, 0)
      const list = (): Promise<string[]> =>
        api
          .ask(`${PREFIX}/proxying/cluster.m1/proxy/api/v1/namespaces/default/pods`)
          .then(({ json: body }) => body.items.map((item: { metadata: { name: string } }) => item.metadata.name))
      let isAnswered = false
      const listing = list().then((names) => {
        isAnswered = true
        return names
      })
      const shard = fleet.shard('m1', PODS)
      await fleet.clock.advance(100)
      assert.equal(isAnswered, false, 'at version 5 it has not been made yet')
      shard.put(pod('default', 'q'), 7)
      await fleet.clock.advance(100)
      assert.equal(isAnswered, false, 'it is there')
      shard.delete(pod('default', 'q'), 8)
      await fleet.clock.advance(20)
      assert.deepEqual(await listing, ['p'])
    },
    undefined,
    peers,
  )
})

test('other replicas: while one may have written unheard, reads are live; those that may be old are not', () => {
  const peers = new ScriptedPeers()
  peers.isCovered = false
  return withWorld(
    () => written('8'),
    async ({ api }) => {
      const chosen = `${PREFIX}/proxying/cluster.m1/proxy`
      const version = async (query: string): Promise<unknown> =>
        decodeToken((await api.ask(chosen + PATH + query)).json.metadata.resourceVersion)
      assert.deepEqual(await version(''), { m1: '8' })
      for (const query of ['?resourceVersion=0', `?resourceVersion=${token({ m1: '5' })}`]) {
        assert.deepEqual(await version(query), { m1: '5' })
      }
      peers.isCovered = true
      assert.deepEqual(await version(''), { m1: '5' })
    },
    undefined,
    peers,
  )
})

test('what an answer does not tell is asked of the member: the version after an eviction, and after a collection is gone', () => {
  const peers = new ScriptedPeers()
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Success' }
  let list: Reply = { body: { metadata: { resourceVersion: '12' }, items: [] } }
  return withWorld(
    ({ method }) => (method === 'GET' ? list : { body: status }),
    async ({ api, asked }) => {
      const evict = (): Promise<unknown> =>
        api.ask(`${P}${PATH}/eviction`, { method: 'POST', headers: json, body: '{}' })
      const awaited = (): unknown => (peers.announced.at(-1) as { awaited: unknown }).awaited
      // A kube-apiserver's list of no items has `null` in it.
      for (const items of [[], null, undefined]) {
        list = { body: { metadata: { resourceVersion: '12' }, ...(items === undefined ? {} : { items }) } }
        peers.announced.length = 0
        await evict()
        assert.match(asked.at(-1)!.path, /pods\?limit=1&fieldSelector=metadata.name%3Dp$/)
        assert.deepEqual(awaited(), { kind: 'version', version: '12', namespace: 'default', name: '' })
      }
      list = {
        body: { metadata: { resourceVersion: '12' }, items: [{ metadata: { name: 'p', resourceVersion: '11' } }] },
      }
      await evict()
      assert.deepEqual(awaited(), { kind: 'version', version: '11', namespace: 'default', name: 'p' })
      await api.ask(`${PREFIX}/proxying/cluster.m1/proxy/api/v1/namespaces/default/pods`, { method: 'DELETE' })
      assert.deepEqual(awaited(), { kind: 'version', version: '12', namespace: 'default', name: '' })
      for (list of [
        { status: 403, body: {} },
        { body: 'nonsense' },
        { body: 'null' },
        { body: { items: {} } },
        { body: {} },
      ]) {
        await evict()
        assert.deepEqual(awaited(), { kind: 'unknown', namespace: 'default' })
      }
    },
    undefined,
    peers,
  )
})

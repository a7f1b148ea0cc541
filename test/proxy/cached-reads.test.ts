import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Loopback } from '../http/loopback.ts'
import { P, PREFIX, S, withApi } from './api-fixture.ts'
import type { TestObject } from './fleet-fixture.ts'
import { decodeToken, NODES, pod, podFleet, PODS, token } from './fleet-fixture.ts'
import { MemberWorld, scriptedClient, served } from './member-fixture.ts'
import { facts } from '../support/cluster-facts.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const TABLE =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

const nameOf = ({ metadata }: Json): string =>
  `${metadata.annotations['cluster.karmada.io/name']}/${metadata.namespace}/${metadata.name}`

async function allPages(api: Loopback, path: string, between?: (page: number) => void): Promise<Json[]> {
  const pages: Json[] = []
  for (let next = ''; ;) {
    const separator = path.includes('?') ? '&' : '?'
    const { status, json } = await api.ask(
      next === '' ? path : `${path.replace(/&continue=.*/, '')}${separator}continue=${next}`,
    )
    assert.equal(status, 200, JSON.stringify(json).slice(0, 300))
    pages.push(json)
    between?.(pages.length)
    next = json.metadata.continue ?? ''
    if (next === '') return pages
  }
}

const ten = (prefix: string): TestObject[] =>
  Array.from({ length: 10 }, (_, i) => pod('default', `${prefix}-${String(i).padStart(2, '0')}`))

test('A3: pages of any size give each pod once, all with one version that covers both clusters', async () => {
  for (const limit of [1, 3, 5, 10, 19, 20, 1000]) {
    const fleet = podFleet({ empty: { objects: [], version: 7 }, member1: { objects: ten('a'), version: 123 } })
    fleet.shard('member2', PODS).list(ten('b'), 456)
    await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
      const pages = await allPages(api, `${P}/api/v1/namespaces/default/pods?limit=${limit}`)
      assert.equal(pages.length, Math.ceil(20 / limit), `limit ${limit}: no empty page at the end`)
      const names = pages.flatMap(({ items }) => items.map(nameOf))
      assert.deepEqual(names, [
        ...ten('a').map((p) => `member1/default/${p.metadata.name}`),
        ...ten('b').map((p) => `member2/default/${p.metadata.name}`),
      ])
      for (const [i, { metadata }] of pages.entries()) {
        assert.deepEqual(decodeToken(metadata.resourceVersion), { empty: '7', member1: '123', member2: '456' })
        const left = 20 - limit * (i + 1)
        assert.equal(metadata.remainingItemCount, left > 0 ? left : undefined)
      }
    })
  }
})

test('A3: at the end of a cluster the token points at the next one', async () => {
  const fleet = podFleet({ member1: { objects: ten('a'), version: 1 }, member2: { objects: ten('b'), version: 2 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const { json } = await api.ask(`${P}/api/v1/pods?limit=10`)
    assert.deepEqual(decodeToken(json.metadata.continue), { rv: json.metadata.resourceVersion, cluster: 'member2' })
  })
})

test('A3: what changes between pages is neither doubled nor lost, gone ones included, and a watch tells it', async () => {
  const fleet = podFleet({ member1: { objects: ten('a'), version: 123 }, member2: { objects: ten('b'), version: 456 } })
  const [one, two] = [fleet.shard('member1', PODS), fleet.shard('member2', PODS)]
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const pages = await allPages(api, `${P}/api/v1/pods?limit=5`, (page) => {
      if (page !== 1) return
      two.delete(pod('default', 'b-07'), 457)
      one.put(pod('default', 'a-00x'), 124)
    })
    const names = pages.flatMap(({ items }) => items.map(nameOf))
    assert.equal(new Set(names).size, 20)
    for (const { metadata } of [...ten('a'), ...ten('b')]) {
      assert.equal(names.filter((name) => name.endsWith(`/${metadata.name}`)).length, 1, metadata.name)
    }
    const last = pages.at(-1).metadata.resourceVersion
    assert.ok(pages.every(({ metadata }) => metadata.resourceVersion === last))
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${last}`)
    await watch.until(2)
    const seen = watch.events.map(({ type, object }) => `${type} ${object.metadata.name}`)
    assert.deepEqual(seen.toSorted(), ['ADDED a-00x', 'DELETED b-07'])
    watch.close()
  })
})

test('A3 twist: a cluster of the token that left is 410 with a token to go on with, never a silent end', async () => {
  const fleet = podFleet({ member1: { objects: ten('a'), version: 1 }, member2: { objects: ten('b'), version: 2 } })
  const two = fleet.shard('member2', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const first = await api.ask(`${P}/api/v1/pods?limit=12`)
    two.writer.drop()
    const path = `${P}/api/v1/pods?limit=12&continue=`
    const { status, json } = await api.ask(path + first.json.metadata.continue)
    assert.equal(status, 410)
    assert.equal(json.reason, 'Expired')
    assert.match(json.message, /member2/)
    const again = await api.ask(path + json.metadata.continue)
    assert.equal(again.status, 200)
    assert.deepEqual(decodeToken(again.json.metadata.resourceVersion), { member1: '1' })
  })
})

test('A5: a continue token of another server, or of a replaced cluster, is 410 with a usable one', async () => {
  const fleet = podFleet({ member1: { objects: ten('a'), version: 50 }, member2: { objects: ten('b'), version: 2 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const rv = token({ member1: '50', member2: '2' })
    const native = Buffer.from('{"v":"meta.k8s.io/v1","rv":50,"start":"default/a-04"}').toString('base64url')
    const newer = token({ member1: '60', member2: '2' })
    const tokens = [token({ rv, cluster: 'member1', continue: native }), token({ rv: newer, cluster: 'member1' })]
    for (const text of tokens) {
      const { status, json } = await api.ask(`${P}/api/v1/pods?limit=5&continue=${text}`)
      assert.equal(status, 410)
      const again = await api.ask(`${P}/api/v1/pods?limit=500&continue=${json.metadata.continue}`)
      assert.equal(again.json.items.length, 20, 'it starts that cluster over')
    }
    for (const text of ['garbage!', token({ rv: '', cluster: 'member1' }), native]) {
      const { status, json } = await api.ask(`${P}/api/v1/pods?continue=${text}`)
      assert.equal(status, 400, text)
      assert.match(json.message, /continue key is not valid/)
    }
  })
})

test('A5: a continue token older than our history is 410, and the walk goes on from the one in the answer', async () => {
  const fleet = podFleet({ member1: { objects: ten('a'), version: 50 }, member2: { objects: ten('b'), version: 2 } })
  const shard = fleet.shard('member2', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const first = await api.ask(`${P}/api/v1/pods?limit=5`)
    shard.put(pod('default', 'b-99'), 3)
    await fleet.clock.advance(20 * 60_000)
    const path = `${P}/api/v1/pods?limit=5&continue=`
    const { status, json } = await api.ask(path + first.json.metadata.continue)
    assert.equal(status, 410)
    assert.equal(json.reason, 'Expired')
    const names: string[] = first.json.items.map(nameOf)
    const rest = await allPages(api, `${P}/api/v1/pods?limit=5&continue=${json.metadata.continue}`)
    names.push(...rest.flatMap(({ items }) => items.map(nameOf)))
    assert.deepEqual([names.length, new Set(names).size], [21, 21])
  })
})

test('a cluster that joins during a walk does not slip into it', async () => {
  const fleet = podFleet({ member2: { objects: ten('b'), version: 2 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const pages = await allPages(api, `${P}/api/v1/pods?limit=5`, (page) => {
      if (page === 1) fleet.shard('member3', PODS).list(ten('c'), 9)
    })
    assert.equal(pages.flatMap(({ items }) => items).length, 10)
  })
})

test('C8: an object with the least metadata, read in parallel while events arrive, and what is cached stays', async () => {
  const least: TestObject = { metadata: { name: 'p', namespace: 'a', uid: 'u1', resourceVersion: '7' } }
  const annotated = pod('a', 'q', {
    metadata: { name: 'q', annotations: { 'resource.karmada.io/cached-from-cluster': 'elsewhere', mine: 'x' } },
  })
  const fleet = podFleet({ member1: { objects: [least, annotated], version: 7 } })
  const shard = fleet.shard('member1', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const bytes = (): string =>
      Buffer.from(fleet.cache.resource(PODS)?.snapshot({ name: 'p' }).bytesAt(0) ?? []).toString()
    const before = bytes()
    const reads = Array.from({ length: 100 }, (_, i) => {
      shard.put(pod('a', `other-${i}`), 10 + i)
      return api.ask(i % 2 === 0 ? `${S}/api/v1/namespaces/a/pods/p` : `${P}/api/v1/namespaces/a/pods/p`)
    })
    for (const [i, { status, json }] of (await Promise.all(reads)).entries()) {
      assert.equal(status, 200)
      const object = i % 2 === 0 ? json.items[0] : json
      assert.equal(object.metadata.annotations['resource.karmada.io/cached-from-cluster'], 'member1')
      assert.equal(object.metadata.annotations['cluster.karmada.io/name'], 'member1')
      assert.equal(object.metadata.resourceVersion, i % 2 === 0 ? '7' : token({ member1: '7' }))
    }
    assert.equal(bytes(), before)
    const { text, json } = await api.ask(`${P}/api/v1/namespaces/a/pods/q`)
    assert.equal(json.metadata.annotations['resource.karmada.io/cached-from-cluster'], 'member1')
    assert.equal(json.metadata.annotations.mine, 'x')
    assert.equal(text.split('resource.karmada.io/cached-from-cluster').length, 2, 'once, not twice')
  })
})

test('D1: the same name in two clusters is 409 by the proxy, a list of both by search/cache, and a choice resolves it', async () => {
  const fleet = podFleet({
    member1: { objects: [pod('default', 'web-0', { spec: { at: 1 } })], version: 1 },
    member2: { objects: [pod('default', 'web-0', { spec: { at: 2 } })], version: 2 },
  })
  const members = new MemberWorld(fleet.clock)
  const asked: string[] = []
  for (const name of ['member1', 'member2']) {
    const client = scriptedClient(({ method, path }) => {
      asked.push(`${method} ${path}`)
      return { body: {} }
    })
    members.engage(name, client, [served('pods', 'Pod')])
  }
  const shard = fleet.shard('member2', PODS)
  await withApi(fleet, members, async (api) => {
    const path = '/api/v1/namespaces/default/pods/web-0'
    for (const [method, sub] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PATCH', ''],
      ['GET', '/log'],
      ['POST', '/exec'],
    ] as const) {
      const { status, json } = await api.ask(P + path + sub, { method })
      assert.equal(status, 409, `${method} ${sub}`)
      assert.equal(json.reason, 'Conflict')
      assert.match(json.message, /member1.*member2/)
    }
    assert.deepEqual(new Set(asked), new Set([`GET ${path}`]), 'they were asked, and not written to')
    const both = await api.ask(S + path)
    assert.deepEqual(both.json.items.map(nameOf), ['member1/default/web-0', 'member2/default/web-0'])
    const byPath = await api.ask(`${PREFIX}/proxying/cluster.member2/proxy${path}`)
    assert.equal(byPath.json.spec.at, 2)
    const byHeader = await api.ask(P + path, { headers: { 'fleetsearch-cluster': 'member1' } })
    assert.equal(byHeader.json.spec.at, 1)
    assert.deepEqual(decodeToken(byHeader.json.metadata.resourceVersion), { member1: '1' })
    const nope = await api.ask(`${PREFIX}/proxying/cluster.nope/proxy${path}`)
    assert.equal(nope.status, 404)
    assert.match(nope.json.message, /"nope" not found/)
    const torn = await api.ask(`${PREFIX}/proxying/cluster.member1/proxy${path}`, {
      headers: { 'fleetsearch-cluster': 'member2' },
    })
    assert.equal(torn.status, 400)
    shard.delete(pod('default', 'web-0'), 3)
    assert.equal((await api.ask(P + path)).json.spec.at, 1)
    asked.length = 0
    assert.equal((await api.ask(P + path, { method: 'DELETE' })).status, 200)
    assert.deepEqual(asked, [`DELETE ${path}`], 'one owner is left, and only that one was asked')
  })
})

test('D5: create without a target is 405, subresources go to the owner, an absent object is 404', async () => {
  const fleet = podFleet({ member1: { objects: [pod('default', 'p')], version: 1 } })
  const members = new MemberWorld(fleet.clock)
  members.engage(
    'member1',
    scriptedClient(({ path }) => ({ status: path.includes('absent') ? 404 : 200, body: {} })),
    [served('pods', 'Pod')],
  )
  await withApi(fleet, members, async (api) => {
    const create = await api.ask(`${P}/api/v1/namespaces/default/pods`, { method: 'POST', body: '{}' })
    assert.equal(create.status, 405)
    assert.deepEqual(create.json.details, { kind: 'pods' })
    for (const sub of ['exec', 'eviction']) {
      const { status } = await api.ask(`${P}/api/v1/namespaces/default/pods/p/${sub}`, { method: 'POST' })
      assert.equal(status, 200, 'its cluster has answered')
    }
    const absent = await api.ask(`${P}/api/v1/namespaces/default/pods/absent/log`)
    assert.equal(absent.status, 404)
    assert.deepEqual(absent.json.details, { name: 'absent', kind: 'pods' })
    const collection = await api.ask(`${P}/api/v1/namespaces/default/pods`, { method: 'DELETE' })
    assert.equal(collection.status, 405)
  })
})

test('E1: Tables by every form of Accept, over pages and clusters, with the cluster in each row', async () => {
  const fleet = podFleet({ member1: { objects: ten('a'), version: 1 }, member2: { objects: ten('b'), version: 2 } })
  fleet
    .register(NODES, 'Node', false)
    .shard('member1', NODES, 'Node', false)
    .list([{ metadata: { name: 'n1' } }], 5)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const old = 'application/json;as=Table;g=meta.k8s.io;v=v1beta1'
    const nodes = await api.ask(`${P}/api/v1/nodes`, { headers: { accept: old } })
    assert.equal(nodes.status, 200)
    assert.equal(nodes.json.apiVersion, 'meta.k8s.io/v1beta1')
    assert.equal(nodes.json.rows[0].object.apiVersion, 'meta.k8s.io/v1beta1')
    const first = await api.ask(`${P}/api/v1/pods?limit=15`, { headers: { accept: TABLE } })
    const second = await api.ask(`${P}/api/v1/pods?limit=15&continue=${first.json.metadata.continue}`, {
      headers: { accept: TABLE },
    })
    assert.deepEqual(second.json.columnDefinitions, first.json.columnDefinitions)
    assert.equal(first.json.rows.length + second.json.rows.length, 20)
    assert.equal('continue' in second.json.metadata, false)
    const row = second.json.rows.at(-1).object
    assert.equal(row.kind, 'PartialObjectMetadata')
    assert.equal(row.metadata.annotations['resource.karmada.io/cached-from-cluster'], 'member2')
    const one = await api.ask(`${P}/api/v1/namespaces/default/pods/a-00`, { headers: { accept: TABLE } })
    assert.equal(one.json.rows.length, 1)
    assert.equal(one.json.metadata.resourceVersion, token({ member1: '1' }))
    assert.equal(one.json.rows[0].object.metadata.resourceVersion, token({ member1: '1' }))
    const whole = await api.ask(`${P}/api/v1/nodes?includeObject=Object`, { headers: { accept: TABLE } })
    assert.equal(whole.json.rows[0].object.kind, 'Node')
    const none = await api.ask(`${P}/api/v1/nodes?includeObject=None`, { headers: { accept: TABLE } })
    assert.equal(none.json.rows[0].object, null)
    assert.equal((await api.ask(`${P}/api/v1/nodes?includeObject=All`, { headers: { accept: TABLE } })).status, 400)
  })
})

test('D3: PartialObjectMetadataList, YAML, and a protobuf-only client', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'p', { spec: { big: 1, yes: 'yes' } })], version: 1 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    for (const version of ['v1', 'v1beta1']) {
      const accept = `application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=${version}`
      const { json } = await api.ask(`${P}/api/v1/pods`, { headers: { accept } })
      assert.equal(json.apiVersion, `meta.k8s.io/${version}`)
      assert.equal(json.kind, 'PartialObjectMetadataList')
      assert.equal(json.items[0].apiVersion, `meta.k8s.io/${version}`)
      assert.equal(json.items[0].spec, undefined)
    }
    const yaml = await api.ask(`${P}/api/v1/pods`, { headers: { accept: 'application/yaml' } })
    assert.equal(yaml.headers['content-type'], 'application/yaml')
    assert.match(yaml.text, /^apiVersion: v1\nitems:\n- apiVersion: v1\n {2}kind: Pod\n/)
    assert.match(yaml.text, /\n {4}yes: "yes"\n|\n {4}"yes": "yes"\n/)
    assert.match(yaml.text, /\nkind: PodList\nmetadata:\n/)
    const proto = await api.ask(`${P}/api/v1/pods`, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })
    assert.equal(proto.status, 406)
    const both = { accept: 'application/vnd.kubernetes.protobuf,application/json' }
    assert.equal((await api.ask(`${P}/api/v1/pods`, { headers: both })).json.kind, 'PodList')
  })
})

test('E6: field selectors apply across pages, and a field nobody knows is 400', async () => {
  const objects = Array.from({ length: 9 }, (_, i) =>
    pod('a', `p${i}`, { spec: { nodeName: i % 2 === 0 ? 'n1' : 'n2' } }),
  )
  const fleet = podFleet({ member1: { objects, version: 1 }, member2: { objects, version: 2 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const pages = await allPages(api, `${P}/api/v1/pods?limit=2&fieldSelector=spec.nodeName%3Dn1`)
    assert.deepEqual(
      pages.map(({ items }) => items.length),
      [2, 2, 2, 2, 2],
    )
    for (const { spec } of pages.flatMap(({ items }) => items)) assert.equal(spec.nodeName, 'n1')
    const one = await api.ask(`${P}/api/v1/pods?fieldSelector=metadata.name%3Dp2,spec.nodeName%3Dn1`)
    assert.equal(one.json.items.length, 2)
    const unknown = await api.ask(`${P}/api/v1/pods?fieldSelector=spec.foo%3D1`)
    assert.equal(unknown.status, 400)
    assert.match(unknown.json.message, /field label not supported: spec.foo/)
  })
})

test('a list that asks for a version the cache has not got waits for it, then says 504', async () => {
  const fleet = podFleet({ member1: { objects: [], version: 100 } })
  const shard = fleet.shard('member1', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const path = `${P}/api/v1/pods?resourceVersionMatch=NotOlderThan&resourceVersion=${token({ member1: '101', left: '9' })}`
    let answered = false
    const waiting = api.ask(path).finally(() => (answered = true))
    await fleet.clock.advance(1_000)
    assert.equal(answered, false)
    shard.put(pod('a', 'p'), 101)
    await fleet.clock.advanceUntil(() => answered)
    assert.equal((await waiting).json.items.length, 1)
    const future = api
      .ask(path.replace(token({ member1: '101', left: '9' }), token({ member1: '999' })))
      .finally(() => (answered = true))
    answered = false
    await fleet.clock.advanceUntil(() => answered)
    const { status, json, headers } = await future
    assert.equal(status, 504)
    assert.equal(json.details.causes[0].reason, 'ResourceVersionTooLarge')
    assert.equal(headers['retry-after'], '1')
    assert.equal((await api.ask(`${P}/api/v1/pods?resourceVersion=garbage`)).status, 200, 'undecodable: as empty')
  })
})

test('freshness of each cluster in a header, and a Warning for what is missing or stale', async () => {
  const fleet = podFleet({
    live: { objects: [pod('a', 'p')], version: 1 },
    stale: { objects: [pod('a', 'q')], version: 2 },
  })
  const dead = fleet.shard('dead', PODS)
  fleet.shard('new', PODS)
  await fleet.clock.advance(61_000)
  fleet.shard('live', PODS).put(pod('a', 'p', { spec: {} }), 3)
  fleet.shard('stale', PODS).writer.report({ phase: 'failing', code: 'timeout', message: 'no answer' })
  dead.writer.report({ phase: 'failing', code: 'refused', message: 'connection "refused"' })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const { json, headers, rawHeaders } = await api.ask(`${P}/api/v1/pods`)
    assert.equal(json.items.length, 2, 'stale clusters stay')
    assert.equal(headers['fleetsearch-freshness'], 'dead;missing;-,new;syncing;-,stale;stale;61,live;live;0')
    const warnings = rawHeaders.filter(([name]) => name === 'warning').map(([, value]) => value)
    assert.deepEqual(warnings, [
      '299 - "2 of 4 clusters are missing from this answer: dead (connection \\"refused\\"), new (not listed yet)"',
      '299 - "1 of 4 clusters is stale: stale (as of 61 s ago; no answer)"',
    ])
    assert.deepEqual(decodeToken(json.metadata.resourceVersion), { live: '3', stale: '2' })
  })
})

test('namespaces, scopes and names that no API has are 404', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'p')], version: 1 } })
  fleet
    .register(NODES, 'Node', false)
    .shard('member1', NODES, 'Node', false)
    .list([{ metadata: { name: 'n1' } }], 5)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    assert.equal((await api.ask(`${P}/api/v1/namespaces/b/pods`)).json.items.length, 0)
    for (const path of [
      '/api/v1/namespaces/a/nodes',
      '/api/v1/namespaces/a/nodes/n1',
      '/api/v1/pods/p',
      '/api/v1/nodes/n2',
      '/api/v1/namespaces/b/pods/p',
    ]) {
      assert.equal((await api.ask(P + path)).status, 404, path)
    }
    assert.equal((await api.ask(`${P}/api/v1/nodes/n1`)).json.metadata.name, 'n1')
    for (const path of ['/api/../api/v1/nodes', '/api/%2E%2e/v1', '/api/v1/nodes/a%2fb', '/openapi/v3/./x']) {
      assert.equal((await api.ask(P + path)).status, 400, path)
    }
    for (const path of ['', '/', '/x', '/x/', '/%zz/proxy/api/v1/pods']) {
      const { status } = await api.ask(`${PREFIX}/proxying${path}`)
      assert.ok(status === 404 || status === 400, path)
    }
  })
})

test('a third plugin in between is asked in its place', async () => {
  const fleet = podFleet({ member1: { objects: [], version: 1 } })
  const members = new MemberWorld(fleet.clock)
  members.fleet.engage(
    facts('member1'),
    scriptedClient(() => ({ body: {} })),
  )
  const seen: string[] = []
  const plugin = {
    name: 'mine',
    order: 1800,
    supports: ({ path }: { path: string }) => path.endsWith('/mine'),
    connect: ({ response, verb, cluster }: Json) => {
      seen.push(`${verb} ${cluster}`)
      response.end('{}')
      return Promise.resolve()
    },
  }
  await withApi(
    fleet,
    members,
    async (api) => {
      await api.ask(`${PREFIX}/proxying/cluster.member1/x/api/v1/namespaces/a/pods/p/mine`, { method: 'PUT' })
      assert.deepEqual(seen, ['update member1'])
      assert.equal((await api.ask(`${P}/api/v1/things`)).status, 404, 'nobody supports it')
    },
    { behind: [plugin] },
  )
})

test('kinds that a kube-apiserver warns about are warned about here', async () => {
  const fleet = podFleet({ m1: { objects: [], version: 1 } })
  const endpoints = { group: '', version: 'v1', resource: 'endpoints' }
  fleet.register(endpoints, 'Endpoints', true).shard('m1', endpoints, 'Endpoints').list([], 1)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const { headers } = await api.ask(`${P}/api/v1/endpoints`)
    assert.match(
      String(headers.warning),
      /299 - "v1 Endpoints is deprecated in v1.33\+; use discovery.k8s.io\/v1 EndpointSlice"/,
    )
    const missing = await api.ask(`${P}/api/v1/namespaces/a/endpoints/e`)
    assert.equal(missing.status, 404)
    assert.match(String(missing.headers.warning), /Endpoints is deprecated/)
    assert.equal((await api.ask(`${P}/api/v1/pods`)).headers.warning, undefined)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slowWatchers } from '../support/slow-watchers.ts'
import { settle } from '../support/fake-clock.ts'
import { P, withApi } from './api-fixture.ts'
import { decodeToken, pod, podFleet, PODS, TestFleet, token } from './fleet-fixture.ts'
import { MemberWorld } from './member-fixture.ts'

const INITIAL = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

test('A1: every watcher gets the same once-encoded version, and the cached object keeps its own', async () => {
  const fleet = podFleet({
    member1: { objects: [pod('default', 'p1')], version: 100 },
    member2: { objects: [pod('default', 'p2')], version: 200 },
  })
  const shard = fleet.shard('member1', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const from = token({ member1: '100', member2: '200' })
    const watches = await Promise.all(
      [1, 2, 3].map(() => api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${from}`)),
    )
    shard.put(pod('default', 'p1', { spec: { changed: true } }), 101)
    await Promise.all(watches.map((watch) => watch.until(1)))
    for (const watch of watches) {
      assert.equal(watch.events.length, 1)
      assert.equal(watch.events[0]?.type, 'MODIFIED')
      assert.deepEqual(decodeToken(watch.events[0].object.metadata.resourceVersion), { member1: '101', member2: '200' })
      watch.close()
    }
    const cached = fleet.cache.resource(PODS)?.snapshot({ name: 'p1' }).at(0)
    assert.equal(cached?.resourceVersion, '101')
    assert.deepEqual(JSON.parse(Buffer.from(cached?.bytes ?? []).toString()), {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: {
        annotations: {
          'resource.karmada.io/cached-from-cluster': 'member1',
          'cluster.karmada.io/name': 'member1',
        },
        resourceVersion: '101',
        uid: 'uid-default-p1',
        name: 'p1',
        namespace: 'default',
      },
      spec: { changed: true },
    })
  })
})

test('B1: what happened while a member was away arrives on the open watch, and so does a new cluster', async () => {
  const fleet = podFleet({
    member1: { objects: [pod('default', 'p1')], version: 100 },
    member2: { objects: [pod('default', 'p2')], version: 200 },
  })
  const member2 = fleet.shard('member2', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const from = token({ member1: '100', member2: '200' })
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${from}`)
    member2.writer.report({ phase: 'failing', code: 'refused', message: 'connection refused' })
    await settle()
    member2.list([pod('default', 'p3')], 210)
    fleet.shard('member3', PODS).list([pod('default', 'p4')], 5)
    await watch.until(3)
    const seen = watch.events.map(({ type, object }) => `${type} ${object.metadata.name}`)
    assert.deepEqual(seen.toSorted(), ['ADDED p3', 'ADDED p4', 'DELETED p2'])
    assert.deepEqual(decodeToken(watch.events.at(-1)?.object.metadata.resourceVersion), {
      member1: '100',
      member2: '210',
      member3: '5',
    })
    watch.close()
  })
})

test('B4: registered, no cluster: empty lists and open watches, never what stands behind', async () => {
  const fleet = new TestFleet().register(PODS, 'Pod', true)
  const host = {
    name: 'host',
    order: 3000,
    supports: () => true,
    connect: () => Promise.reject(new Error('the host was asked')),
  }
  await withApi(
    fleet,
    new MemberWorld(fleet.clock),
    async (api) => {
      const list = await api.ask(`${P}/api/v1/pods`)
      assert.deepEqual(list.json, {
        apiVersion: 'v1',
        kind: 'PodList',
        metadata: { continue: '', resourceVersion: 'e30' },
        items: [],
      })
      const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=e30`)
      assert.equal(watch.status, 200)
      const shard = fleet.shard('member1', PODS).list([pod('default', 'p1')], 7)
      await watch.until(1)
      assert.equal(watch.events[0]?.type, 'ADDED')
      assert.deepEqual(decodeToken(watch.events[0].object.metadata.resourceVersion), { member1: '7' })
      shard.writer.drop()
      await watch.ended
      assert.equal(watch.events.at(-1)?.type, 'ERROR')
      assert.equal(watch.events.at(-1)?.object.code, 410)
      assert.equal((await api.ask(`${P}/api/v1/pods`)).json.items.length, 0)
    },
    { behind: [host] },
  )
})

const STARTS: Readonly<Record<string, string>> = {
  'no version': '',
  'version 0': '&resourceVersion=0',
  'the version of a list': `&resourceVersion=${token({ member1: '100', member2: '200' })}`,
}

for (const [what, version] of Object.entries(STARTS)) {
  test(`B5: a watch-list from ${what} ends its initial phase with one bookmark to resume from`, async () => {
    const fleet = podFleet({
      member1: { objects: [pod('a', 'p1'), pod('b', 'p2')], version: 100 },
      member2: { objects: [pod('a', 'p1')], version: 200 },
    })
    const shard = fleet.shard('member2', PODS)
    await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
      const watch = await api.watch(`${P}/api/v1/pods?watch=true&${INITIAL}${version}`)
      await watch.until(4)
      assert.deepEqual(
        watch.events.map(({ type, object }) => [type, object.metadata.name]),
        [
          ['ADDED', 'p1'],
          ['ADDED', 'p2'],
          ['ADDED', 'p1'],
          ['BOOKMARK', undefined],
        ],
      )
      const { metadata, kind } = watch.events[3]?.object
      assert.equal(kind, 'Pod')
      assert.equal(metadata.annotations['k8s.io/initial-events-end'], 'true')
      assert.deepEqual(decodeToken(metadata.resourceVersion), { member1: '100', member2: '200' })
      watch.close()
      shard.delete(pod('a', 'p1'), 201)
      const resumed = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${metadata.resourceVersion}`)
      await resumed.until(1)
      assert.equal(resumed.events[0]?.type, 'DELETED')
      resumed.close()
    })
  })
}

test('B5: sendInitialEvents that does not fit is refused, never ignored', async () => {
  const fleet = podFleet({ member1: { objects: [], version: 1 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    for (const query of [
      'watch=true&sendInitialEvents=true',
      'sendInitialEvents=true',
      'watch=1&resourceVersionMatch=Exact',
    ]) {
      const { status, json } = await api.ask(`${P}/api/v1/pods?${query}`)
      assert.equal(status, 422, query)
      assert.equal(json.reason, 'Invalid')
      assert.equal(json.details.kind, 'ListOptions')
    }
  })
})

test('sendInitialEvents=false begins with what comes next', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'old')], version: 100 } })
  const shard = fleet.shard('member1', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const query = 'watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan'
    const watch = await api.watch(`${P}/api/v1/pods?${query}`)
    await settle()
    shard.put(pod('a', 'new'), 101)
    await watch.until(1)
    assert.equal(watch.events[0]?.object.metadata.name, 'new')
    watch.close()
  })
})

test('E6: an object that enters or leaves a field or label selection is ADDED or DELETED', async () => {
  const on = (node: string, tier: string) =>
    pod('a', 'p', { metadata: { name: 'p', labels: { tier } }, spec: { nodeName: node } })
  const fleet = podFleet({ member1: { objects: [on('n2', 'web'), pod('a', 'q')], version: 100 } })
  const shard = fleet.shard('member1', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const from = `resourceVersion=${token({ member1: '100' })}`
    const byNode = await api.watch(`${P}/api/v1/pods?watch=true&${from}&fieldSelector=spec.nodeName%3Dn1`)
    const byLabel = await api.watch(`${P}/api/v1/pods?watch=true&${from}&labelSelector=tier%3Ddb`)
    shard.put(on('n1', 'web'), 101)
    shard.put(on('n1', 'db'), 102)
    shard.put(on('n3', 'web'), 103)
    shard.put(pod('a', 'q', { spec: { nodeName: 'n1' } }), 104)
    shard.delete(pod('a', 'q', { spec: { nodeName: 'n1' } }), 105)
    await byNode.until(5)
    await byLabel.until(2)
    const seen = (events: typeof byNode.events): string[] =>
      events.map(({ type, object }) => {
        const version = decodeToken(object.metadata.resourceVersion) as Record<string, string>
        return `${type} ${object.metadata.name} ${object.spec.nodeName} @${version['member1']}`
      })
    // What left is shown as it was last inside, at the version at which it left.
    assert.deepEqual(seen(byNode.events), [
      'ADDED p n1 @101',
      'MODIFIED p n1 @102',
      'DELETED p n1 @103',
      'ADDED q n1 @104',
      'DELETED q n1 @105',
    ])
    assert.deepEqual(seen(byLabel.events), ['ADDED p n1 @102', 'DELETED p n1 @103'])
    byNode.close()
    byLabel.close()
  })
})

test('a watch names one object by field selector or by the legacy path', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'p'), pod('a', 'q')], version: 100 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    for (const path of [
      '/api/v1/namespaces/a/pods?watch&fieldSelector=metadata.name%3Dp',
      '/api/v1/watch/namespaces/a/pods/p',
    ]) {
      const watch = await api.watch(P + path)
      await watch.until(1)
      await settle()
      assert.deepEqual(
        watch.events.map(({ object }) => object.metadata.name),
        ['p'],
        path,
      )
      watch.close()
    }
  })
})

test('timeoutSeconds ends a watch cleanly', async () => {
  const fleet = podFleet({ member1: { objects: [], version: 100 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&timeoutSeconds=30`)
    await fleet.clock.advance(29_000)
    assert.equal(watch.isEnded, false)
    await fleet.clock.advance(1_500)
    await watch.ended
    assert.deepEqual(watch.events, [])
  })
})

test('E1: a watch as Table declares its columns once, and each row carries the whole version map', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'p')], version: 100 } })
  const shard = fleet.shard('member1', PODS)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&allowWatchBookmarks=true`, { headers: { accept } })
    await watch.until(2)
    shard.put(pod('a', 'p', { spec: { x: 1 } }), 101)
    await watch.until(3)
    const [first, bookmark, second] = watch.events
    assert.equal(first?.object.kind, 'Table')
    assert.ok(first.object.columnDefinitions.length > 4)
    assert.equal(first.object.rows[0].cells[0], 'p')
    assert.equal(bookmark?.type, 'BOOKMARK')
    assert.equal(bookmark.object.rows[0].object.metadata.annotations['k8s.io/initial-events-end'], 'true')
    assert.equal(second?.object.columnDefinitions, null)
    const row = second.object.rows[0].object
    assert.equal(row.kind, 'PartialObjectMetadata')
    assert.deepEqual(decodeToken(row.metadata.resourceVersion), { member1: '101' })
    watch.close()
  })
})

test('a metadata-only watch, and Accept that no stream speaks', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'p', { spec: { big: true } })], version: 100 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
    const watch = await api.watch(`${P}/api/v1/pods?watch=true`, { headers: { accept } })
    await watch.until(1)
    assert.equal(watch.events[0]?.object.kind, 'PartialObjectMetadata')
    assert.equal(watch.events[0].object.spec, undefined)
    watch.close()
    const refused = await api.ask(`${P}/api/v1/pods?watch=true`, { headers: { accept: 'application/yaml' } })
    assert.equal(refused.status, 406)
  })
})

test('a version too old, of a departed cluster, or of a replaced one ends with ERROR 410', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'p')], version: 100 } })
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    for (const map of [{ member1: '5' }, { member1: '100', gone: '7' }]) {
      const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${token(map)}`)
      await watch.ended
      assert.equal(watch.events.at(-1)?.object.code, 410)
      assert.equal(watch.events.at(-1)?.object.reason, 'Expired')
    }
    fleet.shard('member1', PODS, 'Pod', true, 'another-uid').list([pod('a', 'new')], 5)
    const old = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${token({ member1: '100' })}`)
    await fleet.clock.advanceUntil(() => old.isEnded, 500, 10_000)
    assert.equal(old.events.at(-1)?.object.code, 410)
  })
})

test('B3: a watcher that takes nothing is cut when it falls behind, and holds up nobody', async () => {
  const fleet = new TestFleet({ windowBytes: 4 * 1024 * 1024 }).register(PODS, 'Pod', true)
  const shard = fleet.shard('member1', PODS).list([], 1)
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const path = `${P}/api/v1/pods?watch=true&resourceVersion=${token({ member1: '1' })}`
    const slow = await api.stalledWatch(path)
    const healthy = await api.watch(path)
    const padding = 'x'.repeat(64 * 1024)
    let version = 1
    for (let round = 0; round < 60 && !slow.isClosed; round++) {
      for (let i = 0; i < 8; i++) shard.put(pod('a', `p${i}`, { spec: { padding } }), ++version)
      await settle(5)
      await fleet.clock.advance(1_000)
      await healthy.until(version - 1)
    }
    assert.equal(healthy.events.length, version - 1, 'the healthy one misses nothing')
    await slow.closed
    healthy.close()
  })
})

test('B3: of 20 watches ten stop reading and five leave: they are cut and hold nothing, the others miss nothing', async () => {
  await slowWatchers({ pods: 2_000, rounds: 60, eventsPerRound: 250 })
})

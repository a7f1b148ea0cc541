import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settle } from '../support/fake-clock.ts'
import { EVERYTHING, FakeRights, NOTHING, scope } from '../support/fake-rights.ts'
import type { Loopback } from '../http/loopback.ts'
import { P, PREFIX, S, withApi } from './api-fixture.ts'
import { decodeToken, pod, podFleet, PODS, token, type TestFleet } from './fleet-fixture.ts'
import { listingClient, MemberWorld, scriptedClient, served } from './member-fixture.ts'

const FROM = token({ m1: '100', m2: '200' })

/** One pod of the same name in each of two clusters, one more in the first. */
function twoClusters(): TestFleet {
  return podFleet({
    m1: { objects: [pod('ns1', 'both'), pod('ns1', 'one'), pod('ns2', 'other')], version: 100 },
    m2: { objects: [pod('ns1', 'both')], version: 200 },
  })
}

async function withRights(
  rights: FakeRights,
  run: (api: Loopback, fleet: TestFleet) => Promise<void>,
  members = (world: MemberWorld): MemberWorld => world,
): Promise<void> {
  const fleet = twoClusters()
  await withApi(fleet, members(new MemberWorld(fleet.clock)), (api) => run(api, fleet), { rights })
}

const names = (items: { metadata: { name: string } }[]): string[] => items.map(({ metadata: { name } }) => name)

test('a list shows the clusters that allow it and names the others as missing', () =>
  withRights(new FakeRights({ m1: EVERYTHING }), async (api) => {
    const answer = await api.ask(`${P}/api/v1/pods`)
    assert.equal(answer.status, 200)
    assert.deepEqual(names(answer.json.items), ['both', 'one', 'other'])
    assert.deepEqual(decodeToken(answer.json.metadata.resourceVersion), { m1: '100' })
    assert.match(String(answer.headers['fleetsearch-freshness']), /^m2;missing;-,m1;live;0$/)
    assert.match(String(answer.headers['warning']), /1 of 2 clusters is missing .* m2 \(you may not list pods\)/)
  }))

test('where no cluster allows it a read is refused in a member’s own words', () =>
  withRights(new FakeRights({ m1: scope(['ns1']) }), async (api) => {
    api.user = { name: 'bob', uid: '', groups: [], extra: {} }
    const all = await api.ask(`${P}/api/v1/pods`)
    assert.equal(all.status, 403)
    assert.deepEqual(all.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope',
      reason: 'Forbidden',
      details: { kind: 'pods' },
      code: 403,
    })
    assert.equal((await api.ask(`${P}/api/v1/namespaces/ns1/pods`)).status, 200)
    const get = await api.ask(`${P}/api/v1/namespaces/ns2/pods/other`)
    const message =
      'pods "other" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "ns2"'
    assert.deepEqual([get.status, get.json.message], [403, message])
  }))

test('what nobody can tell is 503, not a refusal that a client would believe', () =>
  withRights(new FakeRights({ m1: { undetermined: 'it does not answer' } }), async (api) => {
    const answer = await api.ask(`${P}/api/v1/pods`)
    assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '1'])
    assert.match(answer.json.message, /your rights cannot be determined: m1: it does not answer/)
  }))

test('a get finds the one object that the caller may see, and hides that there is another', () =>
  withRights(new FakeRights({ m2: EVERYTHING }), async (api) => {
    const answer = await api.ask(`${P}/api/v1/namespaces/ns1/pods/both`)
    assert.deepEqual([answer.status, decodeToken(answer.json.metadata.resourceVersion)], [200, { m2: '200' }])
    // It is not in m2; whether it is in m1 is not the caller's to know, so that it must not seem deleted.
    assert.equal((await api.ask(`${P}/api/v1/namespaces/ns1/pods/one`)).status, 403)
  }))

test('with rights in all clusters, what is nowhere is 404 and what is in two is 409', () =>
  withRights(new FakeRights({ m1: EVERYTHING, m2: scope(['ns1']) }), async (api) => {
    assert.equal((await api.ask(`${P}/api/v1/namespaces/ns1/pods/none`)).status, 404)
    assert.equal((await api.ask(`${P}/api/v1/namespaces/ns1/pods/both`)).status, 409)
  }))

test('F2: a write goes to the cluster that would take it, and tells nothing of objects in others', () =>
  withRights(
    new FakeRights({ m2: scope(['ns1', 'both']) }),
    async (api) => {
      for (const [method, name, status] of [
        ['DELETE', 'both', 404],
        ['PUT', 'one', 403],
        ['PATCH', 'gone', 403],
        ['DELETE', 'one/log', 403],
      ] as const) {
        const answer = await api.ask(`${P}/api/v1/namespaces/ns1/pods/${name}`, { method })
        assert.equal(answer.status, status, `${method} ${name}`)
        assert.doesNotMatch(answer.text, /m1/)
      }
    },
    (world) => {
      for (const name of ['m1', 'm2'])
        world.engage(
          name,
          scriptedClient(() => ({ status: 404, body: {} })),
          [served('pods', 'Pod')],
        )
      return world
    },
  ))

test('what decides on a request are its attributes as a member would read them', async () => {
  const rights = new FakeRights({ m1: EVERYTHING, m2: EVERYTHING })
  const ask = (path: string): readonly string[] => {
    const { verb, resource, subresource, namespace, name } = rights.questions.at(-1)!
    return [path, verb, resource, subresource, namespace, name]
  }
  await withRights(rights, async (api) => {
    for (const [path, ...expected] of [
      ['/api/v1/pods', 'list', 'pods', '', '', ''],
      ['/api/v1/pods?fieldSelector=metadata.name%3Done', 'list', 'pods', '', '', 'one'],
      ['/api/v1/pods?fieldSelector=metadata.name%3Da%2Fb', 'list', 'pods', '', '', ''],
      ['/api/v1/pods?fieldSelector=metadata.name!%3Done', 'list', 'pods', '', '', ''],
      ['/api/v1/namespaces/ns1/pods?watch=1&timeoutSeconds=1&resourceVersion=x', 'watch', 'pods', '', 'ns1', ''],
      ['/api/v1/namespaces/ns1/pods/one', 'get', 'pods', '', 'ns1', 'one'],
    ] as const) {
      const watch = path.includes('watch=') ? await api.watch(P + path) : undefined
      if (watch === undefined) await api.ask(P + path)
      assert.deepEqual(ask(path), [path, ...expected])
      watch?.close()
    }
  })
})

test('a chosen cluster is the only one whose rights are looked at', () =>
  withRights(
    new FakeRights({ m1: EVERYTHING }),
    async (api) => {
      const path = (cluster: string): string => `${PREFIX}/proxying/cluster.${cluster}/proxy/api/v1/pods`
      const answer = await api.ask(path('m1'))
      assert.deepEqual([answer.status, answer.headers['warning']], [200, undefined])
      assert.equal((await api.ask(path('m2'))).status, 403)
    },
    (world) => {
      for (const name of ['m1', 'm2']) world.engage(name, listingClient({}, 1), [served('pods', 'Pod')])
      return world
    },
  ))

test('a right that is taken away ends the watch with 410, and its versions are good for nothing any more', async () => {
  const rights = new FakeRights({ m1: EVERYTHING, m2: EVERYTHING })
  await withRights(rights, async (api, fleet) => {
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${FROM}`)
    fleet.shard('m2', PODS).put(pod('ns1', 'seen'), 201)
    await watch.until(1)
    rights.set('m2', NOTHING)
    fleet.shard('m2', PODS).put(pod('ns1', 'unseen'), 202)
    await watch.ended
    assert.deepEqual(
      watch.events.map(({ type, object }) => [type, object.metadata.name ?? object.code]),
      [
        ['ADDED', 'seen'],
        ['ERROR', 410],
      ],
    )
    const resumed = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${FROM}`)
    await resumed.ended
    assert.deepEqual([resumed.events[0]?.type, resumed.events[0]?.object.code], ['ERROR', 410])
    rights.set('m1', NOTHING)
    assert.equal((await api.ask(`${P}/api/v1/pods?watch=true`)).status, 403)
    assert.equal(rights.listeners, 0)
  })
})

test('a right that is given ends the watch cleanly, and the resume brings the cluster', async () => {
  const rights = new FakeRights({ m1: EVERYTHING })
  await withRights(rights, async (api) => {
    const from = token({ m1: '100' })
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${from}`)
    rights.set('m2', EVERYTHING)
    await watch.ended
    assert.deepEqual(watch.events, [])
    const resumed = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${from}`)
    await resumed.until(1)
    assert.deepEqual(
      resumed.events.map(({ type, object }) => [type, object.metadata.annotations['cluster.karmada.io/name']]),
      [['ADDED', 'm2']],
    )
    resumed.close()
  })
})

test('a watch goes on where nothing changes for it, and in doubt for half a minute', async () => {
  const rights = new FakeRights({ m1: EVERYTHING, m2: EVERYTHING })
  await withRights(rights, async (api, fleet) => {
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${FROM}`)
    rights.notify()
    rights.set('m2', { undetermined: 'it does not answer' })
    await settle()
    await fleet.clock.advance(29_000)
    rights.notify()
    await settle()
    assert.equal(watch.isEnded, false)
    await fleet.clock.advance(2_000)
    rights.notify()
    await watch.ended
    assert.equal(watch.events.at(-1)?.object.code, 410)
  })
})

test('a cluster that joins is looked at before anything of it is delivered', async () => {
  const rights = new FakeRights({ m1: EVERYTHING, m2: EVERYTHING, m4: EVERYTHING })
  await withRights(rights, async (api, fleet) => {
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${FROM}`)
    fleet.shard('m3', PODS).list([pod('ns1', 'secret')], 300)
    fleet.shard('m1', PODS).put(pod('ns1', 'later'), 101)
    await watch.ended
    assert.ok(watch.events.every(({ object }) => object.metadata.name !== 'secret'))
    // The resume decides anew; m3 stays hidden, m4 is shown.
    fleet.shard('m4', PODS).list([pod('ns1', 'shown')], 400)
    const resumed = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=${FROM}`)
    await resumed.until(2)
    assert.deepEqual(resumed.events.map(({ object }) => object.metadata.name).sort(), ['later', 'shown'])
    resumed.close()
  })
})

test('pages of a list stop with 410 where one of its clusters may not be seen any more', async () => {
  const rights = new FakeRights({ m1: EVERYTHING, m2: EVERYTHING })
  await withRights(rights, async (api) => {
    const { json } = await api.ask(`${P}/api/v1/pods?limit=1`)
    rights.set('m2', NOTHING)
    const next = await api.ask(`${P}/api/v1/pods?limit=1&continue=${json.metadata.continue}`)
    assert.equal(next.status, 410)
    const again = await api.ask(`${P}/api/v1/pods?continue=${next.json.metadata.continue}`)
    assert.equal(again.status, 200)
  })
})

test('live reads ask only members that would answer the caller', () => {
  const asked: string[] = []
  const lists = (version: number): Parameters<typeof listingClient>[0] => ({
    '/api/v1/pods': { kind: 'PodList', items: [pod('ns1', `live-${version}`)] },
  })
  const members = (world: MemberWorld): MemberWorld => {
    for (const [name, version] of [
      ['m1', 100],
      ['m2', 200],
    ] as const) {
      const client = listingClient(lists(version), version)
      const request: typeof client.request = (each) => {
        asked.push(`${name} ${each.path}`)
        return client.request(each)
      }
      world.engage(name, { ...client, request }, [served('pods', 'Pod')])
    }
    return world
  }
  return withRights(
    new FakeRights({ m2: EVERYTHING }),
    async (api) => {
      const answer = await api.ask(`${P}/api/v1/pods?consistency=strong`)
      assert.deepEqual(names(answer.json.items), ['live-200'])
      assert.match(String(answer.headers['fleetsearch-freshness']), /m1;missing/)
      assert.equal((await api.ask(`${P}/api/v1/namespaces/ns1/pods/gone?consistency=strong`)).status, 403)
      assert.ok(asked.length > 0 && asked.every((each) => each.startsWith('m2 ')))
    },
    members,
  )
})

test('search/cache shows object by object what may be listed', () =>
  withRights(new FakeRights({ m1: scope(['ns2'], ['ns1', 'one']), m2: scope(['ns9']) }), async (api) => {
    const answer = await api.ask(`${S}/api/v1/pods`)
    assert.deepEqual(names(answer.json.items), ['one', 'other'])
    assert.match(String(answer.headers['warning']), /2 of 2 clusters are shown in part/)
    assert.deepEqual(names((await api.ask(`${S}/api/v1/pods?sortBy=-name`)).json.items), ['other', 'one'])
    assert.equal((await api.ask(`${S}/api/v1/namespaces/ns3/pods`)).status, 403)
    const one = await api.ask(`${S}/api/v1/namespaces/ns1/pods`)
    assert.deepEqual(names(one.json.items), ['one'])
    assert.match(String(one.headers['fleetsearch-freshness']), /m2;missing/)
  }))

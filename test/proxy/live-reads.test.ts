import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemberError } from '../../src/fleet/member-error.ts'
import { LiveBudget } from '../../src/proxy/live/live-budget.ts'
import { sleep } from '../../src/util/sleep.ts'
import { systemClock } from '../../src/util/clock.ts'
import { settle } from '../support/fake-clock.ts'
import { customType } from '../support/fake-member.ts'
import type { Loopback } from '../http/loopback.ts'
import { P, PREFIX, withApi } from './api-fixture.ts'
import type { TestObject } from './fleet-fixture.ts'
import { decodeToken, pod, podFleet, PODS, TestFleet, token } from './fleet-fixture.ts'
import type { Reply } from './member-fixture.ts'
import { listingClient, MemberWorld, scriptedClient, served } from './member-fixture.ts'
import { membersPlugin } from './members-plugin.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

const event = (name: string, rest: Partial<TestObject> = {}): TestObject => pod('default', name, rest)

function withMembers(fleet: TestFleet, members: MemberWorld, run: (api: Loopback) => Promise<void>): Promise<void> {
  return withApi(fleet, members, run, { behind: [membersPlugin(fleet, members)] })
}

const events = (items: readonly TestObject[], version: number) =>
  listingClient(
    {
      '/api/v1/events': { kind: 'EventList', items },
      '/api/v1/namespaces/default/events': { kind: 'EventList', items },
    },
    version,
  )

test('A7: members are asked at once, and one that is too slow is named as missing, not waited for', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  for (let i = 0; i < 10; i++) {
    const client = scriptedClient(async ({ signal }): Promise<Reply> => {
      await sleep(1_000, fleet.clock, signal)
      return { body: { kind: 'EventList', metadata: { resourceVersion: '5' }, items: [event(`e${i}`)] } }
    })
    members.engage(`member${i}`, client, [served('events', 'Event')])
  }
  await withMembers(fleet, members, async (api) => {
    let answered = false
    const startedMs = fleet.clock.monotonicMs()
    const ask = (): ReturnType<Loopback['ask']> => {
      answered = false
      return api.ask(`${P}/api/v1/events`).finally(() => (answered = true))
    }
    const first = ask()
    await fleet.clock.advanceUntil(() => answered)
    assert.equal((await first).json.items.length, 10)
    assert.ok(fleet.clock.monotonicMs() - startedMs < 2_000, 'not the sum of their latencies')
    members.engage(
      'slow',
      scriptedClient(async ({ signal }): Promise<Reply> => {
        await sleep(600_000, fleet.clock, signal)
        return { body: {} }
      }),
      [served('events', 'Event')],
    )
    const second = ask()
    await fleet.clock.advanceUntil(() => answered, 1_000)
    const { status, json, headers } = await second
    assert.ok(fleet.clock.monotonicMs() - startedMs < 60_000)
    assert.equal(status, 200)
    assert.equal(json.items.length, 10)
    assert.equal('slow' in (decodeToken(json.metadata.resourceVersion) as object), false)
    assert.match(String(headers['warning']), /1 of 11 clusters is missing from this answer: slow/)
  })
})

test('what all members say is said; what some say is shown with the others named; nobody is 503', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  const replies: Record<string, () => Reply> = {}
  for (const name of ['m1', 'm2']) {
    members.engage(
      name,
      scriptedClient(() => (replies[name] as () => Reply)()),
      [served('events', 'Event')],
    )
  }
  const status = (code: number, message: string) => (): Reply => ({
    status: code,
    body: { kind: 'Status', code, message },
  })
  const list = (): Reply => ({ body: { kind: 'EventList', metadata: { resourceVersion: '1' }, items: [] } })
  const refuse = (): Reply => {
    throw new MemberError('refused', 'https://m2: connection refused')
  }
  await withMembers(fleet, members, async (api) => {
    const outcomes: [() => Reply, () => Reply, number, RegExp][] = [
      [status(403, 'no way'), status(403, 'no way'), 403, /no way/],
      [status(404, 'gone'), status(404, 'gone'), 404, /gone/],
      [status(400, 'bad field'), status(400, 'bad field'), 400, /bad field/],
      [status(403, 'no way'), refuse, 503, /m1: no way; m2: https:\/\/m2: connection refused/],
      [refuse, refuse, 503, /connection refused/],
      [() => ({ body: '{"kind":"EventList","items":[{"me' }), refuse, 503, /m1/],
    ]
    for (const [one, other, code, message] of outcomes) {
      Object.assign(replies, { m1: one, m2: other })
      const { status: http, json } = await api.ask(`${P}/api/v1/events`)
      assert.equal(http, code, String(message))
      assert.match(json.message, message)
    }
    Object.assign(replies, { m1: list, m2: status(403, 'no way') })
    const partial = await api.ask(`${P}/api/v1/events`)
    assert.equal(partial.status, 200)
    assert.match(String(partial.headers['warning']), /m2 \(no way\)/)
    assert.match(String(partial.headers['fleetsearch-freshness']), /m2;missing;-,m1;live;0/)
    Object.assign(replies, { m1: list, m2: status(404, 'gone') })
    assert.equal((await api.ask(`${P}/api/v1/events`)).headers['warning'], undefined, 'not served there any more')
  })
})

test('pages of live lists cover every cluster once, pinned by the first page', async () => {
  for (const limit of [1, 2, 3, 4, 7, 100]) {
    const fleet = new TestFleet()
    const members = new MemberWorld(fleet.clock)
    const sizes: Record<string, number> = { m1: 3, m2: 0, m3: 5, m4: 1 }
    for (const [name, size] of Object.entries(sizes)) {
      const items = Array.from({ length: size }, (_, i) => event(`${name}-${i}`))
      members.engage(name, events(items, 10 + size), [served('events', 'Event')])
    }
    await withMembers(fleet, members, async (api) => {
      const seen: string[] = []
      const versions = new Set<string>()
      for (let next = ''; ;) {
        const { status, json } = await api.ask(
          `${P}/api/v1/events?limit=${limit}${next === '' ? '' : `&continue=${next}`}`,
        )
        assert.equal(status, 200)
        assert.ok(json.items.length <= limit)
        seen.push(...json.items.map(({ metadata }: Json) => metadata.name))
        versions.add(json.metadata.resourceVersion)
        next = json.metadata.continue
        if (next === '') break
      }
      assert.deepEqual(seen, ['m1-0', 'm1-1', 'm1-2', 'm3-0', 'm3-1', 'm3-2', 'm3-3', 'm3-4', 'm4-0'], `limit ${limit}`)
      assert.equal(versions.size, 1)
      assert.deepEqual(decodeToken([...versions][0] ?? ''), { m1: '13', m2: '10', m3: '15', m4: '11' })
    })
  }
})

test('A5: a live list that cannot go on is a 410 whose token goes on, past a cluster that left or with the member’s own', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old', metadata: { continue: 'own' } }
  const page = (...items: string[]) => ({
    body: { kind: 'EventList', metadata: { resourceVersion: '9' }, items: items.map((name) => event(name)) },
  })
  const m1 = scriptedClient(({ path }) =>
    path.includes('continue=old')
      ? { status: 410, body: expired }
      : path.includes('continue=own')
        ? page('b')
        : page('a'),
  )
  for (const [name, client] of Object.entries({ m1, m3: events([event('c')], 13) })) {
    members.engage(name, client, [served('events', 'Event')])
  }
  const walked = async (api: Loopback, first: Record<string, string>): Promise<unknown> => {
    const refused = await api.ask(`${P}/api/v1/events?limit=9&continue=${token(first)}`)
    assert.deepEqual([refused.status, refused.json.reason], [410, 'Expired'])
    const { status, json } = await api.ask(`${P}/api/v1/events?limit=9&continue=${refused.json.metadata.continue}`)
    assert.equal(status, 200)
    assert.deepEqual(decodeToken(json.metadata.resourceVersion), { m1: '9', m3: '13' })
    return json.items.map(({ metadata }: Json) => metadata.name)
  }
  await withMembers(fleet, members, async (api) => {
    const rv = token({ m1: '9', m3: '13' })
    const left = token({ m1: '9', m2: '11', m3: '13' })
    assert.deepEqual(await walked(api, { rv, cluster: 'm1', continue: 'old' }), ['b', 'c'])
    assert.deepEqual(await walked(api, { rv: left, cluster: 'm1', continue: 'own' }), ['b', 'c'])
    assert.deepEqual(await walked(api, { rv: left, cluster: 'm2', continue: 'x' }), ['c'])
    assert.deepEqual(await walked(api, { rv, cluster: 'm2', continue: 'x' }), ['c'])
  })
})

test('selectors, limits and exact versions reach the members', async () => {
  const fleet = podFleet({ m1: { objects: [pod('a', 'cached')], version: 5 }, m2: { objects: [], version: 6 } })
  const members = new MemberWorld(fleet.clock)
  const asked: string[] = []
  for (const name of ['m1', 'm2', 'm3']) {
    const client = scriptedClient(({ path }) => {
      asked.push(`${name} ${decodeURIComponent(path)}`)
      return {
        body: { kind: 'PodList', metadata: { resourceVersion: '9' }, items: [pod('a', `live-${name}`), pod('b', 'x')] },
      }
    })
    members.engage(name, client, [served('pods', 'Pod')])
  }
  await withMembers(fleet, members, async (api) => {
    const exact = token({ m1: '4', m2: '6' })
    const query = `resourceVersion=${exact}&resourceVersionMatch=Exact&labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dn`
    const { json } = await api.ask(`${P}/api/v1/namespaces/a/pods?${query}`)
    assert.equal(json.metadata.resourceVersion, exact)
    assert.deepEqual(asked.splice(0), [
      'm1 /api/v1/namespaces/a/pods?labelSelector=a=b&fieldSelector=spec.nodeName=n&resourceVersion=4&resourceVersionMatch=Exact',
      'm2 /api/v1/namespaces/a/pods?labelSelector=a=b&fieldSelector=spec.nodeName=n&resourceVersion=6&resourceVersionMatch=Exact',
    ])
    assert.equal((await api.ask(`${P}/api/v1/pods?consistency=weird`)).status, 400)
    const strong = await api.ask(`${P}/api/v1/pods?consistency=strong`)
    assert.deepEqual(
      strong.json.items.map(({ metadata }: Json) => metadata.name),
      ['live-m1', 'x', 'live-m2', 'x'],
    )
    assert.deepEqual(asked.splice(0), ['m1 /api/v1/pods', 'm2 /api/v1/pods'], 'm3 is not registered')
    fleet.cache
      .openShard({
        cluster: 'm1' as never,
        clusterUid: 'uid-m1',
        gvr: PODS,
        kind: 'Pod',
        namespaced: true,
        namespaces: new Set(['a']),
      })
      .report({ phase: 'watching' })
    const narrowed = await api.ask(`${P}/api/v1/pods?consistency=strong`)
    assert.deepEqual(
      narrowed.json.items.map(({ metadata }: Json) => metadata.name),
      ['live-m1', 'live-m2', 'x'],
      'only registered namespaces',
    )
    const left = await api.ask(`${P}/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=${token({ left: '4' })}`)
    assert.equal(left.status, 410)
  })
})

test('another version of a registered resource is read from the members, and nobody’s is 404', async () => {
  const hpa = (version: string) => ({ group: 'autoscaling', version, resource: 'horizontalpodautoscalers' })
  const fleet = new TestFleet().register(hpa('v2'), 'HorizontalPodAutoscaler', true)
  fleet.shard('m1', hpa('v2'), 'HorizontalPodAutoscaler').list([], 1)
  const members = new MemberWorld(fleet.clock)
  const path = '/apis/autoscaling/v1/horizontalpodautoscalers'
  const client = listingClient({ [path]: { kind: 'HorizontalPodAutoscalerList', items: [pod('a', 'h')] } }, 3)
  members.engage('m1', client, [
    served('horizontalpodautoscalers', 'HorizontalPodAutoscaler', { group: 'autoscaling' }),
  ])
  await withMembers(fleet, members, async (api) => {
    const { json } = await api.ask(P + path)
    assert.equal(json.apiVersion, 'autoscaling/v1')
    assert.equal(json.items[0].metadata.name, 'h')
    assert.equal(json.items[0].metadata.annotations['cluster.karmada.io/name'], 'm1')
    assert.equal((await api.ask(P + path.replace('v1', 'v3'))).status, 404)
  })
})

test('one object of an unregistered kind: its cluster, 404 only where all say so, 409 where two have it', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  const has = new Set(['m1'])
  let down = false
  for (const name of ['m1', 'm2']) {
    const client = scriptedClient((): Reply => {
      if (down && name === 'm2') throw new MemberError('timeout', 'no answer')
      return has.has(name)
        ? { body: { kind: 'Event', apiVersion: 'v1', metadata: { name: 'e', namespace: 'a', resourceVersion: '7' } } }
        : { status: 404, body: { kind: 'Status', code: 404, message: 'events "e" not found' } }
    })
    members.engage(name, client, [served('events', 'Event')])
  }
  await withMembers(fleet, members, async (api) => {
    const path = `${P}/api/v1/namespaces/a/events/e`
    const { json } = await api.ask(path)
    assert.equal(json.metadata.resourceVersion, token({ m1: '7' }))
    assert.equal(json.metadata.annotations['resource.karmada.io/cached-from-cluster'], 'm1')
    const table = await api.ask(path, { headers: { accept: TABLE } })
    assert.equal(table.json.kind, 'Table')
    has.add('m2')
    assert.equal((await api.ask(path)).status, 409)
    assert.equal((await api.ask(path, { headers: { 'fleetsearch-cluster': 'm2' } })).status, 200)
    has.clear()
    assert.equal((await api.ask(path)).status, 404)
    down = true
    assert.equal((await api.ask(path)).status, 503, 'it may be in the cluster that does not answer')
    for (const method of ['PUT', 'DELETE']) assert.equal((await api.ask(path, { method })).status, 503)
    assert.equal((await api.ask(`${P}/api/v1/nothings`)).status, 404)
  })
})

test('kinds whose columns only members know are shown by the members’ own Tables, put together', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  const accepts: unknown[] = []
  const table = (columns: string[], cells: unknown[], name: string) =>
    scriptedClient(({ headers }) => {
      accepts.push(headers?.['accept'])
      const object = {
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { name, namespace: 'a', resourceVersion: '4' },
      }
      return {
        body: {
          kind: 'Table',
          apiVersion: 'meta.k8s.io/v1',
          metadata: { resourceVersion: '9' },
          columnDefinitions: columns.map((column) => ({
            name: column,
            type: 'string',
            format: '',
            description: '',
            priority: 0,
          })),
          rows: [{ cells, object }],
        },
      }
    })
  const widgets = served('widgets', 'Widget', { group: 'acme.example.io' })
  members.engage('m1', table(['Name', 'Size', 'Age'], ['w1', 'L', '3d'], 'w1'), [widgets])
  members.engage('m2', table(['Name', 'Age', 'New', 'Size'], ['w2', '5d', 'x', 'S'], 'w2'), [widgets])
  await withMembers(fleet, members, async (api) => {
    const { json } = await api.ask(`${P}/apis/acme.example.io/v1/widgets`, { headers: { accept: TABLE } })
    assert.ok(accepts.every((accept) => String(accept).startsWith('application/json;as=Table;v=v1')))
    assert.deepEqual(
      json.columnDefinitions.map(({ name }: Json) => name),
      ['Name', 'Size', 'Age'],
    )
    assert.deepEqual(
      json.rows.map(({ cells }: Json) => cells),
      [
        ['w1', 'L', '3d'],
        ['w2', 'S', '5d'],
      ],
    )
    assert.deepEqual(
      json.rows.map(({ object }: Json) => object.metadata.annotations['cluster.karmada.io/name']),
      ['m1', 'm2'],
    )
    assert.equal(json.metadata.resourceVersion, token({ m1: '9', m2: '9' }))
  })
})

test('a live watch lists, follows every member, survives a cut, and resumes behind its own map', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(systemClock)
  const foos = customType('Foo')
  const foo = (name: string, spec: object = {}): Json => ({
    apiVersion: 'example.io/v1',
    kind: 'Foo',
    metadata: { name, namespace: 'a' },
    spec,
  })
  const one = await members.start('m1', { extraTypes: [foos], objects: [foo('f1')] })
  const two = await members.start('m2', { extraTypes: [foos], objects: [foo('f2')] })
  const behind = [membersPlugin(fleet, members, { clock: systemClock })]
  await withApi(
    fleet,
    members,
    async (api) => {
      const path = `${P}/apis/example.io/v1/foos?watch=true`
      const watch = await api.watch(
        `${path}&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
      )
      await watch.until(3)
      assert.deepEqual(
        watch.events.map(({ type }) => type),
        ['ADDED', 'ADDED', 'BOOKMARK'],
      )
      assert.deepEqual(
        watch.events
          .slice(0, 2)
          .map(({ object }) => object.metadata.name)
          .toSorted(),
        ['f1', 'f2'],
      )
      const { metadata } = watch.events[2]?.object
      assert.equal(metadata.annotations['k8s.io/initial-events-end'], 'true')
      assert.deepEqual(Object.keys(decodeToken(metadata.resourceVersion) as object), ['m1', 'm2'])
      await one.until(() => one.watches('foos').length === 1)
      one.put(foo('f1', { changed: 1 }))
      await watch.until(4)
      assert.equal(watch.events[3]?.type, 'MODIFIED')
      assert.equal(watch.events[3].object.metadata.annotations['cluster.karmada.io/name'], 'm1')
      watch.close()
      two.delete('Foo', 'a', 'f2')
      const resumed = await api.watch(`${path}&resourceVersion=${watch.events[3].object.metadata.resourceVersion}`)
      await resumed.until(1)
      assert.deepEqual(
        resumed.events.map(({ type, object }) => [type, object.metadata.name]),
        [['DELETED', 'f2']],
      )
      await one.until(() => one.watches('foos').length === 1)
      one.cutWatches('foos', '{"type":"ADDED","obj')
      one.put(foo('f9'))
      await resumed.until(2)
      assert.deepEqual([resumed.events[1]?.type, resumed.events[1]?.object.metadata.name], ['ADDED', 'f9'])
      members.fleet.disengage('m2' as never, 'left')
      await resumed.ended
      assert.equal(resumed.events.at(-1)?.object.code, 410)
      const gone = await api.watch(`${path}&resourceVersion=${metadata.resourceVersion}`)
      await gone.ended
      assert.equal(gone.events[0]?.object.code, 410, 'its map names a cluster that left')
      const third = await api.watch(`${path}&resourceVersion=${token({ m1: one.version })}`)
      await settle(20)
      await members.start('m3', { extraTypes: [foos], objects: [foo('f3')] })
      await third.ended
      assert.deepEqual(third.events, [], 'a clean end: the resume brings the new cluster’s objects')
      const fourth = await api.watch(`${path}&resourceVersion=${token({ m1: one.version })}`)
      await fourth.until(1)
      assert.equal(fourth.events[0]?.object.metadata.name, 'f3')
      fourth.close()
      one.compact()
      const old = await api.watch(`${path}&resourceVersion=${token({ m1: '1' })}`)
      await old.ended
      assert.equal(old.events.at(-1)?.object.code, 410)
    },
    { behind },
  )
})

test('nobody heard yet is 503; a chosen member is asked alone', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  members.engage('m1', events([], 1), undefined, { unreachable: 'no endpoint' })
  await withMembers(fleet, members, async (api) => {
    const { status, headers } = await api.ask(`${P}/api/v1/events`)
    assert.equal(status, 503)
    assert.equal(headers['retry-after'], '1')
    members.engage('m2', events([event('e')], 4), [served('events', 'Event')])
    const { json, headers: after } = await api.ask(`${P}/api/v1/events`)
    assert.equal(json.items.length, 1)
    assert.match(String(after['warning']), /m1 \(no endpoint\)/)
    const alone = await api.ask(`${PREFIX}/proxying/cluster.m2/proxy/api/v1/events`)
    assert.equal(alone.headers['warning'], undefined)
  })
})

test('what is the same everywhere is not refused because of our credentials in one member', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  for (const status of [401, 403, 429, 502]) {
    members.engage(
      `a${status}`,
      scriptedClient(() => ({ status, body: {} })),
      [],
    )
  }
  members.engage(
    'b',
    scriptedClient(() => ({ body: { gitVersion: 'v1.36.3' } })),
    [],
  )
  await withMembers(fleet, members, async (api) => {
    const { status, json } = await api.ask(`${P}/version`)
    assert.equal(status, 200)
    assert.equal(json.gitVersion, 'v1.36.3')
  })
})

test('a member that gives only a part of its list, unasked, is named as missing: nothing is silently short', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  const body = { kind: 'EventList', metadata: { resourceVersion: '5', continue: 'more' }, items: [event('first')] }
  members.engage('m1', events([event('a')], 7), [served('events', 'Event')])
  members.engage(
    'm2',
    scriptedClient(() => ({ body })),
    [served('events', 'Event')],
  )
  await withMembers(fleet, members, async (api) => {
    const { json, headers } = await api.ask(`${P}/api/v1/events`)
    assert.deepEqual(
      json.items.map(({ metadata }: Json) => metadata.name),
      ['a'],
    )
    assert.match(String(headers['warning']), /m2 \(it gave only a part of its list/)
  })
})

/** Foos of members that answer as scripted, with no control plane. */
function withFoos(
  replies: Record<string, (path: string) => Reply | Promise<Reply>>,
  run: (api: Loopback) => Promise<void>,
): Promise<void> {
  const fleet = new TestFleet()
  const members = new MemberWorld(systemClock)
  const foos = [served('foos', 'Foo', { group: 'example.io' })]
  for (const [name, reply] of Object.entries(replies)) {
    members.engage(
      name,
      scriptedClient(({ path }) => reply(path)),
      foos,
    )
  }
  return withApi(fleet, members, run, { behind: [membersPlugin(fleet, members, { clock: systemClock })] })
}

const FOOS = `${P}/apis/example.io/v1/foos?watch=true`
const broken = (): Reply => ({ status: 500, body: { kind: 'Status', code: 500, message: 'etcd is gone' } })

test('a live watch of which no member answers is an error, not a stream in which nothing happens', async () => {
  const refused = (): Reply => ({ status: 403, body: { kind: 'Status', code: 403, message: 'not you' } })
  await withFoos({ m1: broken, m2: broken }, async (api) => {
    for (const start of ['', '&resourceVersion=0', `&resourceVersion=${token({ m1: '1', m2: '1' })}`]) {
      const { status, json } = await api.ask(FOOS + start)
      assert.equal(status, 503, start)
      assert.match(json.message, /m1: etcd is gone; m2: etcd is gone/)
    }
  })
  await withFoos({ m1: refused }, async (api) => {
    assert.equal((await api.ask(FOOS)).status, 403)
  })
})

test('objects of a live watch that are given one by one cannot be resumed from until the last of their cluster', async () => {
  const items = ['a', 'b'].map((name) => ({ metadata: { name, namespace: 'x', resourceVersion: '1' } }))
  const list = (path: string): Reply | Promise<Reply> =>
    path.includes('watch=true')
      ? new Promise(() => undefined)
      : { body: { kind: 'FooList', apiVersion: 'example.io/v1', metadata: { resourceVersion: '7' }, items } }
  await withFoos({ m1: list }, async (api) => {
    const watch = await api.watch(FOOS)
    await watch.until(2)
    const maps = watch.events.map(({ object }) => decodeToken(object.metadata.resourceVersion))
    assert.deepEqual(maps, [{ m1: '0' }, { m1: '7' }])
    watch.close()
    const first = watch.events[0]?.object.metadata.resourceVersion
    const again = await api.watch(`${FOOS}&resourceVersion=${first}`)
    await again.ended
    assert.equal(again.events[0]?.object.code, 410)
  })
})

test('lists that are read live share one budget of memory: who goes beyond it is told to come back', async () => {
  const fleet = new TestFleet()
  const members = new MemberWorld(systemClock)
  const list = (count: number): Reply => ({
    body: {
      kind: 'FooList',
      metadata: { resourceVersion: '1' },
      items: Array.from({ length: count }, (_, i) => ({ metadata: { name: `foo-${i}`, namespace: 'a' } })),
    },
  })
  let size = 10
  const foos = [served('foos', 'Foo', { group: 'example.io' })]
  for (const name of ['m1', 'm2'])
    members.engage(
      name,
      scriptedClient(() => list(size)),
      foos,
    )
  const budget = new LiveBudget(20_000)
  const plugin = membersPlugin(fleet, members, { clock: systemClock, budget })
  await withApi(
    fleet,
    members,
    async (api) => {
      const path = `${P}/apis/example.io/v1/foos`
      assert.equal((await api.ask(path)).json.items.length, 20)
      assert.equal(budget.used, 0)
      size = 300
      const refused = await api.ask(path)
      assert.equal(refused.status, 429)
      assert.equal(refused.headers['retry-after'], '1')
      size = 600
      assert.equal((await api.ask(`${path}?watch=true`)).status, 429, 'before the head, where no list fits')
      size = 10
      assert.equal((await api.ask(path)).status, 200, 'what was held has been given back')
      assert.equal(budget.used, 0)
    },
    { behind: [plugin] },
  )
})

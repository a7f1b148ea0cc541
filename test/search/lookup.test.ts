import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NODES, pod, PODS, TestFleet } from '../proxy/fleet-fixture.ts'
import { FakeRights, scope } from '../support/fake-rights.ts'
import { fillStore, withSearch, type Json, type ServedSearch } from './served-search.ts'

const SERVICES = { group: '', version: 'v1', resource: 'services' }
const SLICES = { group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices' }

const withIp = (name: string, ip: string | undefined, more: object = {}, phase = 'Running') =>
  pod('shop', name, {
    spec: { nodeName: 'n1', ...more },
    status: { phase, hostIP: '10.0.0.1', ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }) },
  })

const node = (name: string, address: string) => ({
  metadata: { name, uid: name },
  status: { addresses: [{ type: 'InternalIP', address }] },
})

function fleetOf(...pods: ReturnType<typeof pod>[]): TestFleet {
  const fleet = new TestFleet()
    .register(PODS, 'Pod', true)
    .register(NODES, 'Node', false)
    .register(SERVICES, 'Service', true)
    .register(SLICES, 'EndpointSlice', true)
  fleet.shard('member1', PODS).list(pods, 1)
  fleet.shard('member1', NODES, 'Node', false).list([node('n1', '10.0.0.1')], 1)
  fleet.shard('member1', SERVICES, 'Service', true).list(
    [
      {
        metadata: { name: 'web', namespace: 'shop', uid: 'svc' },
        spec: { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'] },
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.9' }] } },
      },
    ],
    1,
  )
  fleet
    .shard('member1', SLICES, 'EndpointSlice', true)
    .list(
      [{ metadata: { name: 'web-x', namespace: 'shop', uid: 'slice' }, endpoints: [{ addresses: ['10.1.0.5'] }] }],
      1,
    )
  return fleet
}

const states = async ({ json }: ServedSearch, ...names: string[]): Promise<string[]> => {
  const { pods } = await json('lookup', { key: names.map((name) => `nsip:shop:${name}`).join(',') })
  return pods.map(({ found }: Json) =>
    found.map(({ state, ips, previous }: Json) => [state, ...ips, ...(previous ?? [])].join(' ')).join('; '),
  )
}

test('the IPs of pods by namespace and name, with their state', async () => {
  const gone = pod('shop', 'gone', { spec: { nodeName: 'n9' }, status: { phase: 'Running', podIP: '10.1.0.9' } })
  const fleet = fleetOf(
    withIp('web', '10.1.0.5'),
    withIp('new', undefined, {}, 'Pending'),
    withIp('host', '10.0.0.1', { hostNetwork: true }),
    withIp('done', '10.1.0.6', {}, 'Succeeded'),
    gone,
  )
  fleet.shard('member2', PODS).list([withIp('web', '10.1.0.5')], 1)
  await withSearch(fleet, async (served) => {
    assert.deepEqual(await states(served, 'web', 'new', 'host', 'done', 'gone', 'nobody'), [
      'assigned 10.1.0.5; assigned 10.1.0.5',
      'waiting',
      'hostNetwork 10.0.0.1',
      'ended 10.1.0.6',
      'nodeGone 10.1.0.9',
      '',
    ])
    fleet.shard('member1', PODS).put(withIp('web', '10.1.0.77'), 2)
    assert.deepEqual(await states(served, 'web'), ['changed 10.1.0.77 10.1.0.5; assigned 10.1.0.5'])
    assert.deepEqual(await states(served, 'web'), ['assigned 10.1.0.77; assigned 10.1.0.5'])
    const one = await served.json('lookup', { key: 'nsip:shop:web', cluster: 'member2' })
    assert.equal(one.total, 1)
    const csv = await served.ask('lookup', { key: 'nsip:shop:host' }, { headers: { accept: 'text/csv' } })
    assert.equal(csv.text.split('\r\n')[1], 'nsip:shop:host,member1,Pod,shop,host,hostNetwork,10.0.0.1,n1')
  })
})

test('who never saw an address is not told that it was another', async () => {
  const fleet = fleetOf(withIp('web', '10.1.0.5'))
  await withSearch(fleet, async (served) => {
    const as = (name: string) => (served.api.user = { name, uid: '', groups: [], extra: {} })
    as('alice')
    assert.deepEqual(await states(served, 'web'), ['assigned 10.1.0.5'])
    fleet.shard('member1', PODS).put(withIp('web', '10.1.0.77'), 2)
    as('bob')
    assert.deepEqual(await states(served, 'web'), ['assigned 10.1.0.77'])
    as('alice')
    assert.deepEqual(await states(served, 'web'), ['changed 10.1.0.77 10.1.0.5'])
  })
})

test('a batch by POST over many namespaces; what is malformed is a 400', async () => {
  await withSearch(fleetOf(withIp('web', '10.1.0.5')), async ({ api, ask }) => {
    const key = Array.from({ length: 999 }, (_, i) => `nsip:ns-${i}:web`).concat('nsip:shop:web')
    const headers = { 'content-type': 'application/json' }
    const { status, json } = await api.ask('/lookup', { method: 'POST', headers, body: JSON.stringify({ key }) })
    assert.deepEqual([status, json.pods.length, json.total], [200, 1_000, 1])
    const more = JSON.stringify({ key: [...key, 'nsip:a:b'] })
    assert.equal((await api.ask('/lookup', { method: 'POST', headers, body: more })).status, 400)
    for (const bad of [
      {},
      { key: 'web' },
      { key: 'nsip:a' },
      { ip: '10.0.0' },
      { ip: '::1', timeout: '1h' },
      { key: 'nsip:a:b', timeout: 'x' },
    ]) {
      assert.equal((await ask('lookup', bad as Record<string, string>)).status, 400, JSON.stringify(bad))
    }
    assert.equal((await ask('lookup', { ip: '::1', cluster: 'nope' })).status, 404)
  })
})

/** Resolves when one more timer than that is armed: the request waits. */
async function armed({ clock }: TestFleet, idle: number): Promise<void> {
  while (clock.pending <= idle) await new Promise((resolve) => setImmediate(resolve))
}

test('waits for an address until it is there or the time is over', async () => {
  const fleet = fleetOf(withIp('new', undefined, {}, 'Pending'))
  await withSearch(fleet, async ({ json }) => {
    const idle = fleet.clock.pending
    const asking = json('lookup', { key: 'nsip:shop:new', timeout: '20s' })
    await armed(fleet, idle)
    fleet.shard('member1', PODS).put(withIp('new', '10.1.0.8'), 2)
    assert.equal((await asking).pods[0].found[0].state, 'assigned')
    fleet.shard('member1', PODS).put(withIp('new', undefined, {}, 'Pending'), 3)
    const late = json('lookup', { key: 'nsip:shop:new', timeout: '5s' })
    await armed(fleet, idle)
    await fleet.clock.advance(5_000)
    assert.equal((await late).pods[0].found[0].state, 'waiting')
  })
})

test('an address back to pod, node, Service, endpoint and load balancer', async () => {
  const fleet = fleetOf(withIp('web', '10.1.0.5'), withIp('host', '10.0.0.1', { hostNetwork: true }))
  await withSearch(fleet, async (served) => {
    await fillStore(served.store, fleet)
    const { ips, total } = await served.json('lookup', { ip: '10.1.0.5,10.0.0.1,10.96.0.7,203.0.113.9,10.9.9.9' })
    const shown = ips.map(({ found }: Json) =>
      found.map(({ role, kind, name }: Json) => `${role} ${kind} ${name}`).sort(),
    )
    assert.deepEqual(shown, [
      ['endpoint EndpointSlice web-x', 'pod Pod web'],
      ['node Node n1', 'pod Pod host'],
      ['service Service web'],
      ['loadBalancer Service web'],
      [],
    ])
    assert.equal(total, 6)
  })
})

test('an address in any textual form, of either family of a pod, and not the pods of a node for its own', async () => {
  const dual = pod('shop', 'dual', {
    spec: { nodeName: 'n1' },
    status: {
      ...{ phase: 'Running', podIP: '10.1.0.7', podIPs: [{ ip: '10.1.0.7' }, { ip: '2001:db8::7' }] },
      ...{ hostIP: '10.0.0.1', hostIPs: [{ ip: '10.0.0.1' }, { ip: '2001:db8:1::1' }] },
    },
  })
  const odd = pod('shop', 'odd', { spec: {}, status: { phase: 'Running', podIP: '2001:0DB8::0008' } })
  const fleet = fleetOf(dual, odd)
  await withSearch(fleet, async (served) => {
    await fillStore(served.store, fleet)
    const named = async (ip: string): Promise<string[]> => {
      const { ips } = await served.json('lookup', { ip })
      return ips[0].found.map(({ role, name }: Json) => `${role} ${name}`)
    }
    const sevens = ['2001:db8::7', '2001:DB8::7', '2001:0db8:0:0:0:0:0:7', '2001:db8::0.0.0.7', '2001:db8::7%eth0']
    for (const ip of [...sevens, '10.1.0.7', '::ffff:10.1.0.7', '::FFFF:a01:7']) {
      assert.deepEqual(await named(ip), ['pod dual'], ip)
    }
    for (const ip of ['2001:db8::8', '2001:0DB8::0008', '2001:db8:0:0::8'])
      assert.deepEqual(await named(ip), ['pod odd'])
    for (const ip of ['2001:db8:1::1', '2001:DB8:1:0::1', '2001:db8::9']) assert.deepEqual(await named(ip), [])
    assert.deepEqual(await named('::ffff:10.0.0.1'), ['node n1'])
  })
})

test('nothing of what the caller may not list', async () => {
  const fleet = fleetOf(withIp('web', '10.1.0.5'))
  const rights = new FakeRights({ member1: scope(['other']) })
  await withSearch(
    fleet,
    async (served) => {
      assert.deepEqual(await states(served, 'web'), [''])
      const { ips } = await served.json('lookup', { ip: '10.1.0.5' })
      assert.deepEqual(ips[0].found, [])
    },
    { rights },
  )
})

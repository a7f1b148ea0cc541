import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEMO_CLUSTERS, startDemoFleet } from '../../../src/fleet/demo/demo-fleet.ts'
import { Fleet } from '../../../src/fleet/fleet.ts'
import { systemClock } from '../../../src/util/clock.ts'

function fail(error: unknown): never {
  throw error
}

test('members join the fleet, answer like any member, and leave when it stops', async () => {
  const fleet = new Fleet(fail)
  const demo = await startDemoFleet({ fleet, clock: systemClock, seed: 3, clusters: 2, onFailure: fail })
  const members = fleet.members()
  assert.deepEqual(
    members.map(({ facts }) => facts.name),
    DEMO_CLUSTERS.slice(0, 2).toSorted(),
  )
  assert.equal(new Set(members.map(({ facts }) => facts.region)).size, 2)
  assert.equal(new Set(members.map(({ facts }) => facts.provider)).size, 2)
  for (const { client, signal } of members) {
    const response = await client.request({ method: 'GET', path: '/apis/apps/v1/deployments', signal })
    const list = JSON.parse((await response.bytes()).toString()) as { kind: string; items: unknown[] }
    assert.equal(list.kind, 'DeploymentList')
    assert.ok(list.items.length > 30)
    const log = await client.request({ method: 'GET', path: await someLog(client, signal), signal })
    assert.equal(log.status, 200)
    assert.equal((await log.bytes()).toString().trim().split('\n').length, 5)
  }
  const [url = ''] = demo.urls.values()
  await demo.stop()
  assert.deepEqual(fleet.members(), [])
  assert.ok(members.every(({ signal }) => signal.aborted))
  await assert.rejects(fetch(`${url}/version`))
})

async function someLog(client: ReturnType<Fleet['members']>[number]['client'], signal: AbortSignal): Promise<string> {
  const response = await client.request({ method: 'GET', path: '/api/v1/namespaces/shop/pods?limit=1', signal })
  const list = JSON.parse((await response.bytes()).toString()) as { items: { metadata: { name: string } }[] }
  return `/api/v1/namespaces/shop/pods/${list.items[0]?.metadata.name ?? ''}/log?tailLines=5`
}

/**
 * Typed clients of client-go that speak protobuf, through `fleetsearch serve` behind a real aggregator: what they write
 * arrives in the member, what they say of versions holds, what they read is JSON.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startTypedClient, type TypedAnswer, type TypedClient, type TypedCommand } from '../support/client-go.ts'
import { BASE, PROXY, startKarmadaFleet, startServe, until } from '../support/karmada-fleet.ts'
import type { KarmadaFleet, ServeProcess } from '../support/karmada-fleet.ts'
import { kubeconfig, type RealCluster } from '../support/real-parts/index.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const FROM = 'resource.karmada.io/cached-from-cluster'
const NAME = 'cluster.karmada.io/name'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const KINDS = [
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'Node' },
  { apiVersion: 'v1', kind: 'Pod' },
  { apiVersion: 'apps/v1', kind: 'Deployment' },
]
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps'
const PODS = '/api/v1/namespaces/default/pods'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'

const mapOf = (versions: Record<string, string>): string => Buffer.from(JSON.stringify(versions)).toString('base64url')

describe('typed clients that speak protobuf', () => {
  let fleet: KarmadaFleet
  let serve: ServeProcess
  let member1: RealCluster
  let client: TypedClient

  before(async () => {
    fleet = await startKarmadaFleet(['member1', 'member2'])
    ;[member1] = fleet.members as [RealCluster]
    serve = await startServe(fleet.host)
    await fleet.register('some', { targetCluster: {}, resourceSelectors: KINDS })
    client = await startTypedClient({
      fleet: await through('fleet', PROXY),
      member1: await through('member1', `${BASE}/proxying/cluster.member1/proxy`),
      member2: await through('member2', `${BASE}/proxying/cluster.member2/proxy`),
    })
    const room = { cpu: '4', memory: '8Gi', pods: '10' }
    await member1.ok('/api/v1/nodes', {
      body: { metadata: { name: 'n1' }, status: { capacity: room, allocatable: room } },
    })
    await until(async () => (await call({ do: 'list', resource: 'nodes' })).object?.items?.length === 1, 'the cache')
  })

  after(async () => {
    await client?.stop()
    await serve?.stop()
    await fleet?.stop()
  })

  async function through(name: string, prefix: string): Promise<string> {
    const { host } = fleet
    const file = path.join(host.folder, `typed-${name}`)
    await writeFile(file, kubeconfig({ name, url: host.url + prefix, caPem: host.caPem, token: host.adminToken }))
    return file
  }

  type Call = Omit<TypedCommand, 'server'> & { readonly server?: string }

  const call = (command: Call): Promise<TypedAnswer> =>
    client.call({ server: 'fleet', namespace: command.resource === 'nodes' ? '' : 'default', ...command })

  async function ok(command: Call): Promise<Json> {
    const { object, error } = await call(command)
    assert.equal(error, undefined, JSON.stringify({ command, error }))
    return object
  }

  async function refused(command: Call, code: number, message: RegExp = /./): Promise<void> {
    const { error } = await call(command)
    assert.equal(error?.code, code, JSON.stringify({ command, error }))
    assert.match(error.message, message)
  }

  /** A write went out as protobuf and was answered in JSON. */
  async function written(command: Call): Promise<Json> {
    const { object, error, sent, received } = await call(command)
    assert.equal(error, undefined, JSON.stringify({ command, error }))
    assert.deepEqual([sent, received], [PROTOBUF, 'application/json'])
    return object
  }

  function clean({ metadata }: Json): void {
    assert.equal(metadata.annotations?.[FROM], undefined, 'nothing of ours is left in the member')
    assert.equal(metadata.annotations?.[NAME], undefined)
    assert.match(metadata.resourceVersion, /^[0-9]+$/)
  }

  it('D3: reads are JSON for who takes it beside protobuf, and 406 for who takes protobuf alone', async () => {
    const list: Call = { do: 'list', resource: 'nodes' }
    for (const accept of [`${PROTOBUF},application/json`, '']) {
      const { object, received } = await call({ ...list, accept })
      assert.equal(received, 'application/json', accept)
      assert.equal(object.items[0].metadata.annotations[FROM], 'member1')
    }
    const get: Call = { do: 'get', resource: 'nodes', name: 'n1', accept: PROTOBUF }
    for (const command of [{ ...list, accept: PROTOBUF }, get]) await refused(command, 406, /application\/json/)
  })

  it('D3: nothing is written for who takes protobuf alone', async () => {
    const body = { metadata: { name: 'unwritten' } }
    await refused({ server: 'member1', do: 'create', resource: 'configmaps', body, accept: PROTOBUF }, 406)
    assert.equal((await member1.request(`${CONFIGMAPS}/unwritten`)).status, 404)
  })

  it('D2, D5: create, and what is read is updated and arrives without what is ours', async () => {
    await refused(
      { do: 'create', resource: 'configmaps', body: { metadata: { name: 'one' } } },
      405,
      /choose one cluster/,
    )
    const body = { metadata: { name: 'one', annotations: { mine: 'ü' } }, data: { a: '1' }, binaryData: { b: 'AAH/' } }
    const created = await written({ server: 'member1', do: 'create', resource: 'configmaps', body })
    assert.equal(created.metadata.annotations[NAME], 'member1')
    const read = await ok({ do: 'get', resource: 'configmaps', name: 'one' })
    assert.deepEqual(read.metadata, created.metadata)
    const updated = await written({ do: 'update', resource: 'configmaps', body: { ...read, data: { a: '2' } } })
    assert.notEqual(updated.metadata.resourceVersion, read.metadata.resourceVersion)
    const there = (await member1.ok(`${CONFIGMAPS}/one`)) as Json
    clean(there)
    assert.deepEqual([there.data, there.binaryData], [{ a: '2' }, { b: 'AAH/' }])
    assert.deepEqual(there.metadata.annotations, { mine: 'ü' })
  })

  it('D3: versions of every form', async () => {
    const read = await ok({ do: 'get', resource: 'configmaps', name: 'one' })
    const own = ((await member1.ok(`${CONFIGMAPS}/one`)) as Json).metadata.resourceVersion as string
    const updating = (resourceVersion: string, data: object): Call => ({
      do: 'update',
      resource: 'configmaps',
      body: { ...read, metadata: { ...read.metadata, resourceVersion }, data },
    })
    await refused(updating(mapOf({ member1: '1' }), { a: 'stale' }), 409, /the object has been modified/)
    await refused(updating(mapOf({ member2: own }), { a: 'foreign' }), 409, /the object is in cluster member1/)
    await refused(updating('nonsense', { a: 'nonsense' }), 400, /resourceVersion: Invalid value/)
    assert.deepEqual(((await member1.ok(`${CONFIGMAPS}/one`)) as Json).metadata.resourceVersion, own)
    const several = await written(updating(mapOf({ member1: own, member2: '7' }), { a: 'several' }))
    const decoded = JSON.parse(Buffer.from(several.metadata.resourceVersion as string, 'base64url').toString()) as Json
    await written(updating(decoded.member1 as string, { a: 'decimal' }))
    await written(updating('', { a: 'unconditional' }))
    assert.deepEqual(((await member1.ok(`${CONFIGMAPS}/one`)) as Json).data, { a: 'unconditional' })
    const dry = await written({ ...updating('', { a: 'dry' }), dryRun: ['All'] })
    assert.deepEqual(dry.data, { a: 'dry' })
    assert.deepEqual(((await member1.ok(`${CONFIGMAPS}/one`)) as Json).data, { a: 'unconditional' })
  })

  it('D2: an annotation of that name that is the member’s own stays its own', async () => {
    const metadata = { name: 'claimed', annotations: { [NAME]: 'theirs', x: '1' } }
    await member1.ok(CONFIGMAPS, { body: { metadata } })
    await until(
      async () => (await call({ do: 'get', resource: 'configmaps', name: 'claimed' })).error === undefined,
      'it',
    )
    const read = await ok({ do: 'get', resource: 'configmaps', name: 'claimed' })
    assert.equal(read.metadata.annotations[NAME], 'member1')
    await written({ do: 'update', resource: 'configmaps', body: { ...read, data: { a: '1' } } })
    const there = (await member1.ok(`${CONFIGMAPS}/claimed`)) as Json
    assert.deepEqual(there.metadata.annotations, metadata.annotations)
    assert.deepEqual(there.data, { a: '1' })
  })

  it('patches of every type, with a version in them too', async () => {
    const patch = (patchType: string, body: object): Call => ({
      do: 'patch',
      resource: 'configmaps',
      name: 'one',
      patchType,
      body,
    })
    const apply = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { y: '1' } }
    await ok(patch('application/merge-patch+json', { data: { m: '1' } }))
    await ok(patch('application/strategic-merge-patch+json', { data: { s: '1' } }))
    await ok(patch('application/json-patch+json', [{ op: 'add', path: '/data/j', value: '1' }]))
    await ok(patch('application/apply-patch+yaml', apply))
    const last = ((await ok({ do: 'get', resource: 'configmaps', name: 'one' })) as Json).metadata.resourceVersion
    const merge = (resourceVersion: string): Call =>
      patch('application/merge-patch+json', { metadata: { resourceVersion }, data: { v: '1' } })
    await refused(merge(mapOf({ member1: '1' })), 409)
    await ok(merge(last as string))
    const { data } = (await member1.ok(`${CONFIGMAPS}/one`)) as Json
    assert.deepEqual([data.m, data.s, data.j, data.y, data.v], Array(5).fill('1'))
  })

  it('status and scale of a deployment, each by its own subresource', async () => {
    const template = { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } }
    const spec = { replicas: 1, selector: { matchLabels: { app: 'w' } }, template }
    const body = { metadata: { name: 'w' }, spec }
    const created = await written({ server: 'member1', do: 'create', resource: 'deployments', body })
    const status = { replicas: 1, observedGeneration: 5 }
    const changed = { ...created, spec: { ...created.spec, replicas: 9 }, status }
    await written({ do: 'updateStatus', resource: 'deployments', body: changed })
    await refused({ do: 'updateStatus', resource: 'deployments', body: changed }, 409)
    const scale = await ok({ do: 'getScale', resource: 'deployments', name: 'w' })
    assert.equal(scale.spec.replicas, 1)
    const scaling = { ...scale, spec: { replicas: 3 } }
    await written({ do: 'updateScale', resource: 'deployments', name: 'w', body: scaling })
    await refused({ do: 'updateScale', resource: 'deployments', name: 'w', body: scaling }, 409)
    await ok({
      do: 'patch',
      resource: 'deployments',
      name: 'w',
      subresource: 'status',
      patchType: 'application/merge-patch+json',
      body: { status: { observedGeneration: 6 } },
    })
    const there = (await member1.ok(`${DEPLOYMENTS}/w`)) as Json
    clean(there)
    assert.deepEqual([there.spec.replicas, there.status.replicas, there.status.observedGeneration], [3, 1, 6])
  })

  it('binding, and an eviction with its precondition', async () => {
    const spec = { containers: [{ name: 'c', image: 'nginx' }] }
    await written({ server: 'member1', do: 'create', resource: 'pods', body: { metadata: { name: 'p' }, spec } })
    const target = { kind: 'Node', name: 'n1' }
    await written({
      do: 'bind',
      resource: 'pods',
      name: 'p',
      body: { metadata: { name: 'p', namespace: 'default' }, target },
    })
    const pod = await ok({ do: 'get', resource: 'pods', name: 'p' })
    assert.equal(pod.spec.nodeName, 'n1')
    const evict = (resourceVersion: string): Call => ({
      do: 'evict',
      resource: 'pods',
      body: {
        metadata: { name: 'p', namespace: 'default' },
        deleteOptions: { gracePeriodSeconds: 0, preconditions: { resourceVersion, uid: pod.metadata.uid } },
      },
    })
    await refused(evict(mapOf({ member1: '1' })), 409)
    await refused(evict(mapOf({ member2: '1' })), 409, /cluster member1/)
    await refused(evict('nonsense'), 400)
    assert.equal((await member1.request(`${PODS}/p`)).status, 200)
    await written(evict(pod.metadata.resourceVersion as string))
    await until(async () => (await member1.request(`${PODS}/p`)).status === 404, 'the eviction')
  })

  it('D3: delete with preconditions of every form, and a collection in the chosen cluster', async () => {
    const one = await ok({ do: 'get', resource: 'configmaps', name: 'one' })
    const remove = (preconditions: object): Call => ({
      do: 'delete',
      resource: 'configmaps',
      name: 'one',
      deleteOptions: { preconditions },
    })
    await refused(remove({ resourceVersion: mapOf({ member1: '1' }) }), 409)
    await refused(remove({ resourceVersion: mapOf({ member2: '1' }) }), 409, /cluster member1/)
    await refused(remove({ resourceVersion: 'nonsense' }), 400)
    await refused(remove({ uid: '00000000-0000-4000-8000-000000000000' }), 409)
    assert.equal((await member1.request(`${CONFIGMAPS}/one`)).status, 200)
    await ok(remove({ resourceVersion: one.metadata.resourceVersion, uid: one.metadata.uid }))
    assert.equal((await member1.request(`${CONFIGMAPS}/one`)).status, 404)
    await refused({ do: 'get', resource: 'configmaps', name: 'one' }, 404)
    const listOptions = { labelSelector: 'sweep=yes' }
    for (const member of fleet.members) {
      await member.ok(CONFIGMAPS, { body: { metadata: { name: 'swept', labels: { sweep: 'yes' } } } })
    }
    await refused({ do: 'deleteCollection', resource: 'configmaps', listOptions }, 405)
    await ok({ server: 'member1', do: 'deleteCollection', resource: 'configmaps', listOptions })
    const statuses = await Promise.all(fleet.members.map((member) => member.request(`${CONFIGMAPS}/swept`)))
    assert.deepEqual(
      statuses.map(({ status }) => status),
      [404, 200],
    )
  })

  it('D5: kinds that nobody registered: the chosen member’s, else the control plane’s', async () => {
    const body = { metadata: { name: 'held' }, spec: { holderIdentity: 'me', leaseTransitions: 1 } }
    const created = await written({ server: 'member2', do: 'create', resource: 'leases', body })
    assert.equal(created.metadata.annotations[NAME], 'member2')
    const spec = { ...created.spec, holderIdentity: 'you' }
    await written({ server: 'member2', do: 'update', resource: 'leases', body: { ...created, spec } })
    await refused({ server: 'member2', do: 'update', resource: 'leases', body: { ...created, spec } }, 409)
    const there = (await fleet.members[1]!.ok('/apis/coordination.k8s.io/v1/namespaces/default/leases/held')) as Json
    clean(there)
    assert.equal(there.spec.holderIdentity, 'you')
    await ok({ do: 'create', resource: 'leases', body })
    assert.equal((await fleet.host.request('/apis/coordination.k8s.io/v1/namespaces/default/leases/held')).status, 200)
    await ok({ server: 'member2', do: 'delete', resource: 'leases', name: 'held' })
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noCredentials } from '../../../src/fleet/credentials.ts'
import { Fleet } from '../../../src/fleet/fleet.ts'
import { KarmadaClusterProvider } from '../../../src/fleet/karmada/karmada-provider.ts'
import { createMemberClient } from '../../../src/fleet/member-client.ts'
import type { Member } from '../../../src/fleet/member.ts'
import { observeObjects } from '../../../src/informer/observe-objects.ts'
import type { ClusterName } from '../../../src/kube/names.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { createAuthority } from '../../support/certificates.ts'
import { FakeClock, seededRandom, until } from '../../support/fake-clock.ts'
import { startFakeMember, type FakeMember, type NewObject, type ResourceType } from '../../support/fake-member.ts'
import { serveHttp, serveHttps, serveProxy, type ProxyLog } from '../test-server.ts'

const CLUSTER: ResourceType = {
  group: 'cluster.karmada.io',
  version: 'v1alpha1',
  resource: 'clusters',
  singular: 'cluster',
  kind: 'Cluster',
  namespaced: false,
  custom: true,
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

function cluster(name: string, spec: object, more: object = {}): NewObject {
  return {
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, ...more },
    spec: { secretRef: { namespace: 'karmada-cluster', name }, ...spec },
  }
}

function secret(name: string, token: string, caBundle = '', metadata: object = {}): NewObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'karmada-cluster', ...metadata },
    data: { token: base64(token), caBundle: base64(caBundle) },
  }
}

class Harness implements AsyncDisposable {
  readonly clock = new FakeClock()
  readonly fleet = new Fleet((error) => assert.fail(error as Error))
  readonly changes: string[] = []
  readonly controlPlane: FakeMember
  readonly #client
  readonly #stop = new AbortController()
  readonly #running: Promise<void>

  constructor(controlPlane: FakeMember) {
    const { clock, fleet } = this
    this.controlPlane = controlPlane
    this.#client = createMemberClient({ server: controlPlane.url, credentials: noCredentials, clock, qps: 0 })
    fleet.onChange(({ type, member: { facts } }) => {
      this.changes.push(`${type} ${facts.name}${facts.unreachable === undefined ? '' : ` (${facts.unreachable})`}`)
    })
    const options = { clock, random: seededRandom(1), onError: () => undefined }
    const provider = new KarmadaClusterProvider({
      controlPlane: this.#client,
      observe: (client, target, observer, signal) => observeObjects(client, target, observer, options, signal),
      fleet,
      clock,
      qps: 0,
      logger: createLogger('silent'),
    })
    this.#running = provider.run(this.#stop.signal)
  }

  member(name: string): Member | undefined {
    return this.fleet.member(name as ClusterName)
  }

  async says(...changes: string[]): Promise<void> {
    const said = (): string => JSON.stringify(this.changes)
    await until(() => said() === JSON.stringify(changes), changes.join(', ')).catch(() => undefined)
    assert.deepEqual(this.changes, changes)
    this.changes.length = 0
  }

  async get(name: string): Promise<number | undefined> {
    const response = await this.member(name)?.client.request({
      method: 'GET',
      path: '/version',
      signal: AbortSignal.any([]),
    })
    await response?.bytes()
    return response?.status
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the test is over'))
    await this.#running
    assert.deepEqual(this.fleet.members(), [])
    await this.#client.close()
    await this.controlPlane.close()
    assert.equal(this.clock.pending, 0)
  }
}

async function start(...objects: NewObject[]): Promise<Harness> {
  return new Harness(await startFakeMember({ extraTypes: [CLUSTER], objects }))
}

test('a Cluster and its Secret make a member, with the facts that selectors match on', async () => {
  const authority = await createAuthority('member-ca')
  const pair = await authority.issue({ commonName: 'api', ips: ['127.0.0.1'] })
  const seen: (string | undefined)[] = []
  await using server = await serveHttps({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
    seen.push(request.headers.authorization)
    response.end()
  })
  const spec = {
    apiEndpoint: `127.0.0.1:${server.port}`,
    provider: 'aws',
    region: 'eu',
    zone: 'old',
    zones: ['a', 'b'],
  }
  await using h = await start(
    cluster('member1', spec, { labels: { env: 'prod' } }),
    secret('member1', 'token-1', authority.certPem),
  )
  await h.says('engaged member1')
  const facts = h.member('member1')?.facts
  assert.deepEqual(
    [facts?.labels, facts?.provider, facts?.region, facts?.zones, facts?.ready],
    [{ env: 'prod' }, 'aws', 'eu', ['a', 'b'], false],
  )
  assert.equal(await h.get('member1'), 200)
  assert.deepEqual(seen, ['Bearer token-1'])
})

test('readiness and labels are updates; a heartbeat alone is nothing', async () => {
  await using h = await start(cluster('member1', { apiEndpoint: 'https://127.0.0.1:1' }), secret('member1', 'x'))
  await h.says('engaged member1')
  const ready =
    (status: string, at: string) =>
    (object: NewObject): NewObject => ({
      ...object,
      status: { conditions: [{ type: 'Ready', status, lastTransitionTime: at }] },
    })
  h.controlPlane.update('Cluster', '', 'member1', ready('True', '2026-01-01T00:00:00Z'))
  await h.says('updated member1')
  assert.equal(h.member('member1')?.facts.ready, true)
  h.controlPlane.update('Cluster', '', 'member1', ready('True', '2026-01-01T00:01:00Z'))
  h.controlPlane.update('Cluster', '', 'member1', ready('False', '2026-01-01T00:02:00Z'))
  await h.says('updated member1')
  assert.equal(h.member('member1')?.facts.ready, false)
  assert.equal(h.member('member1')?.signal.aborted, false, 'a cluster that is not ready stays engaged')
})

test('a rotated token is used at once, without another engagement, and wakes those who wait', async () => {
  const seen: (string | undefined)[] = []
  await using server = await serveHttp((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end()
  })
  await using h = await start(cluster('member1', { apiEndpoint: server.url }), secret('member1', 'old'))
  await h.says('engaged member1')
  assert.equal(await h.get('member1'), 401)
  let woken = 0
  h.member('member1')?.client.onRecovery?.(() => void woken++)
  h.controlPlane.put(secret('member1', 'new'))
  await until(() => woken === 1, 'the new token')
  assert.equal(await h.get('member1'), 200)
  assert.deepEqual(h.changes, [])
})

test('without endpoint, Secret, token or a usable URL it says why, asks nothing, and recovers when that is mended', async () => {
  await using h = await start(
    cluster('pull', { apiEndpoint: '' }),
    cluster('no-secret', { apiEndpoint: 'https://127.0.0.1:1' }),
    cluster('no-ref', { apiEndpoint: 'https://127.0.0.1:1', secretRef: undefined }),
    cluster('no-token', { apiEndpoint: 'https://127.0.0.1:1' }),
    secret('no-token', ''),
    cluster('no-url', { apiEndpoint: 'https://a b' }),
    secret('no-url', 'x'),
  )
  await until(() => h.changes.length === 5)
  assert.deepEqual(h.changes.splice(0).sort(), [
    'engaged no-ref (the Cluster has no spec.secretRef)',
    'engaged no-secret (Secret karmada-cluster/no-secret does not exist)',
    'engaged no-token (Secret karmada-cluster/no-token has no token)',
    'engaged no-url ([unreadable URL] is not a URL of http: or https:)',
    'engaged pull (the Cluster has no spec.apiEndpoint)',
  ])
  await assert.rejects(h.get('no-secret'), { code: 'unreachable' })
  h.controlPlane.put(secret('no-secret', 'x'))
  await h.says('disengaged no-secret (Secret karmada-cluster/no-secret does not exist)', 'engaged no-secret')
  h.controlPlane.delete('Secret', 'karmada-cluster', 'no-secret')
  await h.says('disengaged no-secret', 'engaged no-secret (Secret karmada-cluster/no-secret does not exist)')
})

test('C4: a cluster replaced under its name is another one, and never gets the old token', async () => {
  const seen: string[] = []
  await using server = await serveHttp((request, response) => {
    seen.push(request.headers.authorization ?? '')
    response.end()
  })
  const owned = (uid: string) => ({ ownerReferences: [{ kind: 'Cluster', name: 'member1', uid }] })
  await using h = await start(
    cluster('member1', { apiEndpoint: 'https://127.0.0.1:1' }, { uid: 'u1' }),
    secret('member1', 'old', '', owned('u1')),
  )
  await h.says('engaged member1')
  const old = h.member('member1')
  h.controlPlane.delete('Cluster', '', 'member1')
  h.controlPlane.put(cluster('member1', { apiEndpoint: server.url }, { uid: 'u2' }))
  const stale = '(Secret karmada-cluster/member1 belongs to another Cluster)'
  await h.says('disengaged member1', `engaged member1 ${stale}`)
  assert.equal(old?.signal.aborted, true)
  h.controlPlane.put(secret('member1', 'new', '', owned('u2')))
  await h.says(`disengaged member1 ${stale}`, 'engaged member1')
  assert.equal(h.member('member1')?.facts.uid, 'u2')
  assert.equal(await h.get('member1'), 200)
  assert.deepEqual(seen, ['Bearer new'])
})

test('a changed endpoint is another way: engaged anew', async () => {
  await using h = await start(cluster('member1', { apiEndpoint: 'https://127.0.0.1:1' }), secret('member1', 'x'))
  await h.says('engaged member1')
  const old = h.member('member1')
  h.controlPlane.put(cluster('member1', { apiEndpoint: 'https://127.0.0.1:2' }))
  await h.says('disengaged member1', 'engaged member1')
  assert.equal(old?.signal.aborted, true)
  h.controlPlane.delete('Cluster', '', 'member1')
  await h.says('disengaged member1')
})

test('a cluster behind a proxy; a header of several values is split at its commas', async () => {
  const log: ProxyLog[] = []
  const authority = await createAuthority('member-ca')
  const pair = await authority.issue({ commonName: 'api', ips: ['10.9.8.7'] })
  await using server = await serveHttps({ cert: pair.certPem, key: pair.keyPem }, (_request, response) =>
    response.end(),
  )
  await using proxy = await serveProxy(log)
  const spec = {
    apiEndpoint: server.url,
    insecureSkipTLSVerification: true,
    proxyURL: proxy.url,
    proxyHeader: { 'X-Tenant': 'a,b' },
  }
  await using h = await start(cluster('member1', spec), secret('member1', 'x'))
  await h.says('engaged member1')
  assert.equal(await h.get('member1'), 200)
  assert.deepEqual([log[0]?.target, log[0]?.headers['x-tenant']], [`127.0.0.1:${server.port}`, 'a, b'])
})

test('Secrets that may not be read are the reason; the control plane is not asked in a storm', async () => {
  const controlPlane = await startFakeMember({ extraTypes: [CLUSTER] })
  controlPlane.put(cluster('member1', { apiEndpoint: 'https://127.0.0.1:1' }))
  controlPlane.put(secret('member1', 'x'))
  controlPlane.misbehave({ on: { resource: 'secrets' }, fault: { type: 'status', code: 403, message: 'not you' } })
  await using h = new Harness(controlPlane)
  await until(() => h.changes.length === 1)
  assert.match(h.changes.splice(0)[0] ?? '', /engaged member1 \(Secrets of karmada-cluster cannot be read: .*not you/)
  for (let minute = 0; minute < 10; minute++) await h.clock.advance(60_000)
  const asked = controlPlane.requested({ resource: 'secrets' }).length
  assert.ok(asked <= 12, `${asked} requests in ten minutes`)
  controlPlane.behave()
  await h.clock.advanceUntil(() => h.changes.length === 2, 1_000)
  assert.equal(h.changes[1], 'engaged member1')
})

test('Secrets are watched once for each namespace, and no longer than a cluster points there', async () => {
  const other = { secretRef: { namespace: 'other', name: 's' } }
  await using h = await start(
    cluster('a', { apiEndpoint: 'https://127.0.0.1:1' }),
    cluster('b', { apiEndpoint: 'https://127.0.0.1:1' }),
    cluster('c', { apiEndpoint: 'https://127.0.0.1:1', ...other }),
    secret('a', 'x'),
    secret('b', 'x'),
  )
  await until(() => h.changes.length === 3)
  const watched = (): string[] => h.controlPlane.watches('secrets').map((watch) => watch.type.resource)
  await until(() => watched().length === 2)
  h.controlPlane.delete('Cluster', '', 'c')
  await until(() => watched().length === 1)
})

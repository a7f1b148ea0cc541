/** The reflector and its client against a real kube-apiserver: pages, bookmarks, cuts, kills, a lost history, credentials. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ReplaceableCredentials, type Credentials } from '../../src/fleet/credentials.ts'
import { fetchDiscovery } from '../../src/fleet/discovery.ts'
import { kubeconfigClient } from '../../src/fleet/kubeconfig/context-client.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import { HttpListerWatcher } from '../../src/informer/http-lister-watcher.ts'
import { runReflector } from '../../src/informer/reflector.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'
import { serveRelay } from '../fleet/test-server.ts'
import { RecordingStore } from '../informer/recording-store.ts'
import { createAuthority } from '../support/certificates.ts'
import { until } from '../support/fake-clock.ts'
import { startControlPlane, type RealCluster } from '../support/real-parts/index.ts'

const signal = AbortSignal.any([])
let cluster: RealCluster

const direct = (): Promise<MemberClient> =>
  kubeconfigClient([cluster.kubeconfigPath], undefined, { clock: systemClock, environment: {}, qps: 0 })

function withToken(url: string, token: string, ca = cluster.caPem) {
  const of = (text: string): Credentials => ({ headers: { authorization: `Bearer ${text}` }, tls: { ca } })
  const credentials = new ReplaceableCredentials(of(token))
  const client = createMemberClient({ server: url, credentials, qps: 0, clock: systemClock })
  return {
    client,
    renew: (text: string) => {
      credentials.replace(of(text))
    },
  }
}

/** Follows the ConfigMaps of one namespace. */
function follow(client: MemberClient, namespace: string) {
  const paths: string[] = []
  const logged: MemberClient = {
    ...client,
    request: (request) => {
      paths.push(request.path)
      return client.request(request)
    },
    onRecovery: (listener) => client.onRecovery?.(listener) ?? (() => undefined),
    close: () => client.close(),
  }
  const store = new RecordingStore()
  const codes: (string | undefined)[] = []
  const stop = new AbortController()
  const source = new HttpListerWatcher({
    client: logged,
    cluster: 'reflected',
    gvr: { group: '', version: 'v1', resource: 'configmaps' },
    namespace,
    clock: systemClock,
    random: systemRandom,
  })
  const onError = (error: unknown): void => void codes.push((error as { code?: string }).code)
  const options = { clock: systemClock, random: systemRandom, onError }
  const running = runReflector(source, store, options, stop.signal)
  return {
    store,
    codes,
    pages: () => paths.filter((path) => path.includes('limit=500')).length,
    watching: () => until(() => store.phase === 'watching', 'a live watch', 60_000),
    async stop() {
      stop.abort(new Error('the test is over'))
      await running
      await client.close()
    },
  }
}

async function fill(namespace: string, count: number): Promise<void> {
  await cluster.tryKubectl(['create', 'namespace', namespace])
  const item = (index: number): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-${String(index).padStart(4, '0')}}\n`
  const input = Array.from({ length: count }, (_, index) => item(index)).join('---\n')
  await cluster.kubectl(['create', '-n', namespace, '-f', '-'], { input })
}

const create = (namespace: string, name: string): Promise<string> =>
  cluster.kubectl(['create', 'configmap', name, '-n', namespace])

describe('reflector', () => {
  before(async () => {
    cluster = await startControlPlane({ name: 'reflected' })
  })
  after(async () => {
    await cluster.stop()
  })

  it('discovery is aggregated, and costs no body while nothing changes', async () => {
    const client = await direct()
    const first = await fetchDiscovery(client, { signal })
    const pods = first.resources.find(({ group, resource }) => group === '' && resource === 'pods')
    assert.deepEqual([pods?.kind, pods?.namespaced, pods?.shortNames], ['Pod', true, ['po']])
    assert.ok(pods?.subresources.includes('log'))
    assert.deepEqual(first.failedGroups, [])
    assert.equal(await fetchDiscovery(client, { previous: first, signal }), first)
    await client.close()
  })

  it('pages of 500 over TLS and gzip, then events; cut off, it resumes without another list', async () => {
    await fill('pages', 1_100)
    await using relay = await serveRelay(Number(new URL(cluster.url).port))
    const { client } = withToken(relay.url.replace('http:', 'https:'), cluster.adminToken)
    const h = follow(client, 'pages')
    await h.watching()
    assert.equal(h.store.objects.size, 1_100)
    assert.equal(h.pages(), 3)
    await create('pages', 'live')
    await until(() => h.store.objects.has('pages/live'), 'the new object')

    h.store.events.length = 0
    relay.cut()
    await create('pages', 'during-the-cut')
    await until(() => h.store.objects.has('pages/during-the-cut'), 'the object made during the cut')
    assert.equal(h.pages(), 3)
    assert.deepEqual(h.store.events, ['ADDED pages/during-the-cut'])
    await h.stop()
  })

  it('an API server that is killed and comes back: converged, nothing lost, nothing doubled', async () => {
    await fill('killed', 20)
    const h = follow(await direct(), 'killed')
    await h.watching()
    h.store.events.length = 0
    await cluster.kill()
    await until(() => h.store.phase === 'failing', 'a failure')
    await cluster.restart()
    await create('killed', 'afterwards')
    await until(() => h.store.objects.has('killed/afterwards'), 'the new object', 60_000)
    assert.deepEqual(h.store.events, ['ADDED killed/afterwards'])
    assert.equal(h.store.objects.size, 21)
    await h.stop()
  })

  it('C4: an API server whose history is gone is listed anew; its watch would only have waited', async () => {
    await fill('lost', 30)
    const h = follow(await direct(), 'lost')
    await h.watching()
    await cluster.restart({ freshEtcd: true })
    await fill('lost', 1)
    await until(() => h.store.objects.size === 1, 'the new content', 60_000)
    assert.deepEqual(h.store.names(), ['lost/c-0000'])
    assert.ok(h.codes.includes('regressed') || h.codes.includes('expired'), h.codes.join(' '))
    await h.stop()
  })

  it('an expired token is told, and a renewed one is used at once', async () => {
    await fill('token', 2)
    const { client, renew } = withToken(cluster.url, 'expired')
    const h = follow(client, 'token')
    await until(() => h.store.phase === 'failing', 'a refusal')
    assert.deepEqual(h.codes, ['unauthorized'])
    renew(cluster.adminToken)
    await until(() => h.store.objects.size === 2, 'the objects')
    await h.stop()
  })

  it('a wrong CA is told', async () => {
    const stranger = await createAuthority('stranger')
    const h = follow(withToken(cluster.url, cluster.adminToken, stranger.certPem).client, 'default')
    await until(() => h.store.phase === 'failing', 'a failure')
    const state = h.store.states.at(-1)
    assert.equal(state?.phase === 'failing' && state.code, 'tls')
    assert.match(state?.phase === 'failing' ? state.message : '', /not signed by the configured CA/)
    await h.stop()
  })
})

/**
 * `fleetsearch serve` behind a real APIService of a real kube-apiserver, over two real members: what a user of
 * karmada-search does with kubectl, and what happens when members die, lose their history or are cut off.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createTestClient,
  kubeconfig,
  startKwok,
  tryKubectl,
  type GuardedProcess,
  type KubectlResult,
  type RealCluster,
  type TestClient,
} from '../support/real-parts/index.ts'
import {
  CACHE,
  PROXY,
  startKarmadaFleet,
  startServe,
  until,
  type KarmadaFleet,
  type ServeProcess,
} from '../support/karmada-fleet.ts'
import { lookupSuite } from '../support/lookup-suite.ts'
import { relatedSuite } from '../support/related-suite.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { podManifest } from '../support/manifests.ts'

interface Item {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }
}

const CLUSTER_NAME = 'cluster.karmada.io/name'
const CACHED_FROM = 'resource.karmada.io/cached-from-cluster'
/** A change is visible in well under a second; a loaded machine gets ten times that before the test fails. */
const SOON_MS = 5_000

async function letViewers(cluster: RealCluster, rule: object): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const apiGroup = 'rbac.authorization.k8s.io'
  const metadata = { name: 'fleet-viewer' }
  await cluster.ok(`${rbac}/clusterroles`, { body: { metadata, rules: [rule] } })
  const roleRef = { apiGroup, kind: 'ClusterRole', name: metadata.name }
  const subjects = [{ apiGroup, kind: 'Group', name: 'viewers' }]
  await cluster.ok(`${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } })
}

describe('serve behind an APIService', () => {
  let fleet: KarmadaFleet
  let serve: ServeProcess
  let wire: TcpProxy
  let kwok: GuardedProcess
  /** Straight to serve, as the control plane's admin, who is of system:masters. */
  let direct: TestClient
  const proxied = { kubeconfig: '' }

  before(async () => {
    fleet = await startKarmadaFleet(['member1', 'member2'], { joined: ['member1'] })
    members.push(...fleet.members)
    wire = await startTcpProxy(Number(new URL(members[1]!.url).port))
    kwok = await startKwok(members[0]!)
    await fleet.join(members[1]!, { url: `https://127.0.0.1:${wire.port}` })
    serve = await startServe(fleet.host)
    const { certPem, keyPem } = fleet.host.pki.admin
    direct = createTestClient({ url: serve.url, caPem: serve.caPem, certPem, keyPem })
    await fleet.register('all', { targetCluster: {}, resourceSelectors: SELECTORS })
    await writeProxyKubeconfig()
    for (const member of members) await member.ok('/api/v1/namespaces/default/pods', { body: podManifest('web-0') })
    await until(async () => (await cached('pods')).length === 2, 'the first pods', 60_000)
  })

  after(async () => {
    await direct?.close()
    await serve?.stop()
    await kwok?.stop()
    await wire?.close()
    await fleet?.stop()
  })

  const members: KarmadaFleet['members'][number][] = []

  async function writeProxyKubeconfig(): Promise<void> {
    const { host } = fleet
    proxied.kubeconfig = path.join(host.folder, 'through-the-proxy')
    const entry = { name: 'fleet', url: `${host.url}${PROXY}`, caPem: host.caPem, token: host.adminToken }
    await writeFile(proxied.kubeconfig, kubeconfig(entry))
  }

  async function cached(resource: string): Promise<Item[]> {
    const answer = await fleet.host.request(`${CACHE}/api/v1/${resource}`)
    return answer.status === 200 ? (answer.json() as { items: Item[] }).items : []
  }

  async function kubectl(...args: string[]): Promise<KubectlResult> {
    return tryKubectl(args, proxied)
  }

  async function kubectlOk(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl(...args)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  /** Whole lists of member2's pods that were taken over since the start. */
  async function listsOfPods(): Promise<number> {
    const { text } = await direct.request('/metrics')
    const line = /^fleetsearch_reflector_lists_total\{cluster="member2",resource="v1\/pods"\} (\d+)$/m.exec(text)
    return Number(line?.[1])
  }

  const clusterOf = ({ metadata }: Item): string | undefined => metadata.annotations[CLUSTER_NAME]
  const identity = (item: Item): string => `${clusterOf(item)}/${item.metadata.namespace ?? ''}/${item.metadata.name}`

  /** What the members themselves say, by cluster, name and version. */
  async function truth(resource: string): Promise<string[]> {
    const lists = await Promise.all(
      members.map(async (member) => {
        const { items } = (await member.ok(`/api/v1/${resource}`)) as { items: Item[] }
        return items.map(
          ({ metadata }) =>
            `${member.name}/${metadata.namespace ?? ''}/${metadata.name}@${metadata.uid}@${metadata.resourceVersion}`,
        )
      }),
    )
    return lists.flat().sort()
  }

  async function converged(resource: string, limitMs = 60_000): Promise<void> {
    let ours: string[] = []
    let theirs: string[] = []
    await until(
      async () => {
        theirs = await truth(resource)
        ours = (await cached(resource))
          .map((item) => `${identity(item)}@${item.metadata.uid}@${item.metadata.resourceVersion}`)
          .sort()
        return JSON.stringify(ours) === JSON.stringify(theirs)
      },
      `equality of ${resource}`,
      limitMs,
    ).catch((error: unknown) => {
      assert.deepEqual(ours, theirs, String(error))
    })
  }

  it('answers kubectl get --raw with every cluster’s objects, named by both annotations', async () => {
    const raw = await fleet.host.kubectl(['get', '--raw', `${CACHE}/api/v1/pods`])
    const list = JSON.parse(raw) as { kind: string; apiVersion: string; items: Item[] }
    assert.equal(list.kind, 'PodList')
    assert.equal(list.apiVersion, 'v1')
    assert.deepEqual(list.items.map(identity), ['member1/default/web-0', 'member2/default/web-0'])
    for (const item of list.items) assert.equal(item.metadata.annotations[CACHED_FROM], clusterOf(item))
  })

  it('shows a change in a member soon', async () => {
    await members[0]!.ok('/api/v1/namespaces/default/pods/web-0', {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { changed: 'yes' } } }),
    })
    const changed = async (): Promise<boolean> =>
      (await cached('pods')).some(({ metadata }) => metadata.labels?.['changed'] === 'yes')
    await until(changed, 'the change', SOON_MS)
  })

  it('refuses who has no right, and shows who has what his rights in each member are', async () => {
    const ask = (token: string) => fleet.host.request(`${CACHE}/api/v1/pods`, { token })
    assert.equal((await ask('nobody-token')).status, 403)
    const resources = ['search', 'search/api', 'search/apis', 'proxying/proxy']
    await letViewers(fleet.host, { apiGroups: ['search.karmada.io'], resources, verbs: ['get'] })
    await until(async () => /cannot list resource/.test((await ask('viewer-token')).text), 'the right to ask', 30_000)
    await letViewers(members[0]!, { apiGroups: [''], resources: ['pods'], verbs: ['list'] })
    await until(async () => (await ask('viewer-token')).status === 200, 'the right in a member', 30_000)
    const { items } = (await ask('viewer-token')).json() as { items: Item[] }
    assert.deepEqual([...new Set(items.map(({ metadata }) => metadata.annotations[CLUSTER_NAME]))], ['member1'])
  })

  it('searches', async () => {
    const { items, total } = (await fleet.host.ok(
      `/apis/search.karmada.io/v1alpha1/search/query?q=${encodeURIComponent('kind:Pod name:web-0')}`,
    )) as { items: unknown[]; total: number }
    assert.equal(total, 2)
    assert.equal(items.length, 2)
  })

  it('E9: looks like one cluster to kubectl', async () => {
    assert.match(
      await kubectlOk('get', 'pods', '-A', '-o', 'wide'),
      /NAMESPACE\s+NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\s+IP\s+NODE/,
    )
    assert.equal((await kubectlOk('get', 'pods', '-A', '--no-headers')).trim().split('\n').length, 2)
    assert.match(await kubectlOk('get', 'nodes'), /node-1\s+Ready/)
    assert.match(await kubectlOk('api-resources'), /deployments\s+deploy\s+apps\/v1/)
    assert.match(await kubectlOk('api-versions'), /^apps\/v1$/m)
    assert.match(await kubectlOk('explain', 'pod.spec.containers'), /FIELD: containers/)
    assert.match(await kubectlOk('version'), /Server Version: v1\.36/)
    assert.match(await kubectlOk('describe', 'node', 'node-1'), /^Name:\s+node-1$/m)
    assert.match(await kubectlOk('get', '--raw', '/healthz'), /ok/)
    assert.match(await kubectlOk('auth', 'can-i', 'list', 'pods'), /yes/)
  })

  it('D1: says in which clusters an ambiguous object is', async () => {
    const { code, stderr } = await kubectl('get', 'pod', 'web-0')
    assert.equal(code, 1)
    assert.match(stderr, /member1/)
    assert.match(stderr, /member2/)
  })

  it('describes a pod with its events', async () => {
    const [member1] = members
    await member1!.ok('/api/v1/namespaces/default/pods', { body: podManifest('solo', { nodeName: 'node-1' }) })
    const pod = (await member1!.ok('/api/v1/namespaces/default/pods/solo')) as Item
    await member1!.ok('/api/v1/namespaces/default/events', { body: eventFor(pod) })
    await converged('pods')
    await until(async () => (await kubectl('describe', 'pod', 'solo')).stdout.includes('BackOff'), 'the event', SOON_MS)
    assert.match(await kubectlOk('describe', 'pod', 'solo'), /^Name:\s+solo$/m)
  })

  it('watches', async () => {
    const stop = new AbortController()
    const watching = tryKubectl(['get', 'pods', '-n', 'default', '-w', '--no-headers'], {
      ...proxied,
      signal: stop.signal,
    })
    await delay(2_000)
    await members[1]!.ok('/api/v1/namespaces/default/pods', { body: podManifest('seen-by-watch') })
    await converged('pods')
    await members[1]!.ok('/api/v1/namespaces/default/pods/seen-by-watch?gracePeriodSeconds=0', { method: 'DELETE' })
    await converged('pods')
    await delay(1_000)
    stop.abort()
    const { stdout } = await watching
    assert.match(stdout, /seen-by-watch/)
  })

  lookupSuite(() => fleet)
  relatedSuite(() => fleet)

  it('resumes without a relist when a connection is cut', async () => {
    const before = await listsOfPods()
    const taken = wire.taken
    wire.cut()
    await members[1]!.ok('/api/v1/namespaces/default/pods', { body: podManifest('after-the-cut') })
    const arrived = async (): Promise<boolean> =>
      (await cached('pods')).some(({ metadata }) => metadata.name === 'after-the-cut')
    await until(arrived, 'the pod', 30_000)
    assert.ok(wire.taken > taken)
    assert.equal(await listsOfPods(), before)
  })

  it('converges after a member was dead for 30 s, and says meanwhile that it is stale', async () => {
    const member = members[1]!
    await member.kill()
    await until(
      async () => {
        const { headers } = await fleet.host.request(`${CACHE}/api/v1/pods`)
        return /member2;stale/.test(String(headers['fleetsearch-freshness']))
      },
      'a stale mark',
      60_000,
    )
    assert.ok(
      (await cached('pods')).some((item) => clusterOf(item) === 'member2'),
      'its objects are kept',
    )
    await delay(30_000)
    await member.restart()
    await member.ok('/api/v1/namespaces/default/pods', { body: podManifest('after-death') })
    await converged('pods')
  })

  it('converges after a member came back with its history gone', async () => {
    await members[1]!.restart({ freshEtcd: true })
    await members[1]!.ok('/api/v1/namespaces/default/pods', { body: podManifest('new-world') })
    await converged('pods', 120_000)
    assert.deepEqual(
      (await cached('pods')).filter((item) => clusterOf(item) === 'member2').map(({ metadata }) => metadata.name),
      ['new-world'],
    )
  })

  it('keeps its registries over a restart', async () => {
    await serve.restart()
    await converged('pods', 120_000)
  })
})

const SELECTORS = [
  { apiVersion: 'v1', kind: 'Pod' },
  { apiVersion: 'v1', kind: 'Node' },
  { apiVersion: 'v1', kind: 'Event' },
  { apiVersion: 'apps/v1', kind: 'Deployment' },
]

function eventFor(pod: Item): object {
  return {
    metadata: { name: `${pod.metadata.name}.1`, namespace: 'default' },
    involvedObject: {
      kind: 'Pod',
      namespace: 'default',
      name: pod.metadata.name,
      uid: pod.metadata.uid,
      apiVersion: 'v1',
    },
    reason: 'BackOff',
    message: 'Back-off restarting failed container',
    type: 'Warning',
    firstTimestamp: '2026-11-30T00:00:00Z',
    lastTimestamp: '2026-11-30T00:00:00Z',
    count: 1,
    source: { component: 'kubelet' },
  }
}

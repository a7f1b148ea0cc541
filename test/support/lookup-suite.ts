/** `search/lookup` over a fleet of real members: pods' IPs by namespace and name, and whose an address is. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { BASE, until, type KarmadaFleet } from './karmada-fleet.ts'
import { HANDS_OFF } from './real-parts/kwok.ts'
import type { RealCluster } from './real-parts/index.ts'

/** In each a pod `web` of member1; in every second one of member2, too. */
const NAMESPACES = Array.from({ length: 40 }, (_, i) => `lookup-${i}`)
const MERGE = { 'content-type': 'application/merge-patch+json' }
const NODE_IP = '10.77.0.3'

interface FoundPod {
  readonly cluster: string
  readonly state: string
  readonly ips: readonly string[]
  readonly previous?: readonly string[]
  readonly node: string
}

/** `fleet` has members `member1`, whose pods are played by kwok on `node-1`, and `member2`. */
export function lookupSuite(fleetOf: () => KarmadaFleet): void {
  describe('lookup', () => {
    let fleet: KarmadaFleet
    let one: RealCluster
    let two: RealCluster
    before(async () => {
      fleet = fleetOf()
      ;[one, two] = fleet.members as [RealCluster, RealCluster]
      await fleet.register('lookup', { targetCluster: {}, resourceSelectors: KINDS })
      await Promise.all(
        NAMESPACES.map(async (namespace, i) => {
          await createNamespace(one, namespace)
          await createPod(one, namespace, 'web', { nodeName: 'node-1' })
          if (i % 2 === 1) return
          await createNamespace(two, namespace)
          await createPod(two, namespace, 'web')
          await setStatus(two, namespace, 'web', statusOf(`10.78.0.${i + 1}`))
        }),
      )
    })

    async function lookup(question: object): Promise<Answer> {
      const answer = await fleet.host.ok(`${BASE}/search/lookup`, { body: question })
      return answer as Answer
    }
    async function pods(namespace: string, ...names: string[]): Promise<FoundPod[]> {
      const answer = await lookup({ key: names.map((name) => `nsip:${namespace}:${name}`) })
      return answer.pods.flatMap(({ found }) => found)
    }
    /** One pod, as soon as it is like this. */
    async function becomes(namespace: string, name: string, state: string): Promise<FoundPod> {
      let found: FoundPod | undefined
      await until(
        async () => {
          ;[found] = await pods(namespace, name)
          return found?.state === state
        },
        `${name}: ${state}`,
        20_000,
      ).catch(() => assert.equal(found?.state, state, JSON.stringify(found)))
      return found!
    }
    const owners = async (ip: string): Promise<string[]> => {
      const { ips } = await lookup({ ip: [ip] })
      return ips[0]!.found.map(
        ({ role, cluster, kind, namespace, name }) => `${role} ${cluster}/${kind}/${namespace}/${name}`,
      )
    }
    async function owned(ip: string, ...expected: string[]): Promise<void> {
      let shown: string[] = []
      const same = async (): Promise<boolean> => {
        shown = (await owners(ip)).sort()
        return JSON.stringify(shown) === JSON.stringify(expected.toSorted())
      }
      await until(same, ip, 20_000).catch(() => assert.deepEqual(shown, expected.toSorted()))
    }

    it('a batch over many namespaces shows what the members say, of every cluster that has the pod', async () => {
      const key = [...NAMESPACES, 'nowhere'].map((namespace) => `nsip:${namespace}:web`)
      let answer: Answer | undefined
      await until(async () => {
        answer = await lookup({ key })
        const found = answer.pods.flatMap((each) => each.found)
        return found.length === 60 && found.every(({ state }) => state === 'assigned')
      }, 'addresses of all pods')
      const told = (answer?.pods ?? []).map((each) => [
        each.key,
        ...each.found.map(({ cluster, ips }) => `${cluster} ${ips.join()}`),
      ])
      const theirs = await Promise.all([one, two].map(podIps))
      const expected = key.map((each) => [each, ...theirs.flatMap((of) => of.get(each) ?? [])])
      assert.deepEqual(told, expected)
      assert.equal(new Set(expected.flat().filter((each) => each.startsWith('member1 '))).size, NAMESPACES.length)
    })

    it('waits for the address of a pod that is bound meanwhile', async () => {
      await createPod(one, 'lookup-0', 'late')
      await becomes('lookup-0', 'late', 'waiting')
      const waiting = lookup({ key: ['nsip:lookup-0:late'], timeout: '30s' })
      const target = { apiVersion: 'v1', kind: 'Node', name: 'node-1' }
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'late' }, target }
      await one.ok('/api/v1/namespaces/lookup-0/pods/late/binding', { body })
      const [found] = (await waiting).pods[0]!.found
      assert.deepEqual([found?.state, found?.node, found?.ips.length], ['assigned', 'node-1', 1])
    })

    it('an address that changed is told with the one before, once', async () => {
      await setStatus(two, 'lookup-0', 'web', statusOf('10.78.9.9'))
      let found: FoundPod | undefined
      await until(async () => {
        const [, second] = await pods('lookup-0', 'web')
        if (second?.state === 'changed') found = second
        return second?.ips[0] === '10.78.9.9'
      }, 'the new address')
      assert.deepEqual([found?.ips, found?.previous], [['10.78.9.9'], ['10.78.0.1']])
      assert.equal((await pods('lookup-0', 'web'))[1]?.state, 'assigned')
    })

    it('host network, a pod that is done, and one whose node is gone', async () => {
      await createNode(two, 'lookup-node')
      for (const [name, spec] of [
        ['host', { nodeName: 'lookup-node', hostNetwork: true }],
        ['done', { nodeName: 'lookup-node' }],
      ] as const) {
        await createPod(two, 'lookup-0', name, spec)
      }
      const running = statusOf(NODE_IP)
      await setStatus(two, 'lookup-0', 'host', { ...running, hostIP: NODE_IP, hostIPs: [{ ip: NODE_IP }] })
      await setStatus(two, 'lookup-0', 'done', { ...statusOf('10.78.1.1'), phase: 'Succeeded', hostIP: NODE_IP })
      assert.deepEqual((await becomes('lookup-0', 'host', 'hostNetwork')).ips, [NODE_IP])
      await becomes('lookup-0', 'done', 'ended')
      await owned(NODE_IP, 'node member2/Node//lookup-node', 'pod member2/Pod/lookup-0/host')
      await two.ok('/api/v1/nodes/lookup-node', { method: 'DELETE' })
      assert.deepEqual((await becomes('lookup-0', 'host', 'nodeGone')).ips, [NODE_IP])
      await becomes('lookup-0', 'done', 'nodeGone')
      await owned(NODE_IP, 'pod member2/Pod/lookup-0/host')
    })

    it('an address back to pod and endpoint, Service and load balancer, as they come and go', async () => {
      const [pod] = await pods('lookup-1', 'web')
      const ip = pod?.ips[0] ?? ''
      const service = (await one.ok('/api/v1/namespaces/lookup-1/services', {
        body: { metadata: { name: 'web' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } },
      })) as { spec: { clusterIP: string } }
      await one.ok('/api/v1/namespaces/lookup-1/services/web/status', {
        ...{ method: 'PATCH', headers: MERGE },
        body: JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: '203.0.113.77' }] } } }),
      })
      await one.ok('/apis/discovery.k8s.io/v1/namespaces/lookup-1/endpointslices', {
        body: {
          metadata: { name: 'web-x', labels: { 'kubernetes.io/service-name': 'web' } },
          addressType: 'IPv4',
          endpoints: [{ addresses: [ip] }],
        },
      })
      const slice = 'endpoint member1/EndpointSlice/lookup-1/web-x'
      await owned(ip, 'pod member1/Pod/lookup-1/web', slice)
      await owned(service.spec.clusterIP, 'service member1/Service/lookup-1/web')
      await owned('203.0.113.77', 'loadBalancer member1/Service/lookup-1/web')
      await one.ok('/api/v1/namespaces/lookup-1/pods/web?gracePeriodSeconds=0', { method: 'DELETE' })
      await owned(ip, slice)
    })
  })
}

interface Answer {
  readonly pods: readonly { readonly key: string; readonly found: readonly FoundPod[] }[]
  readonly ips: readonly { readonly ip: string; readonly found: readonly Record<string, string>[] }[]
}

const KINDS = [
  { apiVersion: 'v1', kind: 'Service' },
  { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
]

async function createNamespace(member: RealCluster, name: string): Promise<void> {
  await member.ok('/api/v1/namespaces', { body: { metadata: { name } } })
}

async function createNode(member: RealCluster, name: string): Promise<void> {
  await member.ok('/api/v1/nodes', { body: { metadata: { name } } })
  const body = JSON.stringify({ status: { addresses: [{ type: 'InternalIP', address: NODE_IP }] } })
  await member.ok(`/api/v1/nodes/${name}/status`, { method: 'PATCH', headers: MERGE, body })
}

async function createPod(member: RealCluster, namespace: string, name: string, spec: object = {}): Promise<void> {
  const containers = [{ name: 'app', image: 'nginx:1.29' }]
  const annotations = member.name === 'member1' ? {} : { [HANDS_OFF]: 'yes' }
  const body = { metadata: { name, annotations }, spec: { containers, ...spec } }
  await member.ok(`/api/v1/namespaces/${namespace}/pods`, { body })
}

const statusOf = (podIP: string) => ({ phase: 'Running', podIP, podIPs: [{ ip: podIP }] })

/** What its kubelet would write. */
async function setStatus(member: RealCluster, namespace: string, name: string, status: object): Promise<void> {
  const body = JSON.stringify({ status })
  await member.ok(`/api/v1/namespaces/${namespace}/pods/${name}/status`, { method: 'PATCH', headers: MERGE, body })
}

/** The members' own word: `CLUSTER IP` by key. */
async function podIps(member: RealCluster): Promise<Map<string, string>> {
  const { items } = (await member.ok('/api/v1/pods')) as {
    items: { metadata: { namespace: string; name: string }; status: { podIP?: string } }[]
  }
  return new Map(
    items.map(({ metadata: { namespace, name }, status }) => [
      `nsip:${namespace}:${name}`,
      `${member.name} ${status.podIP ?? ''}`,
    ]),
  )
}

/**
 * `search/related` over a fleet of real clusters: Karmada's chain, owners, selectors, mounts; with the control plane's part of
 * the chain read from there as the caller, and then with the control plane as one of its own clusters.
 */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { installChain, memberMarks, propagate, type Propagated } from './karmada-chain.ts'
import { BASE, until, type KarmadaFleet } from './karmada-fleet.ts'
import type { RealCluster } from './real-parts/index.ts'

const SHOP: Propagated = { namespace: 'related', name: 'web', policy: 'spread', clusters: ['member1', 'member2'] }
/** What the control plane is called as such, and the name under which it is one of its own clusters. */
const UNREGISTERED = 'Karmada'
const REGISTERED = 'karmada'

const labels = { app: 'web' }
const DEPLOYMENT = {
  ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'nginx:1.29' }] } },
  },
}

interface RelatedItem {
  readonly relation: string
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly found: boolean
  readonly depth: number
}

/** `fleet` has members `member1`, whose pods are played by kwok, and `member2`. */
export function relatedSuite(fleetOf: () => KarmadaFleet): void {
  describe('related', () => {
    let fleet: KarmadaFleet
    before(async () => {
      fleet = fleetOf()
      const { host, members } = fleet
      await installChain(host)
      await fleet.register('related', { targetCluster: {}, resourceSelectors: MEMBER_KINDS })
      await host.ok('/api/v1/namespaces', { body: { metadata: { name: SHOP.namespace } } })
      await propagate(host, SHOP, DEPLOYMENT)
      for (const member of members) await deploy(member)
    })

    async function related(parameters: Record<string, string>, caller: { token?: string } = {}): Promise<string[]> {
      const query = new URLSearchParams({ namespace: SHOP.namespace, ...parameters })
      const answer = await fleet.host.request(`${BASE}/search/related?${query.toString()}`, caller)
      if (answer.status !== 200) return [answer.text]
      const { items } = answer.json() as { items: RelatedItem[] }
      return items.map(
        ({ relation, cluster, kind, name, found, depth }) =>
          `${depth} ${relation} ${cluster}/${kind}/${name}${found ? '' : ' ?'}`,
      )
    }

    /** Exactly these, once everything is indexed. */
    async function shows(
      parameters: Record<string, string>,
      expected: readonly string[],
      caller?: { token: string },
    ): Promise<void> {
      let shown: string[] = []
      const same = async (): Promise<boolean> => {
        shown = (await related(parameters, caller)).sort()
        return JSON.stringify(shown) === JSON.stringify(expected.toSorted())
      }
      await until(same, JSON.stringify(parameters)).catch(() => assert.deepEqual(shown, expected.toSorted()))
    }

    const inMember = (cluster: string, depth: number): string[] => [
      `${depth} owned ${cluster}/ReplicaSet/web-6d5`,
      `${depth} selects ${cluster}/Pod/web-6d5-x`,
    ]

    describe('the control plane as such', () => {
      chainSuite(UNREGISTERED)

      it('shows of the chain what it would tell the caller itself', async () => {
        const { host, members } = fleet
        const caller = { token: 'bob-token' }
        const seen = { cluster: 'member1', kind: 'Deployment', name: 'web' }
        const search = { apiGroups: ['search.karmada.io'], resources: ['search'], verbs: ['get'] }
        await allowBob(host, 'related-search', search)
        const deployments = { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] }
        await allowBob(members[0]!, 'related-objects', deployments)
        const [binding, policy, work] = [
          '1 binding /ResourceBinding/web-deployment ?',
          '1 policy /PropagationPolicy/spread ?',
          '1 work /Work/web-7c9f6d5b84 ?',
        ]
        await shows(seen, [binding, policy, work], caller)
        const start = { cluster: UNREGISTERED, kind: 'PropagationPolicy', name: 'spread' }
        assert.match((await related(start, caller)).join(), /not found/)
        const policies = { apiGroups: ['policy.karmada.io'], resources: ['propagationpolicies'], verbs: ['get'] }
        await allowBob(host, 'related-policies', policies)
        await shows(seen, [binding, `1 policy ${UNREGISTERED}/PropagationPolicy/spread`, work], caller)
        await shows(start, ['1 propagated member1/Deployment/web'], caller)
      })
    })

    describe('the control plane as one of its own clusters', () => {
      before(async () => {
        await fleet.join(fleet.host, { name: REGISTERED })
        await fleet.register('karmada', {
          targetCluster: { clusterNames: [REGISTERED] },
          resourceSelectors: CHAIN_KINDS,
        })
      })

      chainSuite(REGISTERED)
    })

    /** The same whoever has the control plane's part. */
    function chainSuite(host: string): void {
      it('a policy leads over binding and Works to the objects in members and their pods', async () => {
        await shows({ cluster: host, kind: 'PropagationPolicy', name: 'spread', depth: '3' }, [
          `1 propagated ${host}/ResourceBinding/web-deployment`,
          '1 propagated member1/Deployment/web',
          '1 propagated member2/Deployment/web',
          ...[1, 2].map(() => `2 propagated ${host}/Work/web-7c9f6d5b84`),
          ...inMember('member1', 2),
          ...inMember('member2', 2),
          ...['member1', 'member2'].flatMap((cluster) => [
            `3 mounts ${cluster}/ConfigMap/settings`,
            `3 selectedBy ${cluster}/Service/web`,
          ]),
          '3 refersTo member1/ServiceAccount/default ?',
          '3 refersTo member2/ServiceAccount/default ?',
          '3 runsOn member1/Node/node-1',
        ])
      })

      it('an object in a member leads back to its Work, binding and policy', async () => {
        for (const cluster of SHOP.clusters) {
          await shows({ cluster, kind: 'Deployment', name: 'web' }, [
            `1 binding ${host}/ResourceBinding/web-deployment`,
            `1 policy ${host}/PropagationPolicy/spread`,
            `1 work ${host}/Work/web-7c9f6d5b84`,
            ...inMember(cluster, 1),
          ])
        }
      })

      it('a binding and a Work lead both ways, a Work to its own cluster alone', async () => {
        await shows({ cluster: host, kind: 'ResourceBinding', name: 'web-deployment' }, [
          `1 policy ${host}/PropagationPolicy/spread`,
          ...[1, 2].map(() => `1 propagated ${host}/Work/web-7c9f6d5b84`),
          '1 propagated member1/Deployment/web',
          '1 propagated member2/Deployment/web',
        ])
        await shows({ cluster: host, kind: 'Work', namespace: 'karmada-es-member2', name: 'web-7c9f6d5b84' }, [
          `1 binding ${host}/ResourceBinding/web-deployment`,
          '1 propagated member2/Deployment/web',
        ])
      })
    }

    it('owners, selectors, mounts and the node, in its own cluster alone', async () => {
      await shows({ cluster: 'member1', kind: 'Pod', name: 'web-6d5-x' }, [
        '1 mounts member1/ConfigMap/settings',
        '1 owner member1/ReplicaSet/web-6d5',
        '1 refersTo member1/ServiceAccount/default ?',
        '1 runsOn member1/Node/node-1',
        '1 selectedBy member1/Deployment/web',
        '1 selectedBy member1/Service/web',
      ])
      await shows({ cluster: 'member2', kind: 'ConfigMap', name: 'settings' }, ['1 mountedBy member2/Pod/web-6d5-x'])
      await shows({ cluster: 'member2', kind: 'Service', name: 'web' }, ['1 selects member2/Pod/web-6d5-x'])
    })

    it('what goes is related no more', async () => {
      const at = `/api/v1/namespaces/${SHOP.namespace}/configmaps/settings`
      await fleet.members[1]!.ok(at, { method: 'DELETE' })
      await until(
        async () =>
          (await related({ cluster: 'member2', kind: 'Pod', name: 'web-6d5-x' })).includes(
            '1 mounts member2/ConfigMap/settings ?',
          ),
        'the end of a ConfigMap',
      )
    })
  })
}

const CHAIN_KINDS = [
  { apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy' },
  { apiVersion: 'work.karmada.io/v1alpha2', kind: 'ResourceBinding' },
  { apiVersion: 'work.karmada.io/v1alpha1', kind: 'Work' },
]
const MEMBER_KINDS = [
  { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'Service' },
]

async function allowBob(cluster: RealCluster, name: string, rule: object): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const apiGroup = 'rbac.authorization.k8s.io'
  const metadata = { name }
  await cluster.ok(`${rbac}/clusterroles`, { body: { metadata, rules: [rule] } })
  const roleRef = { apiGroup, kind: 'ClusterRole', name }
  await cluster.ok(`${rbac}/clusterrolebindings`, {
    body: { metadata, roleRef, subjects: [{ apiGroup, kind: 'User', name: 'team:bob' }] },
  })
}

/** With what a member's own controllers make of it, which do not run here. */
async function deploy(member: RealCluster): Promise<void> {
  const { namespace, name } = SHOP
  const core = `/api/v1/namespaces/${namespace}`
  const apps = `/apis/apps/v1/namespaces/${namespace}`
  await member.ok('/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  const owned = (kind: string, owner: { metadata: { name: string; uid: string } }, metadata: object): object => ({
    labels,
    ownerReferences: [{ apiVersion: 'apps/v1', kind, ...pick(owner.metadata), controller: true }],
    ...metadata,
  })
  await member.ok(`${core}/configmaps`, { body: { metadata: { name: 'settings' } } })
  const ports = [{ port: 80 }]
  await member.ok(`${core}/services`, { body: { metadata: { name }, spec: { selector: labels, ports } } })
  const deployment = await member.ok(`${apps}/deployments`, {
    body: { ...DEPLOYMENT, metadata: { name, ...memberMarks(SHOP, member.name) } },
  })
  const set = await member.ok(`${apps}/replicasets`, {
    body: { metadata: owned('Deployment', deployment, { name: 'web-6d5' }), spec: DEPLOYMENT.spec },
  })
  await member.ok(`${core}/pods`, {
    body: {
      metadata: owned('ReplicaSet', set, { name: 'web-6d5-x' }),
      spec: {
        ...(member.name === 'member1' ? { nodeName: 'node-1' } : {}),
        serviceAccountName: 'default',
        automountServiceAccountToken: false,
        containers: [{ name: 'app', image: 'nginx:1.29', envFrom: [{ configMapRef: { name: 'settings' } }] }],
      },
    },
  })
}

const pick = ({ name, uid }: { name: string; uid: string }) => ({ name, uid })

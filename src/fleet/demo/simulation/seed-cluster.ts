/** What stands in a cluster before any application: nodes, classes, rights, custom kinds, the API server's own Service. */
import type { App } from '../catalogue/app.ts'
import { CUSTOM_KINDS } from '../catalogue/custom-kinds.ts'
import * as config from '../objects/config.ts'
import { clusterIssuer } from '../objects/custom.ts'
import { customType, definition } from '../objects/definition.ts'
import { ingressClass, kubernetesService, networkPolicy } from '../objects/network.ts'
import { csiNode, node, nodeLease } from '../objects/node.ts'
import { csiDriver, isLocal, storageClass } from '../objects/storage.ts'
import { rfc3339, rfc3339Micro } from '../timestamp.ts'
import type { Context } from './context.ts'

const DAY_MS = 86_400_000

/** How old the cluster is. */
export const CLUSTER_AGE_MS = 412 * DAY_MS

export function seedCluster(context: Context): void {
  const bornMs = context.nowMs() - CLUSTER_AGE_MS
  for (const kind of CUSTOM_KINDS) {
    context.store.register(customType(kind))
    context.put(definition(kind, bornMs + DAY_MS))
  }
  seedNodes(context)
  seedClasses(context, bornMs)
  seedRights(context, bornMs)
  for (const [name, team] of namespacesOf(context.apps)) seedNamespace(context, name, team, bornMs)
  context.put(kubernetesService(context.cluster, bornMs))
  for (const name of ['kube-controller-manager', 'kube-scheduler']) seedElection(context, name, bornMs)
}

/** Namespace → the team that owns it; empty for the system's. */
export function namespacesOf(apps: readonly App[]): Map<string, string> {
  const system = ['default', 'kube-system', 'kube-public', 'kube-node-lease']
  const namespaces = new Map(system.map((name) => [name, '']))
  for (const { namespace, team } of apps) if (!namespaces.has(namespace)) namespaces.set(namespace, team)
  return namespaces
}

function seedNodes(context: Context): void {
  const { cluster, scheduler, random } = context
  const nowMs = context.nowMs()
  const images = [...new Set(context.apps.map((app) => `${app.image}:${app.tag}`))]
  for (const { index, pool, zone, dead } of scheduler.nodes) {
    const createdMs = nowMs - random.int(9, 74) * DAY_MS - random.int(0, DAY_MS)
    const some = images.filter(() => random.chance(0.3))
    const made = context.put(node({ cluster, pool, index, zone, createdMs, nowMs, images: some }, random))
    context.put(nodeLease(made, nowMs - (dead ? 3 * 3_600_000 : random.int(0, 10_000))))
    context.put(csiNode(made, cluster))
  }
}

function seedClasses(context: Context, bornMs: number): void {
  const { cluster } = context
  context.put(storageClass(cluster, bornMs))
  if (!isLocal(cluster)) context.put(csiDriver(cluster, bornMs))
  context.put(ingressClass(bornMs + DAY_MS))
  context.put(clusterIssuer(bornMs + DAY_MS))
  for (const [name, value] of Object.entries(config.PRIORITIES)) context.put(config.priorityClass(name, value, bornMs))
}

const READ = ['get', 'list', 'watch']
const WRITE = ['create', 'delete', 'patch', 'update']

function seedRights(context: Context, bornMs: number): void {
  const everything = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }
  const workloads = { apiGroups: ['', 'apps', 'batch', 'autoscaling'], resources: ['*'], verbs: [...READ, ...WRITE] }
  const viewer = { apiGroups: ['', 'apps', 'batch', 'networking.k8s.io'], resources: ['*'], verbs: READ }
  context.put(config.role('cluster-admin', undefined, [everything], bornMs))
  context.put(config.role('edit', undefined, [workloads], bornMs))
  context.put(config.role('view', undefined, [viewer], bornMs))
  const admins = { kind: 'ClusterRole', name: 'cluster-admin' } as const
  context.put(config.roleBinding('cluster-admin', undefined, admins, config.group('system:masters'), bornMs))
  context.put(
    config.roleBinding('platform-admins', undefined, admins, config.group('aurora:platform'), bornMs + DAY_MS),
  )
  const view = { kind: 'ClusterRole', name: 'view' } as const
  context.put(config.roleBinding('engineers-view', undefined, view, config.group('aurora:engineers'), bornMs + DAY_MS))
}

function seedNamespace(context: Context, name: string, team: string, bornMs: number): void {
  const { random } = context
  const createdMs = name.startsWith('kube-') || name === 'default' ? bornMs : bornMs + random.int(1, 60) * DAY_MS
  context.put(config.namespace(name, team, createdMs))
  context.put(config.serviceAccount('default', name, createdMs))
  const ca = '-----BEGIN CERTIFICATE-----\nMIIB' + random.hex(56) + '\n-----END CERTIFICATE-----\n'
  context.put(config.configMap('kube-root-ca.crt', name, { 'ca.crt': ca }, createdMs))
  if (team === '') return
  context.put(config.pullSecret(name, createdMs, random))
  if (team === 'platform') return
  context.put(config.limitRange(name, createdMs))
  context.put(networkPolicy(name, createdMs))
  const rules = [
    { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: READ },
    { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: [...READ, 'patch'] },
  ]
  context.put(config.role('on-call', name, rules, createdMs))
  const onCall = { kind: 'Role', name: 'on-call' } as const
  context.put(config.roleBinding('on-call', name, onCall, config.group('aurora:on-call'), createdMs))
  const edit = { kind: 'ClusterRole', name: 'edit' } as const
  context.put(config.roleBinding(`${team}-edit`, name, edit, config.group(`aurora:${team}`), createdMs))
}

function seedElection(context: Context, name: string, bornMs: number): void {
  const holderIdentity = `control-plane-0_${context.random.uuid()}`
  const renewTime = rfc3339Micro(context.nowMs())
  context.put({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'kube-system', creationTimestamp: rfc3339(bornMs) },
    spec: {
      holderIdentity,
      leaseDurationSeconds: 15,
      acquireTime: rfc3339Micro(bornMs + 300 * DAY_MS),
      renewTime,
      leaseTransitions: 4,
    },
  })
}

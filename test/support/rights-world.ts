/**
 * Two real members with equal objects, and the whole service over them with rights as their members have them. Requests to
 * either are made as anybody: by headers of the test's own to us, impersonated by an administrator to the members.
 */
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { FleetRights } from '../../src/rights/fleet-rights.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'
import { startControlPlane, type RealCluster } from './real-parts/index.ts'
import { createTestClient, type TestResponse } from './real-parts/http.ts'
import { eventually, startWholeService, type WholeService } from './whole-service.ts'

export const BASE = '/apis/search.karmada.io/v1alpha1'
export const MEMBERS = ['east', 'west'] as const
export const NAMESPACES = ['ns1', 'ns2', 'ns3'] as const
export const NAMES = ['a', 'b', 'c'] as const

export interface Kind {
  readonly group: string
  readonly resource: string
  readonly kind: string
  readonly namespaced: boolean
  /** `/api/v1` or `/apis/<group>/<version>`. */
  readonly root: string
}

const kind = (group: string, resource: string, name: string, namespaced: boolean): Kind => ({
  group,
  resource,
  kind: name,
  namespaced,
  root: group === '' ? '/api/v1' : `/apis/${group}/v1`,
})

/** Registered, and of each some objects. */
export const KINDS: readonly Kind[] = [
  kind('', 'configmaps', 'ConfigMap', true),
  kind('', 'secrets', 'Secret', true),
  kind('apps', 'deployments', 'Deployment', true),
  kind('', 'namespaces', 'Namespace', false),
  kind('', 'nodes', 'Node', false),
  kind('scheduling.k8s.io', 'priorityclasses', 'PriorityClass', false),
]

export interface Caller {
  readonly name: string
  readonly groups: readonly string[]
}

export interface RightsWorld {
  readonly members: readonly RealCluster[]
  readonly service: WholeService
  readonly rights: FleetRights
  /** Asks us. */
  ours(caller: Caller, path: string, signal?: AbortSignal, accept?: string): Promise<TestResponse>
  /** Asks a member. */
  theirs(member: RealCluster, caller: Caller, path: string, signal?: AbortSignal): Promise<TestResponse>
  stop(): Promise<void>
}

/** Leaves nothing behind where it fails. */
export async function startRightsWorld(): Promise<RightsWorld> {
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.toReversed()) await each()
  }
  try {
    return await start(stops, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(stops: (() => Promise<void>)[], stop: () => Promise<void>): Promise<RightsWorld> {
  const members = await Promise.all(MEMBERS.map((name) => startControlPlane({ name })))
  stops.push(async () => void (await Promise.all(members.map((member) => member.stop()))))
  await Promise.all(members.map(fill))
  let rights: FleetRights | undefined
  const service = await startWholeService({
    authenticate: ({ headers }) => callerOf(headers),
    rights: ({ fleet, metrics }) => {
      const logger = createLogger('silent')
      rights = new FleetRights({ fleet, metrics, clock: systemClock, random: systemRandom, logger })
      return rights
    },
  })
  stops.push(() => service.stop())
  for (const member of members) join(service, member)
  await service.register('all', ...KINDS.map(({ root, kind: name }) => `${root.replace(/^\/apis?\//, '')}/${name}`))
  const clients = new Map(
    members.map(({ name, url, caPem, adminToken }) => [
      name,
      createTestClient({ url, caPem, token: adminToken, http2: false }),
    ]),
  )
  stops.push(async () => void (await Promise.all([...clients.values()].map((client) => client.close()))))
  const admin = { name: 'admin', groups: ['system:masters'] }
  const ours: RightsWorld['ours'] = (caller, path, signal, accept) =>
    service.request(path, {
      headers: {
        'x-test-user': encodeURIComponent(caller.name),
        'x-test-groups': encodeURIComponent(JSON.stringify(caller.groups)),
        ...(accept === undefined ? {} : { accept }),
      },
      ...(signal === undefined ? {} : { signal }),
    })
  await eventually(
    async () => {
      const counts = await Promise.all(
        KINDS.map(async ({ root, resource }) => {
          const { status, json } = await ours(admin, `${BASE}/search/cache${root}/${resource}`)
          return status === 200 ? (json() as { items: unknown[] }).items.length : 0
        }),
      )
      return counts.every((count) => count >= MEMBERS.length * NAMES.length)
    },
    'objects of all members',
    60_000,
  )
  await eventually(async () => {
    const { json } = await ours(admin, `${BASE}/search/query?q=kind:(ConfigMap,PriorityClass)%20name:(a,b,c)`)
    return (json() as { total: number }).total === MEMBERS.length * (NAMESPACES.length + 1) * NAMES.length
  }, 'the index')
  return {
    members,
    service,
    rights: rights as unknown as FleetRights,
    ours,
    theirs(member, caller, path, signal) {
      const client = clients.get(member.name)
      if (client === undefined) throw new Error(`no member ${member.name}`)
      return client.request(path, { headers: impersonation(caller), ...(signal === undefined ? {} : { signal }) })
    },
    stop,
  }
}

function callerOf(headers: Readonly<Record<string, string | string[] | undefined>>): UserInfo {
  const name = decodeURIComponent(String(headers['x-test-user'] ?? 'admin'))
  const groups = JSON.parse(decodeURIComponent(String(headers['x-test-groups'] ?? '["system:masters"]'))) as string[]
  return { name, uid: '', groups: [...groups, 'system:authenticated'], extra: {} }
}

function impersonation({ name, groups }: Caller): Record<string, string | string[]> {
  const wire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
  return { 'impersonate-user': wire(name), ...(groups.length === 0 ? {} : { 'impersonate-group': groups.map(wire) }) }
}

function join(service: WholeService, member: RealCluster): void {
  const { name, url, caPem, adminToken } = member
  const credentials = {
    current: () => Promise.resolve({ tls: { ca: caPem }, headers: { authorization: `Bearer ${adminToken}` } }),
  }
  const client = createMemberClient({ server: url, credentials, qps: 0, clock: systemClock })
  const facts = { name: name as ClusterName, uid: `uid-${name}`, labels: {}, provider: '', region: '', zones: [] }
  service.service.fleet.engage({ ...facts, ready: true }, client)
}

/** Objects of equal names in both members, and one in each that the other lacks. */
async function fill(member: RealCluster): Promise<void> {
  for (const name of NAMESPACES) await member.ok('/api/v1/namespaces', { body: { metadata: { name } } })
  for (const each of KINDS) {
    if (each.resource === 'namespaces') continue
    const paths = each.namespaced ? NAMESPACES.map((ns) => `${each.root}/namespaces/${ns}`) : [each.root]
    const names = [...NAMES, `only-${member.name}`]
    await Promise.all(
      paths.flatMap((path) => names.map((name) => member.ok(`${path}/${each.resource}`, { body: bodyOf(each, name) }))),
    )
  }
}

function bodyOf({ kind: name, root }: Kind, objectName: string): object {
  const labels = { app: objectName }
  const head = { apiVersion: root.replace(/^\/apis?\//, ''), kind: name, metadata: { name: objectName, labels } }
  switch (name) {
    case 'Deployment': {
      const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx:1.29' }] } }
      return { ...head, spec: { replicas: 0, selector: { matchLabels: labels }, template } }
    }
    case 'PriorityClass':
      return { ...head, value: 1000 }
    default:
      return head
  }
}

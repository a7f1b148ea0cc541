/**
 * Two real members with equal objects, and the whole service over them with rights as their members have them. Requests to
 * either are made as anybody: by headers of the test's own to us, impersonated by an administrator to the members.
 */
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import { FleetRights } from '../../src/rights/fleet-rights.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'
import { facts } from './cluster-facts.ts'
import { startControlPlane, startSearchEngine, type RealCluster, type SearchEngineName } from './real-parts/index.ts'
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
  kind('', 'services', 'Service', true),
  kind('discovery.k8s.io', 'endpointslices', 'EndpointSlice', true),
  kind('', 'pods', 'Pod', true),
]

/** A node that pods named `c` say they run on, and that there is not. */
export const GHOST = 'ghost'

/** What a rule may be about by name. */
export const RULE_NAMES = [...NAMES, ...NAMESPACES, 'only-east', GHOST]

export interface Caller {
  readonly name: string
  readonly groups: readonly string[]
}

/** An object as its member has it. */
export interface WorldObject {
  readonly cluster: string
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  // Tests look into objects of any kind.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly object: any
}

export interface RightsWorld {
  /** Everything of the registered kinds, by `cluster/kind/namespace/name`. Nothing of it changes. */
  readonly objects: ReadonlyMap<string, WorldObject>
  /** Which passthrough answers; undefined: no engine. */
  readonly engine: 'opensearch' | 'elasticsearch' | undefined
  readonly members: readonly RealCluster[]
  readonly service: WholeService
  readonly rights: FleetRights
  /** Asks us. */
  ours(caller: Caller, path: string, signal?: AbortSignal, accept?: string): Promise<TestResponse>
  /** Asks a member. */
  theirs(member: RealCluster, caller: Caller, path: string, signal?: AbortSignal): Promise<TestResponse>
  stop(): Promise<void>
}

/** The registry's documents go to `engine` as well. Leaves nothing behind where it fails. */
export async function startRightsWorld(engine?: SearchEngineName): Promise<RightsWorld> {
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.toReversed()) await each()
  }
  try {
    return await start(engine, stops, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(
  engineName: SearchEngineName | undefined,
  stops: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<RightsWorld> {
  const engine = engineName === undefined ? undefined : await startSearchEngine(engineName)
  stops.push(async () => engine?.stop())
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
  const passthrough = engineName?.startsWith('elasticsearch') === true ? 'elasticsearch' : 'opensearch'
  const store = passthrough === 'opensearch' ? 'openSearch' : passthrough
  await service.ok(`${BASE}/resourceregistries`, {
    body: {
      ...{ apiVersion: 'search.karmada.io/v1alpha1', kind: 'ResourceRegistry', metadata: { name: 'all' } },
      spec: {
        targetCluster: {},
        resourceSelectors: KINDS.map((each) => ({ apiVersion: apiVersionOf(each), kind: each.kind })),
        ...(engine === undefined ? {} : { backendStore: { [store]: { addresses: [engine.url] } } }),
      },
    },
  })
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
  const objects = await objectsOf(members)
  await eventually(async () => {
    const { text } = await ours(admin, `${BASE}/search/lookup?key=${lookupKeys()}`)
    return !text.includes('"waiting"') && text.includes('"nodeGone"')
  }, 'addresses of pods')
  if (engine !== undefined) {
    await eventually(
      async () => {
        const { status, json } = await ours(admin, `${BASE}/search/${passthrough}/kubernetes-*/_count`)
        return status === 200 && (json() as { count: number }).count >= objects.size
      },
      'documents in the engine',
      120_000,
    )
  }
  return {
    objects,
    engine: engine === undefined ? undefined : passthrough,
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
  service.service.fleet.engage(facts(name), client)
}

/** Of `search/lookup`: every pod that there may be. */
export function lookupKeys(): string {
  const names = [...NAMES, 'only-east', 'only-west', 'gone']
  return NAMESPACES.flatMap((namespace) => names.map((name) => `nsip:${namespace}:${name}`)).join(',')
}

async function objectsOf(members: readonly RealCluster[]): Promise<Map<string, WorldObject>> {
  const lists = await Promise.all(
    members.flatMap((member) =>
      KINDS.map(async (each): Promise<WorldObject[]> => {
        const { items } = (await member.ok(`${each.root}/${each.resource}`)) as {
          items: { metadata: { namespace?: string; name: string } }[]
        }
        return items.map((object) => {
          const { namespace = '', name } = object.metadata
          return { cluster: member.name, kind: each, namespace, name, object }
        })
      }),
    ),
  )
  return new Map(lists.flat().map((each) => [`${each.cluster}/${each.kind.kind}/${each.namespace}/${each.name}`, each]))
}

function apiVersionOf({ root }: Kind): string {
  return root.replace(/^\/apis?\//, '')
}

const STATUS = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } }

/** Objects of equal names, and pods of equal addresses, in both members, and one in each that the other lacks. */
async function fill(member: RealCluster): Promise<void> {
  for (const name of NAMESPACES) await member.ok('/api/v1/namespaces', { body: { metadata: { name } } })
  for (const each of KINDS) {
    if (each.resource === 'namespaces') continue
    const paths = each.namespaced ? NAMESPACES.map((ns) => `${each.root}/namespaces/${ns}`) : [each.root]
    const names = [...NAMES, `only-${member.name}`]
    for (const [i, path] of paths.entries()) {
      await Promise.all(
        names.map(async (name, j) => {
          const body = await bodyOf(member, each, { path, name, ip: `10.${i}.0.${j + 1}` })
          await member.ok(`${path}/${each.resource}`, { body })
          const status = statusOf(each, name, j, `10.${i}.0.${j + 1}`)
          if (status === undefined) return
          await member.ok(`${path}/${each.resource}/${name}/status`, { ...STATUS, body: JSON.stringify({ status }) })
        }),
      )
    }
  }
}

/** A node's address is that of all its pods' hosts. */
const nodeIp = (index: number): string => `10.200.0.${index + 1}`

function statusOf({ kind: name }: Kind, objectName: string, index: number, ip: string): object | undefined {
  const hostIP = nodeIp(index)
  if (name === 'Node') return { addresses: [{ type: 'InternalIP', address: hostIP }] }
  if (name !== 'Pod') return undefined
  return {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    ...(objectName === 'c' ? {} : { hostIP, hostIPs: [{ ip: hostIP }] }),
  }
}

interface Place {
  /** The root of its API, or of its namespace. */
  readonly path: string
  readonly name: string
  readonly ip: string
}

async function bodyOf(member: RealCluster, kind: Kind, { path, name: objectName, ip }: Place): Promise<object> {
  const labels = { app: objectName }
  const head = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name: objectName, labels } }
  switch (kind.kind) {
    case 'Service':
      return { ...head, spec: { selector: labels, ports: [{ port: 80 }] } }
    case 'EndpointSlice':
      return {
        ...{ ...head, metadata: { ...head.metadata, labels: { 'kubernetes.io/service-name': objectName } } },
        ...{ addressType: 'IPv4', endpoints: [{ addresses: [ip] }] },
      }
    case 'Pod': {
      const deployment = await member.ok(`${path.replace('/api/v1', '/apis/apps/v1')}/deployments/${objectName}`)
      const { uid } = (deployment as { metadata: { uid: string } }).metadata
      const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: objectName, uid }
      return {
        ...{ ...head, metadata: { ...head.metadata, ownerReferences: [owner] } },
        spec: {
          nodeName: objectName === 'c' ? GHOST : objectName,
          priorityClassName: objectName,
          automountServiceAccountToken: false,
          containers: [{ name: 'main', image: 'nginx:1.29', envFrom: [{ configMapRef: { name: objectName } }] }],
          volumes: [{ name: 'b', secret: { secretName: 'b' } }],
        },
      }
    }
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

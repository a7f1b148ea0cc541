/** Whose an address is: pods, nodes, Services, endpoints, load balancers, by where it stands in the object. */
import { parseObject } from '../http/selection.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import { isObject } from '../kube/columns/read.ts'
import { IP, sortableIp } from '../query/sortable.ts'
import { ipForms, type IpForms } from './ip-forms.ts'
import { foundObjects } from './found-object.ts'
import { asked, visibleOf, type SearchCall } from './search-call.ts'

export type IpRole = 'pod' | 'node' | 'service' | 'externalIP' | 'endpoint' | 'loadBalancer' | 'other'

export interface IpOwner {
  readonly role: IpRole
  readonly cluster: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** Where in the object: `.status.podIP`. */
  readonly paths: readonly string[]
}

const MAX_OWNERS = 200

/** `more`: there are more than 200 objects that have the address. Pods are not told for the address of their node. */
export async function ownersOf(
  call: SearchCall,
  ip: string,
  clusters: readonly string[] | undefined,
): Promise<{ owners: IpOwner[]; more: boolean }> {
  const forms = ipForms(ip)
  const of = (clusters ?? []).map((value) => ({ type: 'exact' as const, path: 'cluster', value }))
  const wanted = [hasAddress(forms), notHosted(forms)]
  const children = clusters === undefined ? wanted : [...wanted, { type: 'or' as const, children: of }]
  const result = await asked(() =>
    call.parts.store.search({
      predicate: { type: 'and', children },
      ...visibleOf(call),
      ranked: [],
      sort: [],
      limit: MAX_OWNERS,
      facets: [],
    }),
  )
  const objects = foundObjects(call.parts)
  const owners: IpOwner[] = []
  for (const hit of result.hits) {
    const object = await objects.of(hit)
    if (object === undefined) continue
    const paths = pathsOf(parseObject(object.bytes), forms.keys)
    const roles = Map.groupBy(paths, (path) => roleOf(hit.kind, path))
    roles.delete('host')
    for (const [role, places] of roles as Map<IpRole, string[]>) {
      const { cluster, kind, namespace, name, uid } = hit
      owners.push({ role, cluster, kind, namespace, name, uid, paths: [...new Set(places)] })
    }
  }
  return { owners, more: result.more }
}

function hasAddress({ keys }: IpForms) {
  const children = keys.map((key) => ({ type: 'compare', path: 'ip', comparison: '=', mark: IP, key }) as const)
  return { type: 'or', children } as const
}

/**
 * A node's address stands in each of its pods as `hostIP`: those whose own it is not are left out by the store where they
 * write it in a usual form, else by what is read of them.
 */
function notHosted({ texts }: IpForms) {
  const stands = (...paths: string[]) =>
    paths.flatMap((path) => texts.map((value) => ({ type: 'exact', path, value }) as const))
  const hosted = { type: 'or', children: stands('.status.hostip', '.status.hostips.ip') } as const
  return {
    type: 'or',
    children: [{ type: 'not', child: hosted }, ...stands('.status.podip', '.status.podips.ip')],
  } as const
}

function pathsOf(object: JsonObject, keys: readonly string[]): string[] {
  const found: string[] = []
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'string' && keys.includes(sortableIp(value) ?? '')) found.push(path)
    else if (Array.isArray(value)) for (const item of value) walk(item, path)
    else if (isObject(value)) for (const [name, child] of Object.entries(value)) walk(child, `${path}.${name}`)
  }
  walk(
    { spec: object['spec'], status: object['status'], subsets: object['subsets'], endpoints: object['endpoints'] },
    '',
  )
  return found
}

function roleOf(kind: string, path: string): IpRole | 'host' {
  if (/^\.status\.loadBalancer\.|\.loadBalancerIP$/.test(path)) return 'loadBalancer'
  if (/^\.status\.hostIPs?(\.ip)?$/.test(path)) return 'host'
  if (kind === 'Pod' && /^\.status\.podIPs?(\.ip)?$/.test(path)) return 'pod'
  if (kind === 'Node' && path.startsWith('.status.addresses')) return 'node'
  if (kind === 'Service' && /^\.spec\.clusterIPs?$/.test(path)) return 'service'
  if (path === '.spec.externalIPs') return 'externalIP'
  if ((kind === 'EndpointSlice' || kind === 'Endpoints') && /ddresses/.test(path)) return 'endpoint'
  return 'other'
}

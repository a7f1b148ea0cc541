/** What the usual subresources look like in discovery: a member's discovery is kept with their names alone. */
import type { DiscoveredResource } from '../../fleet/discovery/discovered.ts'
import type { GroupVersionKind } from '../../kube/group-version.ts'

export interface SubresourceShape {
  readonly name: string
  readonly responseKind: GroupVersionKind
  readonly verbs: readonly string[]
}

const CONNECT = ['create', 'get']
const READ_WRITE = ['get', 'patch', 'update']

type Shape = readonly [kind: string, verbs: readonly string[], group?: string, version?: string]

/** Source: kube-apiserver's own discovery; `kind` empty means the parent's. */
const SHAPES: Readonly<Record<string, Shape>> = {
  status: ['', READ_WRITE],
  finalize: ['', ['update']],
  approval: ['', READ_WRITE],
  ephemeralcontainers: ['', READ_WRITE],
  resize: ['', READ_WRITE],
  log: ['', ['get']],
  scale: ['Scale', READ_WRITE, 'autoscaling', 'v1'],
  eviction: ['Eviction', ['create'], 'policy', 'v1'],
  binding: ['Binding', ['create'], '', 'v1'],
  token: ['TokenRequest', ['create'], 'authentication.k8s.io', 'v1'],
  exec: ['PodExecOptions', CONNECT, '', 'v1'],
  attach: ['PodAttachOptions', CONNECT, '', 'v1'],
  portforward: ['PodPortForwardOptions', CONNECT, '', 'v1'],
}

const PROXY_VERBS = ['create', 'delete', 'get', 'patch', 'update']
const PROXY_KINDS: Readonly<Record<string, string>> = {
  nodes: 'NodeProxyOptions',
  pods: 'PodProxyOptions',
  services: 'ServiceProxyOptions',
}

export function subresourceShapes(resource: DiscoveredResource): SubresourceShape[] {
  const shapes = resource.subresources.map((name) => shapeOf(resource, name))
  if (resource.readOnly !== true) return shapes
  return shapes
    .map((shape) => ({ ...shape, verbs: shape.verbs.filter((verb) => verb === 'get') }))
    .filter(({ verbs }) => verbs.length > 0)
}

function shapeOf({ group, version, kind, resource }: DiscoveredResource, name: string): SubresourceShape {
  if (name === 'proxy') {
    const proxyKind = PROXY_KINDS[resource] ?? kind
    return { name, responseKind: { group: '', version: 'v1', kind: proxyKind }, verbs: PROXY_VERBS }
  }
  const [own = '', verbs = ['get'], ownGroup = group, ownVersion = version] = SHAPES[name] ?? []
  const responseKind = own === '' ? { group, version, kind } : { group: ownGroup, version: ownVersion, kind: own }
  return { name, responseKind, verbs }
}

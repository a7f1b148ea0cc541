/** Services and what they point at, Ingresses, network policies, addresses. */
import type { JsonObject, KindColumns } from './column.ts'
import { ageColumn, column, extra, labelMapColumn, nameColumn } from './define.ts'
import { loadBalancerAddresses, selectorCell, withMore } from './format.ts'
import { at, has, integer, isObject, items, optionalText, text, texts } from './read.ts'

/** So many endpoints, ports and hosts are written out. */
const SHOWN = 3

export const service: KindColumns = {
  columns: [
    nameColumn,
    column('Type', (service) => text(service, 'spec', 'type'), { description: 'How it is made reachable.' }),
    column('Cluster-IP', clusterIp, { description: 'Its address inside the cluster.' }),
    column('External-IP', (service) => externalIp(service), { description: 'Its addresses outside of the cluster.' }),
    column('Port(s)', servicePorts, { description: 'Ports, node ports and protocols.' }),
    ageColumn,
    labelMapColumn('Selector', ['spec', 'selector'], { description: 'Labels of the pods behind it.', wide: true }),
  ],
  extra: [extra('headless', 'bool', (service) => clusterIp(service) === 'None')],
}

export const endpoints: KindColumns = {
  columns: [
    nameColumn,
    column('Endpoints', endpointsCell, { description: 'Addresses and ports behind the service.' }),
    ageColumn,
  ],
}

export const endpointSlice: KindColumns = {
  columns: [
    nameColumn,
    column('AddressType', (slice) => text(slice, 'addressType'), { description: 'What its addresses are.' }),
    column('Ports', (slice) => withMore(items(slice, 'ports').map(endpointPort), SHOWN) || '<unset>', {
      description: 'Ports of its endpoints.',
    }),
    column('Endpoints', (slice) => withMore(items(slice, 'endpoints').flatMap(addresses), SHOWN) || '<unset>', {
      description: 'Addresses of its endpoints.',
    }),
    ageColumn,
  ],
}

export const ingress: KindColumns = {
  columns: [
    nameColumn,
    column('Class', (ingress) => optionalText(ingress, 'spec', 'ingressClassName') ?? '<none>', {
      description: 'Which IngressClass serves it.',
    }),
    column('Hosts', hosts, { description: 'Host names it answers to.' }),
    column('Address', (ingress) => loadBalancerAddresses(loadBalancer(ingress)).join(','), {
      description: 'Addresses of the load balancer.',
    }),
    column('Ports', (ingress) => (items(ingress, 'spec', 'tls').length === 0 ? '80' : '80, 443'), {
      description: 'Ports it listens on.',
    }),
    ageColumn,
  ],
}

export const ingressClass: KindColumns = {
  columns: [
    { ...nameColumn, cell: ingressClassName },
    column('Controller', (ingressClass) => text(ingressClass, 'spec', 'controller'), {
      description: 'Which controller serves Ingresses of this class.',
    }),
    column('Parameters', parameters, { description: 'The object that configures it.' }),
    ageColumn,
  ],
}

export const networkPolicy: KindColumns = {
  columns: [
    nameColumn,
    column('Pod-Selector', (policy) => selectorCell(at(policy, 'spec', 'podSelector')), {
      description: 'Which pods it applies to.',
    }),
    ageColumn,
  ],
}

export const serviceCidr: KindColumns = {
  columns: [
    nameColumn,
    column('CIDRs', (cidr) => texts(cidr, 'spec', 'cidrs').join(','), { description: 'Ranges of service addresses.' }),
    ageColumn,
  ],
}

/** A kube-apiserver 1.36 writes a third cell (the age) below no header; a client that reads by header never sees it. */
export const ipAddress: KindColumns = {
  columns: [nameColumn, column('ParentRef', parentRef, { description: 'What the address was given to.' })],
}

function clusterIp(service: JsonObject): string {
  return texts(service, 'spec', 'clusterIPs')[0] ?? (text(service, 'spec', 'clusterIP') || '<none>')
}

const loadBalancer = (object: JsonObject): readonly JsonObject[] => items(object, 'status', 'loadBalancer', 'ingress')

function externalIp(service: JsonObject): string {
  const fixed = texts(service, 'spec', 'externalIPs')
  switch (text(service, 'spec', 'type')) {
    case 'ClusterIP':
    case 'NodePort':
      return fixed.join(',') || '<none>'
    case 'LoadBalancer':
      return [...loadBalancerAddresses(loadBalancer(service)), ...fixed].join(',') || '<pending>'
    case 'ExternalName':
      return text(service, 'spec', 'externalName')
    default:
      return '<unknown>'
  }
}

function servicePorts(service: JsonObject): string {
  const ports = items(service, 'spec', 'ports').map((port) => {
    const nodePort = integer(port, 'nodePort')
    const number = `${String(integer(port, 'port'))}${nodePort > 0 ? `:${String(nodePort)}` : ''}`
    return `${number}/${text(port, 'protocol')}`
  })
  return ports.join(',') || '<none>'
}

function endpointsCell(object: JsonObject): string {
  const subsets = items(object, 'subsets')
  if (subsets.length === 0) return '<none>'
  return withMore(subsets.flatMap(subsetAddresses), SHOWN)
}

function subsetAddresses(subset: JsonObject): string[] {
  const ips = items(subset, 'addresses').map((address) => text(address, 'ip'))
  const ports = items(subset, 'ports')
  if (ports.length === 0) return ips
  return ports.flatMap((port) =>
    ips.map((ip) => `${ip.includes(':') ? `[${ip}]` : ip}:${String(integer(port, 'port'))}`),
  )
}

function endpointPort(port: JsonObject): string {
  if (has(port, 'port')) return String(integer(port, 'port'))
  return optionalText(port, 'name') ?? '*'
}

const addresses = (endpoint: JsonObject): readonly string[] => texts(endpoint, 'addresses')

function hosts(ingress: JsonObject): string {
  const rules = items(ingress, 'spec', 'rules')
  const names: string[] = []
  let more = false
  for (const rule of rules) {
    const host = text(rule, 'host')
    if (names.length === SHOWN) more = true
    else if (host !== '') names.push(host)
  }
  if (names.length === 0) return '*'
  // Rules are counted, with and without a host, as a kube-apiserver does.
  return more ? `${names.join(',')} + ${String(rules.length - SHOWN)} more...` : names.join(',')
}

function ingressClassName(ingressClass: JsonObject): string {
  const name = text(ingressClass, 'metadata', 'name')
  const isDefault =
    at(ingressClass, 'metadata', 'annotations', 'ingressclass.kubernetes.io/is-default-class') === 'true'
  return isDefault ? `${name} (default)` : name
}

function parameters(ingressClass: JsonObject): string {
  const reference = at(ingressClass, 'spec', 'parameters')
  if (!isObject(reference)) return '<none>'
  const group = optionalText(reference, 'apiGroup')
  return `${text(reference, 'kind')}${group === undefined ? '' : `.${group}`}/${text(reference, 'name')}`
}

function parentRef(address: JsonObject): string {
  const parent = at(address, 'spec', 'parentRef')
  if (!isObject(parent)) return '<none>'
  const group = text(parent, 'group')
  const resource = `${text(parent, 'resource')}${group === '' ? '' : `.${group}`}`.toLowerCase()
  const namespace = text(parent, 'namespace')
  return [resource, ...(namespace === '' ? [] : [namespace]), text(parent, 'name')].join('/')
}

/** Services, their Endpoints and EndpointSlices, Ingresses, NetworkPolicies. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { App } from '../catalogue/app.ts'
import type { ClusterPlan } from '../catalogue/clusters.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import { isReady, ownerReference, type KubeObject, type Pod } from './kinds.ts'
import { appLabels, portName, selectorLabels } from './template.ts'

export interface Service extends KubeObject {
  readonly spec: JsonObject & {
    readonly selector?: Readonly<Record<string, string>>
    readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[]
  }
}

export function service(
  app: App,
  cluster: ClusterPlan,
  createdMs: number,
  address: string,
  random: SeededRandom,
): Service {
  const headless = app.service === 'Headless'
  const balanced = app.service === 'LoadBalancer'
  const clusterIP = headless ? 'None' : address
  const nodePort = balanced ? { nodePort: random.int(30_000, 32_767) } : {}
  const port = {
    name: portName(app),
    protocol: 'TCP',
    port: balanced ? 443 : (app.port ?? 80),
    targetPort: portName(app),
    ...nodePort,
  }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      creationTimestamp: rfc3339(createdMs),
      labels: appLabels(app),
      ...(balanced ? { finalizers: ['service.kubernetes.io/load-balancer-cleanup'] } : {}),
    },
    spec: {
      ports: [port],
      selector: selectorLabels(app),
      clusterIP,
      clusterIPs: [clusterIP],
      type: balanced ? 'LoadBalancer' : 'ClusterIP',
      sessionAffinity: 'None',
      ...(headless ? { publishNotReadyAddresses: true } : {}),
      ...(balanced
        ? {
            externalTrafficPolicy: 'Local',
            healthCheckNodePort: random.int(30_000, 32_767),
            allocateLoadBalancerNodePorts: true,
          }
        : {}),
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    },
    status: { loadBalancer: balanced ? { ingress: [loadBalancerAddress(app, cluster, random)] } : {} },
  }
}

function loadBalancerAddress(app: App, cluster: ClusterPlan, random: SeededRandom): JsonObject {
  if (cluster.provider === 'aws') {
    return { hostname: `k8s-${app.namespace.slice(0, 8)}-${random.hex(10)}.elb.${cluster.region}.amazonaws.com` }
  }
  return { ip: `203.0.113.${cluster.octet}`, ipMode: 'VIP' }
}

/** The API server's own Service, which has no selector. */
export function kubernetesService(cluster: ClusterPlan, createdMs: number): Service {
  const address = `172.20.${cluster.octet}.1`
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      creationTimestamp: rfc3339(createdMs),
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: {
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 } as Service['spec']['ports'][number]],
      clusterIP: address,
      clusterIPs: [address],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    },
    status: { loadBalancer: {} },
  }
}

/** `pods` are those the Service selects. The slice's name is kept from `previous`. */
export function endpointSlice(
  owner: Service,
  pods: readonly Pod[],
  zoneOf: (node: string) => string,
  previous: KubeObject | undefined,
  random: SeededRandom,
): KubeObject {
  const { name, namespace = '', labels, creationTimestamp } = owner.metadata
  const reachable = pods.filter((pod) => pod.status.podIP !== undefined)
  const headless = owner.spec['clusterIP'] === 'None' ? { 'service.kubernetes.io/headless': '' } : {}
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: previous?.metadata.name ?? `${name}-${random.suffix()}`,
      generateName: `${name}-`,
      namespace,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      labels: {
        ...labels,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'kubernetes.io/service-name': name,
        ...headless,
      },
      ownerReferences: [ownerReference(owner)],
    },
    addressType: 'IPv4',
    endpoints: reachable.length === 0 ? null : reachable.map((pod) => endpoint(pod, zoneOf)),
    ports: owner.spec.ports.map(({ name: port, protocol }) => ({ name: port, protocol, port: targetPort(pods, port) })),
  }
}

function endpoint(pod: Pod, zoneOf: (node: string) => string): JsonObject {
  const ready = isReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const nodeName = pod.spec.nodeName ?? ''
  return {
    addresses: [pod.status.podIP],
    conditions: { ready: ready && !terminating, serving: ready, terminating },
    targetRef: targetRef(pod),
    nodeName,
    zone: zoneOf(nodeName),
  }
}

function targetRef({ metadata: { name, namespace, uid } }: Pod): JsonObject {
  return { kind: 'Pod', namespace, name, uid }
}

function targetPort(pods: readonly Pod[], name: string): number {
  const ports = pods[0]?.spec.containers.flatMap(
    (container) => (container['ports'] ?? []) as { name: string; containerPort: number }[],
  )
  return ports?.find((port) => port.name === name)?.containerPort ?? 8080
}

export function endpoints(owner: Service, pods: readonly Pod[]): KubeObject {
  const { name, namespace = '', labels, creationTimestamp } = owner.metadata
  const addresses = (wanted: boolean): JsonObject[] =>
    pods
      .filter((pod) => pod.status.podIP !== undefined && pod.metadata.deletionTimestamp === undefined)
      .filter((pod) => isReady(pod) === wanted)
      .map((pod) => ({ ip: pod.status.podIP, nodeName: pod.spec.nodeName, targetRef: targetRef(pod) }))
  const [ready, notReady] = [addresses(true), addresses(false)]
  const ports = owner.spec.ports.map(({ name: port, protocol }) => ({
    name: port,
    port: targetPort(pods, port),
    protocol,
  }))
  const subset = {
    ...(ready.length === 0 ? {} : { addresses: ready }),
    ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
    ports,
  }
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name,
      namespace,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      labels: { ...labels, 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
    },
    ...(ready.length + notReady.length === 0 ? {} : { subsets: [subset] }),
  }
}

export function ingress(app: App, cluster: ClusterPlan, createdMs: number): KubeObject {
  const host = `${app.host ?? app.name}.${cluster.domain}`
  const backend = { service: { name: app.name, port: { name: portName(app) } } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      creationTimestamp: rfc3339(createdMs),
      labels: appLabels(app),
      annotations: {
        'cert-manager.io/cluster-issuer': 'letsencrypt',
        'nginx.ingress.kubernetes.io/ssl-redirect': 'true',
      },
    },
    spec: {
      ingressClassName: 'nginx',
      tls: [{ hosts: [host], secretName: `${app.name}-tls` }],
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
    },
    status: { loadBalancer: { ingress: [{ ip: `203.0.113.${cluster.octet}` }] } },
  }
}

export function ingressClass(createdMs: number): KubeObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: {
      name: 'nginx',
      creationTimestamp: rfc3339(createdMs),
      labels: { 'app.kubernetes.io/name': 'ingress-nginx' },
      annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' },
    },
    spec: { controller: 'k8s.io/ingress-nginx' },
  }
}

/** Lets in what comes from the same namespace and the ingress controller, and nothing else. */
export function networkPolicy(namespace: string, createdMs: number): KubeObject {
  const nginx = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'default-deny', namespace, creationTimestamp: rfc3339(createdMs) },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }, nginx] }], policyTypes: ['Ingress'] },
  }
}

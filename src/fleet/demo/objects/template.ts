/** Pod templates as an API server stores them: everything a manifest leaves out is filled in. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { App, ScheduledJob, Sidecar } from '../catalogue/app.ts'
import type { Container, PodSpec, PodTemplate, Resources } from './kinds.ts'

export function appLabels(app: Pick<App, 'name' | 'namespace' | 'component' | 'team'>): Record<string, string> {
  return {
    app: app.name,
    'app.kubernetes.io/component': app.component,
    'app.kubernetes.io/name': app.name,
    'app.kubernetes.io/part-of': app.namespace,
    team: app.team,
  }
}

/** What selects the pods of an application: a subset of its labels that never changes. */
export function selectorLabels(app: Pick<App, 'name'>): Record<string, string> {
  return { 'app.kubernetes.io/name': app.name }
}

export function appTemplate(app: App, tag: string): PodTemplate {
  const sidecars = app.sidecars ?? []
  const init = [...nativeSidecars(sidecars), ...(app.init === undefined ? [] : [initContainer(app, tag)])]
  const volumes = appVolumes(app)
  const spec: PodSpec = {
    ...(volumes.length === 0 ? {} : { volumes }),
    ...(init.length === 0 ? {} : { initContainers: init }),
    containers: [
      mainContainer(app, tag),
      ...sidecars.filter((sidecar) => sidecar.native !== true).map(sidecarContainer),
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: app.component === 'database' ? 120 : 30,
    dnsPolicy: app.hostNetwork === true ? 'ClusterFirstWithHostNet' : 'ClusterFirst',
    ...(app.nodePool === undefined ? {} : { nodeSelector: { 'aurora.example/pool': app.nodePool } }),
    serviceAccountName: app.name,
    serviceAccount: app.name,
    ...(app.hostNetwork === true ? { hostNetwork: true } : {}),
    securityContext: app.hostNetwork === true ? {} : { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    ...(app.namespace.startsWith('kube-') ? {} : { imagePullSecrets: [{ name: 'registry-aurora' }] }),
    ...(app.replicas > 1 && app.kind === 'Deployment' ? { topologySpreadConstraints: [spread(app)] } : {}),
    schedulerName: 'default-scheduler',
    ...(app.kind === 'DaemonSet' ? { tolerations: [{ operator: 'Exists' }] } : {}),
    ...(app.priority === undefined ? {} : { priorityClassName: app.priority }),
  }
  const annotations = appAnnotations(app)
  const marked = Object.keys(annotations).length === 0 ? {} : { annotations }
  return { metadata: { labels: appLabels(app), ...marked }, spec }
}

export function jobTemplate(job: ScheduledJob): PodTemplate {
  const container: Container = {
    name: job.name,
    image: `${job.image}:${job.tag}`,
    command: job.command,
    resources: resources(job.cpu, job.memory),
    ...terminationDefaults(),
    imagePullPolicy: 'IfNotPresent',
  }
  return {
    metadata: { labels: { app: job.name, 'app.kubernetes.io/name': job.name, team: job.team } },
    spec: {
      containers: [container],
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      serviceAccount: 'default',
      securityContext: {},
      schedulerName: 'default-scheduler',
    },
  }
}

function appAnnotations(app: App): Record<string, string> {
  const scrape = { 'prometheus.io/port': String(app.port ?? ''), 'prometheus.io/scrape': 'true' }
  return {
    ...(app.config === undefined ? {} : { 'checksum/config': String(Object.values(app.config).join('').length) }),
    ...(app.port === undefined ? {} : scrape),
  }
}

function mainContainer(app: App, tag: string): Container {
  const probes = app.health === undefined || app.port === undefined ? {} : probesOf(app, app.health)
  const mounts = [
    ...(app.config === undefined ? [] : [{ name: 'config', readOnly: true, mountPath: `/etc/${app.name}` }]),
    ...(app.volume === undefined ? [] : [{ name: 'data', mountPath: dataPath(app) }]),
  ]
  const gpu = app.gpu === true ? { 'nvidia.com/gpu': '1' } : {}
  return {
    name: app.name,
    image: `${app.image}:${tag}`,
    ...(app.args === undefined ? {} : { args: app.args }),
    ...(app.port === undefined ? {} : { ports: [containerPort(app, app.port)] }),
    ...envOf(app),
    resources: resources(app.cpu, app.memory, gpu),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
    ...probes,
    ...terminationDefaults(),
    imagePullPolicy: 'IfNotPresent',
    ...(app.hostNetwork === true
      ? { securityContext: { privileged: true } }
      : { securityContext: { capabilities: { drop: ['ALL'] }, allowPrivilegeEscalation: false } }),
  }
}

/** On the host's network a container's port is the host's. */
function containerPort(app: App, port: number): JsonObject {
  const hostPort = app.hostNetwork === true ? { hostPort: port } : {}
  return { name: portName(app), ...hostPort, containerPort: port, protocol: 'TCP' }
}

export function portName(app: Pick<App, 'component'>): string {
  const names: Record<string, string> = { database: 'db', cache: 'redis', dns: 'dns', broker: 'kafka' }
  return names[app.component] ?? 'http'
}

function dataPath(app: App): string {
  return app.component === 'database' ? '/var/lib/postgresql/data' : `/var/lib/${app.name}`
}

function envOf(app: App): { env?: readonly JsonObject[] } {
  const plain = Object.entries(app.env ?? {}).map(([name, value]) => ({ name, value }))
  const secret = (app.secret ?? []).map((key) => ({
    name: key,
    valueFrom: { secretKeyRef: { name: `${app.name}-credentials`, key } },
  }))
  const node = app.hostNetwork === true ? [fieldRef('NODE_NAME', 'spec.nodeName')] : []
  const env = [...plain, ...secret, ...node, fieldRef('POD_NAME', 'metadata.name')]
  return { env }
}

function fieldRef(name: string, fieldPath: string): JsonObject {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } }
}

export function resources(
  [cpu, cpuLimit]: App['cpu'],
  [memory, memoryLimit]: App['memory'],
  extended: Readonly<Record<string, string>> = {},
): Resources {
  return {
    limits: { ...(cpuLimit === undefined ? {} : { cpu: cpuLimit }), memory: memoryLimit, ...extended },
    requests: { cpu, memory, ...extended },
  }
}

function probesOf(app: App, path: string): JsonObject {
  const handler = { httpGet: { path, port: app.port ?? 0, scheme: 'HTTP' } }
  const timing = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
  return {
    livenessProbe: { ...handler, initialDelaySeconds: 15, ...timing },
    readinessProbe: { ...handler, initialDelaySeconds: 3, ...timing },
  }
}

function terminationDefaults(): JsonObject {
  return { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' }
}

function sidecarContainer(sidecar: Sidecar): Container {
  return {
    name: sidecar.name,
    image: sidecar.image,
    ...(sidecar.native === true ? { restartPolicy: 'Always' } : {}),
    ...(sidecar.port === undefined
      ? {}
      : { ports: [{ name: sidecar.name.slice(0, 15), containerPort: sidecar.port, protocol: 'TCP' }] }),
    resources: resources(['50m', '250m'], ['64Mi', '128Mi']),
    ...terminationDefaults(),
    imagePullPolicy: 'IfNotPresent',
  }
}

function nativeSidecars(sidecars: readonly Sidecar[]): Container[] {
  return sidecars.filter((sidecar) => sidecar.native === true).map(sidecarContainer)
}

function initContainer(app: App, tag: string): Container {
  return {
    name: app.init?.name ?? 'init',
    image: `${app.image}:${tag}`,
    command: app.init?.command ?? [],
    ...envOf(app),
    resources: resources(['100m', '500m'], ['128Mi', '256Mi']),
    ...terminationDefaults(),
    imagePullPolicy: 'IfNotPresent',
  }
}

function appVolumes(app: App): JsonObject[] {
  const config = { name: 'config', configMap: { name: `${app.name}-config`, defaultMode: 420 } }
  const claim = { name: 'data', persistentVolumeClaim: { claimName: `${app.name}-data` } }
  return [
    ...(app.config === undefined ? [] : [config]),
    // A StatefulSet's claims come from its templates: the volume stands in the pod only.
    ...(app.volume === undefined || app.kind === 'StatefulSet' ? [] : [claim]),
  ]
}

function spread(app: App): JsonObject {
  return {
    maxSkew: 1,
    topologyKey: 'topology.kubernetes.io/zone',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: selectorLabels(app) },
  }
}

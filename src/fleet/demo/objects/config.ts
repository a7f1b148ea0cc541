/** Namespaces and what stands in each: configuration, accounts, rights, quotas, budgets, autoscalers. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { App } from '../catalogue/app.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import type { KubeObject } from './kinds.ts'
import { appLabels, selectorLabels } from './template.ts'

export function namespace(name: string, team: string, createdMs: number): KubeObject {
  const labels = { 'kubernetes.io/metadata.name': name, ...(team === '' ? {} : { team }) }
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, creationTimestamp: rfc3339(createdMs), labels },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}

export function configMap(
  name: string,
  namespace: string,
  data: Readonly<Record<string, string>>,
  createdMs: number,
  labels?: Readonly<Record<string, string>>,
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, creationTimestamp: rfc3339(createdMs), ...(labels === undefined ? {} : { labels }) },
    data,
  }
}

/** Random bytes under each key: no secret of anybody. */
export function secret(
  name: string,
  namespace: string,
  type: string,
  keys: readonly string[],
  createdMs: number,
  random: SeededRandom,
): KubeObject {
  const value = (): string => Buffer.from(random.hex(32)).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, creationTimestamp: rfc3339(createdMs) },
    data: Object.fromEntries(keys.map((key) => [key, value()])),
    type,
  }
}

/** Credentials for the company's registry: well-formed, and valid nowhere. */
export function pullSecret(namespace: string, createdMs: number, random: SeededRandom): KubeObject {
  const auth = Buffer.from(`puller:${random.hex(24)}`).toString('base64')
  const json = JSON.stringify({ auths: { 'registry.aurora.example': { auth } } })
  const object = secret('registry-aurora', namespace, 'kubernetes.io/dockerconfigjson', [], createdMs, random)
  return { ...object, data: { '.dockerconfigjson': Buffer.from(json).toString('base64') } }
}

export function serviceAccount(name: string, namespace: string, createdMs: number, app?: App): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: {
      name,
      namespace,
      creationTimestamp: rfc3339(createdMs),
      ...(app === undefined ? {} : { labels: appLabels(app) }),
    },
    ...(app === undefined ? {} : { automountServiceAccountToken: true }),
  }
}

export function resourceQuota(namespace: string, pods: number, createdMs: number): KubeObject {
  const hard = { 'limits.memory': '512Gi', pods: String(pods * 3), 'requests.cpu': '120', 'requests.memory': '256Gi' }
  const used = {
    'limits.memory': gibibytes(pods * 1_024),
    pods: String(pods),
    'requests.cpu': cores(pods * 300),
    'requests.memory': gibibytes(pods * 512),
  }
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'team-quota', namespace, creationTimestamp: rfc3339(createdMs) },
    spec: { hard },
    status: { hard, used },
  }
}

/** Quantities as an API server writes them: in the largest unit that leaves a whole number. */
function gibibytes(mebibytes: number): string {
  return mebibytes % 1_024 === 0 ? `${mebibytes / 1_024}Gi` : `${mebibytes}Mi`
}

function cores(millicores: number): string {
  return millicores % 1_000 === 0 ? String(millicores / 1_000) : `${millicores}m`
}

export function limitRange(namespace: string, createdMs: number): KubeObject {
  const limit = {
    type: 'Container',
    default: { cpu: '500m', memory: '512Mi' },
    defaultRequest: { cpu: '100m', memory: '128Mi' },
  }
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'defaults', namespace, creationTimestamp: rfc3339(createdMs) },
    spec: { limits: [limit] },
  }
}

type Rule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

export function role(
  name: string,
  namespace: string | undefined,
  rules: readonly Rule[],
  createdMs: number,
): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: namespace === undefined ? 'ClusterRole' : 'Role',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      creationTimestamp: rfc3339(createdMs),
    },
    rules,
  }
}

export function roleBinding(
  name: string,
  namespace: string | undefined,
  roleRef: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string },
  subject: JsonObject,
  createdMs: number,
): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      creationTimestamp: rfc3339(createdMs),
    },
    subjects: [subject],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...roleRef },
  }
}

export function group(name: string): JsonObject {
  return { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name }
}

export const PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
  'business-critical': 100_000,
}

export function priorityClass(name: string, value: number, createdMs: number): KubeObject {
  return {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name, generation: 1, creationTimestamp: rfc3339(createdMs) },
    value,
    preemptionPolicy: 'PreemptLowerPriority',
    description: `Pods of class ${name}.`,
  }
}

export function disruptionBudget(app: App, replicas: number, createdMs: number): KubeObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      creationTimestamp: rfc3339(createdMs),
      labels: appLabels(app),
    },
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorLabels(app) } },
    status: {
      observedGeneration: 1,
      disruptionsAllowed: 1,
      currentHealthy: replicas,
      desiredHealthy: replicas - 1,
      expectedPods: replicas,
      conditions: [
        {
          type: 'DisruptionAllowed',
          status: 'True',
          observedGeneration: 1,
          lastTransitionTime: rfc3339(createdMs),
          reason: 'SufficientPods',
          message: '',
        },
      ],
    },
  }
}

export function autoscaler(app: App, replicas: number, cpuPercent: number, createdMs: number): KubeObject {
  const target = { type: 'Utilization', averageUtilization: app.autoscale?.cpuPercent ?? 70 }
  const condition = (type: string, status: string, reason: string, message: string): JsonObject => ({
    type,
    status,
    lastTransitionTime: rfc3339(createdMs),
    reason,
    message,
  })
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      creationTimestamp: rfc3339(createdMs),
      labels: appLabels(app),
    },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: app.name },
      minReplicas: Math.max(1, Math.floor(replicas * 0.75)),
      maxReplicas: Math.max(app.autoscale?.max ?? 10, replicas + 2),
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    },
    status: {
      lastScaleTime: rfc3339(createdMs),
      currentReplicas: replicas,
      desiredReplicas: replicas,
      currentMetrics: [currentCpu(app, cpuPercent)],
      conditions: [
        condition('AbleToScale', 'True', 'ReadyForNewScale', 'recommended size matches current size'),
        condition('ScalingActive', 'True', 'ValidMetricFound', 'the HPA could compute a replica count from cpu'),
        condition('ScalingLimited', 'False', 'DesiredWithinRange', 'the desired count is within the acceptable range'),
      ],
    },
  }
}

export function currentCpu(app: App, percent: number): JsonObject {
  const requested = Number(app.cpu[0].endsWith('m') ? app.cpu[0].slice(0, -1) : Number(app.cpu[0]) * 1_000)
  const current = { averageUtilization: percent, averageValue: `${Math.round((requested * percent) / 100)}m` }
  return { type: 'Resource', resource: { name: 'cpu', current } }
}

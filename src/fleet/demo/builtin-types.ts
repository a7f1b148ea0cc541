/** The built-in resources of Kubernetes 1.36 that demo and fake members announce, as data. */
import type { ResourceType, Subresource } from './resource-type.ts'

const STATUS: Subresource = { name: 'status', verbs: ['get', 'patch', 'update'] }
const SCALE: Subresource = {
  name: 'scale',
  verbs: ['get', 'patch', 'update'],
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
}
const GET_CREATE = ['create', 'get']
const PROXY_VERBS = ['create', 'delete', 'get', 'patch', 'update']

interface Extras {
  readonly short?: readonly string[]
  readonly all?: boolean
  readonly verbs?: readonly string[]
  readonly subresources?: readonly Subresource[]
  readonly generation?: boolean
  readonly singular?: string
}

function define(group: string, version: string, namespaced: boolean) {
  return (resource: string, kind: string, extras: Extras = {}): ResourceType => ({
    group,
    version,
    resource,
    kind,
    namespaced,
    singular: extras.singular ?? kind.toLowerCase(),
    ...(extras.short === undefined ? {} : { shortNames: extras.short }),
    ...(extras.all === true ? { categories: ['all'] } : {}),
    ...(extras.verbs === undefined ? {} : { verbs: extras.verbs }),
    ...(extras.subresources === undefined ? {} : { subresources: extras.subresources }),
    ...(extras.generation === true ? { generation: true } : {}),
  })
}

const core = define('', 'v1', true)
const coreCluster = define('', 'v1', false)
const apps = define('apps', 'v1', true)
const batch = define('batch', 'v1', true)
const networking = define('networking.k8s.io', 'v1', true)
const networkingCluster = define('networking.k8s.io', 'v1', false)
const rbac = define('rbac.authorization.k8s.io', 'v1', true)
const rbacCluster = define('rbac.authorization.k8s.io', 'v1', false)
const storage = define('storage.k8s.io', 'v1', false)
const authorization = define('authorization.k8s.io', 'v1', false)
const admission = define('admissionregistration.k8s.io', 'v1', false)
const CREATE = ['create']

const PODS = core('pods', 'Pod', {
  short: ['po'],
  all: true,
  generation: true,
  subresources: [
    { name: 'attach', kind: 'PodAttachOptions', verbs: GET_CREATE },
    { name: 'binding', kind: 'Binding', verbs: CREATE },
    { name: 'ephemeralcontainers', verbs: ['get', 'patch', 'update'] },
    { name: 'eviction', kind: 'Eviction', group: 'policy', version: 'v1', verbs: CREATE },
    { name: 'exec', kind: 'PodExecOptions', verbs: GET_CREATE },
    { name: 'log', verbs: ['get'] },
    { name: 'portforward', kind: 'PodPortForwardOptions', verbs: GET_CREATE },
    { name: 'proxy', kind: 'PodProxyOptions', verbs: PROXY_VERBS },
    { name: 'resize', verbs: ['get', 'patch', 'update'] },
    STATUS,
  ],
})

/** Core first, then groups in the order a kube-apiserver lists them. */
export const BUILTIN_TYPES: readonly ResourceType[] = [
  core('bindings', 'Binding', { verbs: CREATE }),
  core('configmaps', 'ConfigMap', { short: ['cm'] }),
  core('endpoints', 'Endpoints', { short: ['ep'], singular: 'endpoints' }),
  core('events', 'Event', { short: ['ev'] }),
  core('limitranges', 'LimitRange', { short: ['limits'] }),
  coreCluster('namespaces', 'Namespace', {
    short: ['ns'],
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: [{ name: 'finalize', verbs: ['update'] }, STATUS],
  }),
  coreCluster('nodes', 'Node', {
    short: ['no'],
    subresources: [{ name: 'proxy', kind: 'NodeProxyOptions', verbs: PROXY_VERBS }, STATUS],
  }),
  core('persistentvolumeclaims', 'PersistentVolumeClaim', { short: ['pvc'], subresources: [STATUS] }),
  coreCluster('persistentvolumes', 'PersistentVolume', { short: ['pv'], subresources: [STATUS] }),
  PODS,
  core('podtemplates', 'PodTemplate'),
  core('replicationcontrollers', 'ReplicationController', {
    short: ['rc'],
    all: true,
    generation: true,
    subresources: [SCALE, STATUS],
  }),
  core('resourcequotas', 'ResourceQuota', { short: ['quota'], subresources: [STATUS] }),
  core('secrets', 'Secret'),
  core('serviceaccounts', 'ServiceAccount', {
    short: ['sa'],
    subresources: [
      { name: 'token', kind: 'TokenRequest', group: 'authentication.k8s.io', version: 'v1', verbs: CREATE },
    ],
  }),
  core('services', 'Service', {
    short: ['svc'],
    all: true,
    subresources: [{ name: 'proxy', kind: 'ServiceProxyOptions', verbs: PROXY_VERBS }, STATUS],
  }),
  apps('controllerrevisions', 'ControllerRevision'),
  apps('daemonsets', 'DaemonSet', { short: ['ds'], all: true, generation: true, subresources: [STATUS] }),
  apps('deployments', 'Deployment', {
    short: ['deploy'],
    all: true,
    generation: true,
    subresources: [SCALE, STATUS],
  }),
  apps('replicasets', 'ReplicaSet', { short: ['rs'], all: true, generation: true, subresources: [SCALE, STATUS] }),
  apps('statefulsets', 'StatefulSet', { short: ['sts'], all: true, generation: true, subresources: [SCALE, STATUS] }),
  define('authentication.k8s.io', 'v1', false)('selfsubjectreviews', 'SelfSubjectReview', { verbs: CREATE }),
  define('authentication.k8s.io', 'v1', false)('tokenreviews', 'TokenReview', { verbs: CREATE }),
  authorization('selfsubjectaccessreviews', 'SelfSubjectAccessReview', { verbs: CREATE }),
  authorization('selfsubjectrulesreviews', 'SelfSubjectRulesReview', { verbs: CREATE }),
  authorization('subjectaccessreviews', 'SubjectAccessReview', { verbs: CREATE }),
  define('autoscaling', 'v2', true)('horizontalpodautoscalers', 'HorizontalPodAutoscaler', {
    short: ['hpa'],
    all: true,
    subresources: [STATUS],
  }),
  batch('cronjobs', 'CronJob', { short: ['cj'], all: true, generation: true, subresources: [STATUS] }),
  batch('jobs', 'Job', { all: true, generation: true, subresources: [STATUS] }),
  define('certificates.k8s.io', 'v1', false)('certificatesigningrequests', 'CertificateSigningRequest', {
    short: ['csr'],
    subresources: [{ name: 'approval', verbs: ['get', 'patch', 'update'] }, STATUS],
  }),
  networkingCluster('ingressclasses', 'IngressClass', { generation: true }),
  networking('ingresses', 'Ingress', { short: ['ing'], generation: true, subresources: [STATUS] }),
  networking('networkpolicies', 'NetworkPolicy', { short: ['netpol'], generation: true }),
  define('policy', 'v1', true)('poddisruptionbudgets', 'PodDisruptionBudget', {
    short: ['pdb'],
    generation: true,
    subresources: [STATUS],
  }),
  rbacCluster('clusterrolebindings', 'ClusterRoleBinding'),
  rbacCluster('clusterroles', 'ClusterRole'),
  rbac('rolebindings', 'RoleBinding'),
  rbac('roles', 'Role'),
  storage('csidrivers', 'CSIDriver'),
  storage('csinodes', 'CSINode'),
  storage('storageclasses', 'StorageClass', { short: ['sc'] }),
  storage('volumeattachments', 'VolumeAttachment', { subresources: [STATUS] }),
  admission('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', { generation: true }),
  admission('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', { generation: true }),
  define('apiextensions.k8s.io', 'v1', false)('customresourcedefinitions', 'CustomResourceDefinition', {
    short: ['crd', 'crds'],
    generation: true,
    subresources: [STATUS],
  }),
  define('scheduling.k8s.io', 'v1', false)('priorityclasses', 'PriorityClass', { short: ['pc'], generation: true }),
  define('coordination.k8s.io', 'v1', true)('leases', 'Lease'),
  define('discovery.k8s.io', 'v1', true)('endpointslices', 'EndpointSlice', { generation: true }),
]

/** The built-in type of a kind, e.g. `Deployment`. */
export function builtinType(kind: string): ResourceType {
  const type = BUILTIN_TYPES.find((candidate) => candidate.kind === kind)
  if (type === undefined) throw new Error(`no built-in kind ${kind}`)
  return type
}

/** The objects that an object names: its owners, what it mounts and selects, where it runs, and Karmada's chain. */
import type { JsonObject } from '../kube/columns/column.ts'
import { at, isObject, items, text } from '../kube/columns/read.ts'
import { parseApiVersion } from '../kube/group-version.ts'
import { labelSelectorFrom, type LabelSelector } from '../kube/label-selector.ts'
import { karmadaNames } from './karmada-names.ts'

/** Why two objects belong together, seen from the one that was asked for. */
export type Relation =
  | 'owner'
  | 'owned'
  | 'selects'
  | 'selectedBy'
  | 'mounts'
  | 'mountedBy'
  | 'runsOn'
  | 'runs'
  | 'refersTo'
  | 'referredBy'
  | 'policy'
  | 'binding'
  | 'work'
  | 'propagated'

/** What another object is called. Without a group: whichever has the kind; without a cluster: the same, `*` any. */
export interface NamedObject {
  readonly relation: Relation
  readonly group?: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly cluster?: string
  /** Where it has to be the very same object. */
  readonly uid?: string
}

export interface SelectedObjects {
  readonly relation: Relation
  readonly kind: string
  readonly namespace: string
  readonly labels: LabelSelector
}

export interface NamedByObject {
  readonly named: readonly NamedObject[]
  readonly selected: readonly SelectedObjects[]
}

export interface Subject {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export function namedBy(subject: Subject, object: JsonObject): NamedByObject {
  return {
    named: [
      ...owners(subject, object),
      ...podNames(subject.namespace, podSpecOf(subject.kind, object)),
      ...references(subject, object),
      ...karmadaNames(subject, object),
    ],
    selected: selectors(subject, object),
  }
}

function owners({ namespace }: Subject, object: JsonObject): NamedObject[] {
  return items(object, 'metadata', 'ownerReferences').map((owner) => ({
    relation: 'owner',
    group: parseApiVersion(text(owner, 'apiVersion'))?.group ?? '',
    kind: text(owner, 'kind'),
    namespace,
    name: text(owner, 'name'),
    uid: text(owner, 'uid'),
  }))
}

/** Of a pod, or of what makes pods. */
export function podSpecOf(kind: string, object: JsonObject): unknown {
  if (kind === 'Pod') return object['spec']
  if (kind === 'CronJob') return at(object, 'spec', 'jobTemplate', 'spec', 'template', 'spec')
  return at(object, 'spec', 'template', 'spec')
}

function podNames(namespace: string, spec: unknown): NamedObject[] {
  if (!isObject(spec)) return []
  const found: NamedObject[] = []
  const add = (relation: Relation, kind: string, name: string, within = namespace): void => {
    if (name !== '') found.push({ relation, group: '', kind, namespace: within, name })
  }
  add('runsOn', 'Node', text(spec, 'nodeName'), '')
  add('refersTo', 'ServiceAccount', text(spec, 'serviceAccountName'))
  for (const secret of items(spec, 'imagePullSecrets')) add('refersTo', 'Secret', text(secret, 'name'))
  for (const volume of items(spec, 'volumes')) {
    add('mounts', 'ConfigMap', text(volume, 'configMap', 'name'))
    add('mounts', 'Secret', text(volume, 'secret', 'secretName'))
    add('mounts', 'PersistentVolumeClaim', text(volume, 'persistentVolumeClaim', 'claimName'))
    for (const source of items(volume, 'projected', 'sources')) {
      add('mounts', 'ConfigMap', text(source, 'configMap', 'name'))
      add('mounts', 'Secret', text(source, 'secret', 'name'))
    }
  }
  for (const container of [...items(spec, 'containers'), ...items(spec, 'initContainers')]) {
    const sources = [...items(container, 'envFrom'), ...items(container, 'env').map((each) => at(each, 'valueFrom'))]
    for (const source of sources) {
      add('mounts', 'ConfigMap', text(source, 'configMapRef', 'name') || text(source, 'configMapKeyRef', 'name'))
      add('mounts', 'Secret', text(source, 'secretRef', 'name') || text(source, 'secretKeyRef', 'name'))
    }
  }
  const priority = text(spec, 'priorityClassName')
  if (priority !== '') found.push({ relation: 'refersTo', kind: 'PriorityClass', namespace: '', name: priority })
  return found
}

/** What single kinds name in fields of their own. */
function references({ kind, namespace }: Subject, object: JsonObject): NamedObject[] {
  const refer = (to: string, name: string, within = namespace): NamedObject[] =>
    name === '' ? [] : [{ relation: 'refersTo', kind: to, namespace: within, name }]
  switch (kind) {
    case 'PersistentVolumeClaim':
      return [
        ...refer('PersistentVolume', text(object, 'spec', 'volumeName'), ''),
        ...refer('StorageClass', text(object, 'spec', 'storageClassName'), ''),
      ]
    case 'PersistentVolume': {
      const claim = at(object, 'spec', 'claimRef')
      return refer('PersistentVolumeClaim', text(claim, 'name'), text(claim, 'namespace'))
    }
    case 'HorizontalPodAutoscaler': {
      const target = at(object, 'spec', 'scaleTargetRef')
      return refer(text(target, 'kind'), text(target, 'name'))
    }
    case 'Ingress':
      return ingressNames(object).flatMap(([to, name]) => refer(to, name))
    case 'EndpointSlice':
      return refer('Service', labelOf(object, 'kubernetes.io/service-name'))
    case 'RoleBinding':
    case 'ClusterRoleBinding': {
      const role = text(object, 'roleRef', 'kind')
      return refer(role, text(object, 'roleRef', 'name'), role === 'Role' ? namespace : '')
    }
    case 'Event': {
      const involved = at(object, 'involvedObject') ?? at(object, 'regarding')
      return refer(text(involved, 'kind'), text(involved, 'name'), text(involved, 'namespace'))
    }
    default:
      return []
  }
}

function ingressNames(ingress: JsonObject): [string, string][] {
  const paths = items(ingress, 'spec', 'rules').flatMap((rule) => items(rule, 'http', 'paths'))
  const backends = [...paths.map((path) => at(path, 'backend')), at(ingress, 'spec', 'defaultBackend')]
  return [
    ...backends.map((backend): [string, string] => ['Service', text(backend, 'service', 'name')]),
    ...items(ingress, 'spec', 'tls').map((tls): [string, string] => ['Secret', text(tls, 'secretName')]),
    ['IngressClass', text(ingress, 'spec', 'ingressClassName')],
  ]
}

function selectors({ kind, namespace }: Subject, object: JsonObject): SelectedObjects[] {
  const selector = podSelectorOf(kind, object)
  return selector === undefined ? [] : [{ relation: 'selects', kind: 'Pod', namespace, labels: selector }]
}

const PLAIN_SELECTORS: ReadonlySet<string> = new Set(['Service', 'ReplicationController'])
const SELECTING: ReadonlySet<string> = new Set([
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'DaemonSet',
  'PodDisruptionBudget',
])

/** Kinds that select pods of their namespace by labels. */
export const SELECTING_KINDS: readonly string[] = [...PLAIN_SELECTORS, ...SELECTING, 'NetworkPolicy']

/** Undefined where it selects none: a Service without a selector, a kind that does not select. */
export function podSelectorOf(kind: string, object: JsonObject): LabelSelector | undefined {
  const found = kind === 'NetworkPolicy' ? at(object, 'spec', 'podSelector') : at(object, 'spec', 'selector')
  if (!isObject(found)) return undefined
  try {
    if (PLAIN_SELECTORS.has(kind)) {
      return Object.keys(found).length === 0
        ? undefined
        : labelSelectorFrom({ matchLabels: found as Record<string, string> })
    }
    return SELECTING.has(kind) || kind === 'NetworkPolicy' ? labelSelectorFrom(found) : undefined
  } catch {
    return undefined // a selector that no API server would take
  }
}

export function labelOf(object: JsonObject, key: string): string {
  return text(at(object, 'metadata', 'labels'), key)
}

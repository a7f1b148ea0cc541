/** Which objects may name an object: asked of the index, which knows more than it takes; `namedBy` decides. */
import type { Predicate } from '../query/resolve.ts'
import type { Subject } from './related-names.ts'

const POD_SPECS = ['.spec', '.spec.template.spec', '.spec.jobtemplate.spec.template.spec']

/** Below a pod's spec. */
const MOUNTS: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: [
    'volumes.configmap.name',
    'volumes.projected.sources.configmap.name',
    'containers.envfrom.configmapref.name',
    'initcontainers.envfrom.configmapref.name',
    'containers.env.valuefrom.configmapkeyref.name',
    'initcontainers.env.valuefrom.configmapkeyref.name',
  ],
  Secret: [
    'volumes.secret.secretname',
    'volumes.projected.sources.secret.name',
    'containers.envfrom.secretref.name',
    'initcontainers.envfrom.secretref.name',
    'containers.env.valuefrom.secretkeyref.name',
    'initcontainers.env.valuefrom.secretkeyref.name',
    'imagepullsecrets.name',
  ],
  PersistentVolumeClaim: ['volumes.persistentvolumeclaim.claimname'],
  ServiceAccount: ['serviceaccountname'],
  PriorityClass: ['priorityclassname'],
}

const REFERENCES: Readonly<Record<string, readonly string[]>> = {
  Service: [
    '.spec.rules.http.paths.backend.service.name',
    '.spec.defaultbackend.service.name',
    'label.kubernetes.io/service-name',
  ],
  Secret: ['.spec.tls.secretname'],
  IngressClass: ['.spec.ingressclassname'],
  PersistentVolume: ['.spec.volumename'],
  PersistentVolumeClaim: ['.spec.claimref.name'],
  StorageClass: ['.spec.storageclassname'],
  Role: ['.roleref.name'],
  ClusterRole: ['.roleref.name'],
}

/** What may name anything. */
const ANY_REFERENCES = ['.spec.scaletargetref.name', '.involvedobject.name', '.regarding.name']

const KARMADA: Readonly<Record<string, string>> = {
  PropagationPolicy: 'propagationpolicy.karmada.io/name',
  ClusterPropagationPolicy: 'clusterpropagationpolicy.karmada.io/name',
  ResourceBinding: 'resourcebinding.karmada.io/name',
  ClusterResourceBinding: 'clusterresourcebinding.karmada.io/name',
  Work: 'work.karmada.io/name',
}

/** In the subject's cluster, but for Karmada's, whose objects are in all of them. */
export function candidatesOf({ kind, group, name }: Subject, cluster: string): Predicate {
  const is = (path: string): Predicate => ({ type: 'exact', path, value: name })
  const mounts = MOUNTS[kind] ?? []
  const paths = [
    ...POD_SPECS.flatMap((spec) => mounts.map((path) => `${spec}.${path}`)),
    ...(REFERENCES[kind] ?? []),
    ...ANY_REFERENCES,
    'owner',
    ...(kind === 'Node' ? ['node'] : []),
  ]
  const here: Predicate = {
    type: 'and',
    children: [
      { type: 'exact', path: 'cluster', value: cluster },
      { type: 'or', children: paths.map(is) },
    ],
  }
  const key = group.endsWith('.karmada.io') ? KARMADA[kind] : undefined
  const chain = key === undefined ? [] : [is(`annotation.${key}`), is(`label.${key}`)]
  // Bindings name their objects in their spec, Works in their manifests.
  const propagating = [is('.spec.resource.name'), is('.spec.workload.manifests.metadata.name')]
  return { type: 'or', children: [here, ...chain, ...propagating] }
}

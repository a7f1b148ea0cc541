/**
 * What a kind's resource is called while no cluster has told: good enough to answer an empty list for it. As soon as any
 * cluster serves the kind, its own word counts.
 */
import type { GroupVersionKind } from '../kube/group-version.ts'

/** Source: apimachinery pkg/api/meta `UnsafeGuessKindToResource`. */
export function guessResource(kind: string): string {
  const singular = kind.toLowerCase()
  if (singular === 'endpoints') return singular
  if (singular.endsWith('s')) return `${singular}es`
  return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`
}

/** Kinds of Kubernetes itself that lie in no namespace; all others are taken to lie in one. */
const CLUSTER_SCOPED: ReadonlyMap<string, readonly string[]> = new Map([
  ['', ['ComponentStatus', 'Namespace', 'Node', 'PersistentVolume']],
  [
    'admissionregistration.k8s.io',
    [
      'MutatingAdmissionPolicy',
      'MutatingAdmissionPolicyBinding',
      'MutatingWebhookConfiguration',
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
      'ValidatingWebhookConfiguration',
    ],
  ],
  ['apiextensions.k8s.io', ['CustomResourceDefinition']],
  ['apiregistration.k8s.io', ['APIService']],
  ['certificates.k8s.io', ['CertificateSigningRequest']],
  ['flowcontrol.apiserver.k8s.io', ['FlowSchema', 'PriorityLevelConfiguration']],
  ['networking.k8s.io', ['IngressClass', 'IPAddress', 'ServiceCIDR']],
  ['node.k8s.io', ['RuntimeClass']],
  ['rbac.authorization.k8s.io', ['ClusterRole', 'ClusterRoleBinding']],
  ['resource.k8s.io', ['DeviceClass', 'ResourceSlice']],
  ['scheduling.k8s.io', ['PriorityClass']],
  ['storage.k8s.io', ['CSIDriver', 'CSINode', 'StorageClass', 'VolumeAttachment']],
])

export function guessNamespaced({ group, kind }: Pick<GroupVersionKind, 'group' | 'kind'>): boolean {
  return !(CLUSTER_SCOPED.get(group) ?? []).includes(kind)
}

/** Pods as an API server stores them: a template, plus what admission, the scheduler and the kubelet add. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import type { KubeObject, Pod, PodSpec, PodTemplate } from './kinds.ts'
import { ownerReference } from './kinds.ts'
import { podStatus, topologyLabels, type PodPlace, type PodState } from './pod-status.ts'

export interface PodDraft {
  readonly name: string
  readonly generateName?: string
  readonly namespace: string
  readonly owner: KubeObject
  readonly template: PodTemplate
  readonly labels?: Readonly<Record<string, string>>
  readonly createdMs: number
  /** Undefined while no node takes it. */
  readonly place: PodPlace | undefined
  readonly state: PodState
  readonly claims?: readonly { readonly name: string; readonly claimName: string }[]
  /** Of the pod's priority class. */
  readonly priority: number
}

/** `daemon`: its controller pins it to a node and makes it tolerate everything a node may suffer. */
export function makePod(draft: PodDraft, random: SeededRandom): Pod {
  const spec = podSpec(draft, random)
  const metadata = {
    name: draft.name,
    ...(draft.generateName === undefined ? {} : { generateName: draft.generateName }),
    namespace: draft.namespace,
    uid: random.uuid(),
    generation: 1,
    creationTimestamp: rfc3339(draft.createdMs),
    ...terminationOf(draft.state),
    labels: {
      ...draft.template.metadata.labels,
      ...draft.labels,
      ...(draft.place === undefined ? {} : topologyLabels(draft.place)),
    },
    ...(draft.template.metadata.annotations === undefined ? {} : { annotations: draft.template.metadata.annotations }),
    ownerReferences: [ownerReference(draft.owner)],
    ...(draft.state.kind === 'terminating' && draft.state.finalizer !== undefined
      ? { finalizers: [draft.state.finalizer] }
      : {}),
  }
  const status = podStatus(spec, draft.state, draft.createdMs, draft.place, random)
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec, status }
}

function terminationOf(state: PodState): JsonObject {
  if (state.kind !== 'terminating') return {}
  return { deletionTimestamp: rfc3339(state.deletedMs), deletionGracePeriodSeconds: 30 }
}

function podSpec(draft: PodDraft, random: SeededRandom): PodSpec {
  const { volumes = [], containers, initContainers, tolerations, ...rest } = draft.template.spec
  const token = `kube-api-access-${random.suffix()}`
  const mount = { name: token, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }
  const mounted = (list: PodSpec['containers']): PodSpec['containers'] =>
    list.map((container) => ({ ...container, volumeMounts: [...(container.volumeMounts ?? []), mount] }))
  const claims = (draft.claims ?? []).map(({ name, claimName }) => ({ name, persistentVolumeClaim: { claimName } }))
  return {
    volumes: [...volumes, ...claims, tokenVolume(token)],
    ...(initContainers === undefined ? {} : { initContainers: mounted(initContainers) }),
    containers: mounted(containers),
    ...rest,
    ...(draft.place === undefined ? {} : { nodeName: draft.place.nodeName }),
    ...(draft.owner.kind === 'StatefulSet' ? { hostname: draft.name, subdomain: draft.owner.metadata.name } : {}),
    tolerations: [...((tolerations as JsonObject[] | undefined) ?? []), ...NOT_READY_TOLERATIONS],
    priority: draft.priority,
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
  }
}

const NOT_READY_TOLERATIONS: readonly JsonObject[] = ['not-ready', 'unreachable'].map((what) => ({
  key: `node.kubernetes.io/${what}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}))

function tokenVolume(name: string): JsonObject {
  const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.namespace' }
  const sources = [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef }] } },
  ]
  return { name, projected: { sources, defaultMode: 420 } }
}

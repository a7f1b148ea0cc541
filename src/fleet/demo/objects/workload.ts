/** Deployments, ReplicaSets, StatefulSets and DaemonSets, with the defaults an API server fills in. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { App } from '../catalogue/app.ts'
import { nameHash } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import type { KubeObject, PodTemplate, Workload } from './kinds.ts'
import { ownerReference } from './kinds.ts'
import { appLabels, appTemplate, selectorLabels } from './template.ts'

export const REVISION_ANNOTATION = 'deployment.kubernetes.io/revision'

export function templateHash(template: PodTemplate): string {
  return nameHash(JSON.stringify(template))
}

export function deployment(app: App, tag: string, replicas: number, createdMs: number, revision: number): Workload {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      generation: revision,
      creationTimestamp: rfc3339(createdMs),
      labels: { ...appLabels(app), 'app.kubernetes.io/managed-by': 'Helm', 'app.kubernetes.io/version': tag },
      annotations: {
        [REVISION_ANNOTATION]: String(revision),
        'meta.helm.sh/release-name': app.name,
        'meta.helm.sh/release-namespace': app.namespace,
      },
    },
    spec: {
      replicas,
      selector: { matchLabels: selectorLabels(app) },
      template: appTemplate(app, tag),
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    },
    status: {},
  }
}

/** The ReplicaSet of one revision of a Deployment. */
export function replicaSet(
  owner: Workload,
  template: PodTemplate,
  replicas: number,
  createdMs: number,
  revision: number,
): Workload {
  const hash = templateHash(template)
  const labels = { ...template.metadata.labels, 'pod-template-hash': hash }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${owner.metadata.name}-${hash}`,
      namespace: owner.metadata.namespace ?? '',
      creationTimestamp: rfc3339(createdMs),
      labels,
      annotations: {
        'deployment.kubernetes.io/desired-replicas': String(owner.spec.replicas),
        'deployment.kubernetes.io/max-replicas': String(Math.ceil(owner.spec.replicas * 1.25)),
        [REVISION_ANNOTATION]: String(revision),
      },
      ownerReferences: [ownerReference(owner)],
    },
    spec: {
      replicas,
      selector: { matchLabels: { ...owner.spec.selector.matchLabels, 'pod-template-hash': hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
    status: { replicas: 0, observedGeneration: 1 },
  }
}

export function statefulSet(
  app: App,
  tag: string,
  replicas: number,
  createdMs: number,
  storageClass: string,
): Workload {
  const template = appTemplate(app, tag)
  const revision = `${app.name}-${templateHash(template)}`
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      generation: 3,
      creationTimestamp: rfc3339(createdMs),
      labels: { ...appLabels(app), 'app.kubernetes.io/version': tag },
    },
    spec: {
      replicas,
      selector: { matchLabels: selectorLabels(app) },
      template,
      ...(app.volume === undefined ? {} : { volumeClaimTemplates: [claimTemplate(app.volume, storageClass)] }),
      serviceName: app.name,
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    },
    status: { observedGeneration: 3, currentRevision: revision, updateRevision: revision, collisionCount: 0 },
  }
}

function claimTemplate(size: string, storageClassName: string): JsonObject {
  return {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: { name: 'data' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      storageClassName,
      volumeMode: 'Filesystem',
    },
    status: { phase: 'Pending' },
  }
}

export function daemonSet(app: App, tag: string, createdMs: number): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      generation: 2,
      creationTimestamp: rfc3339(createdMs),
      labels: appLabels(app),
      annotations: { 'deprecated.daemonset.template.generation': '2' },
    },
    spec: {
      selector: { matchLabels: selectorLabels(app) },
      template: appTemplate(app, tag),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      revisionHistoryLimit: 10,
    },
    status: { observedGeneration: 2, numberMisscheduled: 0 },
  }
}

/** The revision of a StatefulSet or DaemonSet that its pods are made from. */
export function controllerRevision(owner: Workload, podLabels: Labels, createdMs: number): KubeObject {
  const hash = podLabels?.['controller-revision-hash'] ?? ''
  const name = hash.startsWith(owner.metadata.name) ? hash : `${owner.metadata.name}-${hash}`
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name,
      namespace: owner.metadata.namespace ?? '',
      creationTimestamp: rfc3339(createdMs),
      labels: { ...owner.spec.selector.matchLabels, 'controller-revision-hash': hash },
      ownerReferences: [ownerReference(owner)],
    },
    data: { spec: { template: { $patch: 'replace', ...owner.spec.template } } },
    revision: 1,
  }
}

type Labels = Readonly<Record<string, string>> | undefined

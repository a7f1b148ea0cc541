/**
 * The fields that a kube-apiserver 1.36 selects by, for each kind, and their text. Kinds that are not listed have the two of
 * metadata. Sources: the kinds' AddFieldLabelConversionFunc (which names are known) and GetAttrs (their text).
 */
import type { JsonObject } from './columns/column.ts'
import { flag, integer, items, text } from './columns/read.ts'

/** A field's text; empty where the object lacks it. */
export type FieldText = (object: JsonObject) => string

type FieldTexts = Readonly<Record<string, FieldText>>

const textAt =
  (...path: readonly string[]): FieldText =>
  (object) =>
    text(object, ...path)
const flagAt =
  (...path: readonly string[]): FieldText =>
  (object) =>
    String(flag(object, ...path))
const countAt =
  (...path: readonly string[]): FieldText =>
  (object) =>
    String(integer(object, ...path))

/** Fields whose text stands under their own path. */
function paths(...fields: readonly string[]): FieldTexts {
  return Object.fromEntries(fields.map((field) => [field, textAt(...field.split('.'))]))
}

const metadata = paths('metadata.name', 'metadata.namespace')

const REFERENCE = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']

/** Group, then kind. A name that is known without a text of its own is always empty, as there. */
const KINDS: Readonly<Record<string, Readonly<Record<string, FieldTexts>>>> = {
  '': {
    Event: {
      ...metadata,
      ...paths(...REFERENCE.map((field) => `involvedObject.${field}`), 'reason', 'reportingComponent', 'type'),
      source: (event) => text(event, 'source', 'component') || text(event, 'reportingComponent'),
    },
    Namespace: paths('metadata.name', 'status.phase'),
    Node: { ...paths('metadata.name'), 'spec.unschedulable': flagAt('spec', 'unschedulable') },
    Pod: {
      ...metadata,
      ...paths('spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName'),
      ...paths('status.phase', 'status.nominatedNodeName'),
      'spec.host': textAt('spec', 'nodeName'),
      'spec.hostNetwork': flagAt('spec', 'hostNetwork'),
      'status.podIP': (pod) => text(items(pod, 'status', 'podIPs')[0] ?? {}, 'ip') || text(pod, 'status', 'podIP'),
      'status.podIPs': () => '',
    },
    ReplicationController: { ...metadata, 'status.replicas': countAt('status', 'replicas') },
    Secret: { ...metadata, ...paths('type') },
    Service: { ...metadata, ...paths('spec.clusterIP', 'spec.type') },
  },
  batch: { Job: { ...metadata, 'status.successful': countAt('status', 'succeeded') } },
  'certificates.k8s.io': {
    CertificateSigningRequest: paths('metadata.name', 'spec.signerName'),
    ClusterTrustBundle: paths('metadata.name', 'spec.signerName'),
    PodCertificateRequest: paths('metadata.name', 'spec.signerName', 'spec.podName', 'spec.nodeName'),
  },
  'events.k8s.io': {
    Event: {
      ...metadata,
      ...paths(...REFERENCE.map((field) => `regarding.${field}`), 'reason', 'reportingController', 'type'),
    },
  },
  'resource.k8s.io': { ResourceSlice: paths('metadata.name', 'spec.nodeName', 'spec.driver') },
}

/** Undefined for a field that is not known for the kind. */
export function fieldTextOf(group: string, kind: string, field: string): FieldText | undefined {
  const kinds = Object.hasOwn(KINDS, group) ? KINDS[group] : undefined
  const fields = (kinds !== undefined && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined) ?? metadata
  return Object.hasOwn(fields, field) ? fields[field] : undefined
}

/** Metadata of an object: what a kube-apiserver checks of it on create and update (apimachinery pkg/api/validation). */
import type { ObjectMeta } from '../api/resource-registry.ts'
import { dnsSubdomainFaults, labelKeyFaults, labelValueFaults } from '../kube/label-syntax.ts'
import { goQuote } from '../kube/go-text.ts'
import { forbidden, invalidValue, requiredValue, type FieldFault } from './field-fault.ts'

const MAX_ANNOTATION_BYTES = 256 * 1024 // of all keys and values together, as a kube-apiserver has it

export function metadataFaults(metadata: ObjectMeta): FieldFault[] {
  return [
    ...nameFaults(metadata),
    ...labelFaults(metadata.labels ?? {}),
    ...annotationFaults(metadata.annotations ?? {}),
    ...(metadata.finalizers ?? []).flatMap((name, i) => qualifiedNameFaults(`metadata.finalizers[${i}]`, name)),
    ...ownerFaults(metadata['ownerReferences']),
  ]
}

function nameFaults({ name }: ObjectMeta): FieldFault[] {
  if (name === '') return [requiredValue('metadata.name', 'name or generateName is required', name)]
  return dnsSubdomainFaults(name).map((fault) => invalidValue('metadata.name', name, fault))
}

function labelFaults(labels: Readonly<Record<string, string>>): FieldFault[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedNameFaults('metadata.labels', key),
    ...labelValueFaults(value).map((fault) => invalidValue('metadata.labels', value, fault, { [key]: value })),
  ])
}

function annotationFaults(annotations: Readonly<Record<string, string>>): FieldFault[] {
  const faults: FieldFault[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
    faults.push(...qualifiedNameFaults('metadata.annotations', key, key.toLowerCase()))
  }
  if (bytes > MAX_ANNOTATION_BYTES) {
    const message = `Too long: may not be more than ${MAX_ANNOTATION_BYTES} bytes`
    faults.push({ reason: 'FieldValueTooLong', field: 'metadata.annotations', message, subject: '' })
  }
  return faults
}

function qualifiedNameFaults(field: string, name: string, checked: string = name): FieldFault[] {
  return labelKeyFaults(checked).map((fault) => invalidValue(field, name, fault))
}

function ownerFaults(owners: unknown): FieldFault[] {
  if (!Array.isArray(owners)) return []
  return (owners as Record<string, unknown>[]).flatMap((owner, i) =>
    ['apiVersion', 'kind', 'name', 'uid']
      .filter((field) => (owner[field] ?? '') === '')
      .map((field) => invalidValue(`metadata.ownerReferences[${i}].${field}`, '', 'must not be empty', owner)),
  )
}

/** What an update may not do to the metadata. The system's own fields were carried over before this is asked. */
export function metadataUpdateFaults(next: ObjectMeta, stored: ObjectMeta): FieldFault[] {
  const faults = (['name', 'uid', 'deletionTimestamp'] as const)
    .filter((field) => next[field] !== stored[field])
    .map((field) => invalidValue(`metadata.${field}`, next[field] ?? null, 'field is immutable'))
  const known = new Set(stored.finalizers ?? [])
  const added = (next.finalizers ?? []).filter((finalizer) => !known.has(finalizer))
  if (stored.deletionTimestamp !== undefined && added.length > 0) {
    const names = added.map(goQuote).join(', ')
    faults.push(forbidden('metadata.finalizers', `the object is being deleted, none can be added: ${names}`, added))
  }
  return faults
}

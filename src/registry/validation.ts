/**
 * What makes a ResourceRegistry valid: all faults at once, each with its field path, as the original words and codes them.
 * Beyond the original: label selectors, an empty kind and field selectors are checked too.
 */
import type {
  ClusterAffinity,
  LabelSelectorRequirement,
  ResourceRegistry,
  ResourceRegistrySpec,
  ResourceSelector,
  SearchEngineStore,
} from '../api/resource-registry.ts'
import { dnsLabelFaults, labelKeyFaults, labelValueFaults } from '../kube/label-syntax.ts'
import { parseRedaction, REDACT_ANNOTATION } from '../kube/redaction.ts'
import { forbidden, invalidValue, newFaults, requiredValue, unsupportedValue, type FieldFault } from './field-fault.ts'
import { metadataFaults, metadataUpdateFaults } from './metadata-validation.ts'

export function registryFaults(registry: ResourceRegistry): FieldFault[] {
  return [...metadataFaults(registry.metadata), ...redactionFaults(registry.metadata), ...specFaults(registry.spec)]
}

/** With ratcheting: what the stored object has wrong already and the update leaves alone is no fault of the update. */
export function registryUpdateFaults(next: ResourceRegistry, stored: ResourceRegistry): FieldFault[] {
  return [
    ...metadataUpdateFaults(next.metadata, stored.metadata),
    ...newFaults(registryFaults(next), registryFaults(stored)),
  ]
}

function redactionFaults({ annotations = {} }: ResourceRegistry['metadata']): FieldFault[] {
  const text = annotations[REDACT_ANNOTATION]
  if (text === undefined) return []
  const field = `metadata.annotations[${REDACT_ANNOTATION}]`
  return parseRedaction(text).faults.map((fault) => invalidValue(field, text.slice(0, 256), fault))
}

export function specFaults(spec: ResourceRegistrySpec): FieldFault[] {
  return [
    ...affinityFaults(spec.targetCluster, 'spec.targetCluster'),
    ...spec.resourceSelectors.flatMap((selector, i) => selectorFaults(selector, `spec.resourceSelectors[${i}]`)),
    ...(['openSearch', 'elasticsearch'] as const).flatMap((engine) =>
      storeFaults(spec.backendStore?.[engine], `spec.backendStore.${engine}`),
    ),
  ]
}

function selectorFaults(selector: ResourceSelector, path: string): FieldFault[] {
  const faults: FieldFault[] = []
  const { apiVersion, kind, namespace = '' } = selector
  if (apiVersion.split('/').length > 2) {
    faults.push(
      invalidValue(`${path}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`, selector),
    )
  }
  if (kind === '') faults.push(requiredValue(`${path}.kind`, 'which kind of objects to search', selector))
  if (namespace !== '') {
    for (const fault of dnsLabelFaults(namespace)) {
      faults.push(invalidValue(`${path}.namespace`, namespace, fault, selector))
    }
  }
  return faults
}

function storeFaults(store: SearchEngineStore | undefined, path: string): FieldFault[] {
  return (store?.addresses ?? []).flatMap((address, i) =>
    isHttpUrl(address)
      ? []
      : [invalidValue(`${path}.addresses[${i}]`, address, 'must be an http or https URL with a host')],
  )
}

/** Stricter than URL.parse alone, which reads `http:h` and `http:///h` as `http://h/`. */
function isHttpUrl(address: string): boolean {
  return /^https?:\/\/[^/?#]/i.test(address) && (URL.parse(address)?.host ?? '') !== ''
}

function affinityFaults(affinity: ClusterAffinity, path: string): FieldFault[] {
  const faults = Object.entries(affinity.labelSelector?.matchLabels ?? {}).flatMap(([key, value]) => {
    const field = `${path}.labelSelector.matchLabels`
    return [...keyFaults(field, key, { [key]: value }), ...valueFaults(field, value, { [key]: value })]
  })
  const expressions = (selector: 'labelSelector' | 'fieldSelector'): [LabelSelectorRequirement, string][] =>
    (affinity[selector]?.matchExpressions ?? []).map((each, i) => [each, `${path}.${selector}.matchExpressions[${i}]`])
  for (const [requirement, field] of expressions('labelSelector')) faults.push(...labelFaults(requirement, field))
  for (const [requirement, field] of expressions('fieldSelector')) faults.push(...fieldFaults(requirement, field))
  return faults
}

const LABEL_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist']

function labelFaults(requirement: LabelSelectorRequirement, path: string): FieldFault[] {
  const { key, operator, values = [] } = requirement
  const faults = keyFaults(`${path}.key`, key, requirement)
  if (!LABEL_OPERATORS.includes(operator)) {
    faults.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator', requirement))
  } else if (operator.endsWith('In') && values.length === 0) {
    faults.push(requiredValue(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'", requirement))
  } else if (!operator.endsWith('In') && values.length > 0) {
    faults.push(
      forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'", requirement),
    )
  }
  return [...faults, ...values.flatMap((value, i) => valueFaults(`${path}.values[${i}]`, value, requirement))]
}

const CLUSTER_FIELDS = ['provider', 'region', 'zone']
const FIELD_OPERATORS = ['In', 'NotIn']

function fieldFaults(requirement: LabelSelectorRequirement, path: string): FieldFault[] {
  const { key, operator, values = [] } = requirement
  const faults: FieldFault[] = []
  if (!CLUSTER_FIELDS.includes(key)) faults.push(unsupportedValue(`${path}.key`, key, CLUSTER_FIELDS, requirement))
  if (!FIELD_OPERATORS.includes(operator)) {
    faults.push(unsupportedValue(`${path}.operator`, operator, FIELD_OPERATORS, requirement))
  }
  if (values.length === 0) faults.push(requiredValue(`${path}.values`, `which ${key}s to match`, requirement))
  return faults
}

function keyFaults(field: string, key: string, subject: unknown): FieldFault[] {
  return labelKeyFaults(key).map((fault) => invalidValue(field, key, fault, subject))
}

function valueFaults(field: string, value: string, subject: unknown): FieldFault[] {
  return labelValueFaults(value).map((fault) => invalidValue(field, value, fault, subject))
}

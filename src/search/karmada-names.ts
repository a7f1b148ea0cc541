/** The objects that Karmada's chain names: from what it propagates back to the policy, and from bindings and Works on. */
import type { JsonObject } from '../kube/columns/column.ts'
import { at, items, text } from '../kube/columns/read.ts'
import { parseApiVersion } from '../kube/group-version.ts'
import type { NamedObject, Relation, Subject } from './related-names.ts'

/**
 * Karmada writes on what it propagates (as annotations, older ones as labels) which policy, binding and work it came from.
 * Source: karmada pkg/apis/policy/v1alpha1/well_known_constants.go, work/v1alpha2/well_known_constants.go, work/v1alpha1.
 */
export function karmadaNames({ kind, group }: Subject, object: JsonObject): NamedObject[] {
  const mark = (of: string, key: string): string => text(at(object, 'metadata', of), key)
  const annotation = (key: string): string => mark('annotations', key) || mark('labels', key)
  const found: NamedObject[] = []
  const add = (relation: Relation, of: string, to: string, namespace: string, name: string, cluster = '*'): void => {
    if (name !== '') found.push({ relation, group: of, kind: to, namespace, name, cluster })
  }
  const policy = 'policy.karmada.io'
  const work = 'work.karmada.io'
  const space = 'propagationpolicy.karmada.io/namespace'
  add('policy', policy, 'PropagationPolicy', annotation(space), annotation('propagationpolicy.karmada.io/name'))
  add('policy', policy, 'ClusterPropagationPolicy', '', annotation('clusterpropagationpolicy.karmada.io/name'))
  const bindingSpace = annotation('resourcebinding.karmada.io/namespace')
  add('binding', work, 'ResourceBinding', bindingSpace, annotation('resourcebinding.karmada.io/name'))
  add('binding', work, 'ClusterResourceBinding', '', annotation('clusterresourcebinding.karmada.io/name'))
  add('work', work, 'Work', annotation('work.karmada.io/namespace'), annotation('work.karmada.io/name'))
  if (group === work && /^(Cluster)?ResourceBinding$/.test(kind)) found.push(...boundObjects(object))
  if (group === work && kind === 'Work') found.push(...workObjects(object), ...appliedOverrides(object))
  return found
}

/** Of a binding: its object, in each cluster that it was scheduled to. */
function boundObjects(binding: JsonObject): NamedObject[] {
  const resource = at(binding, 'spec', 'resource')
  const target = {
    relation: 'propagated',
    group: parseApiVersion(text(resource, 'apiVersion'))?.group ?? '',
    kind: text(resource, 'kind'),
    namespace: text(resource, 'namespace'),
    name: text(resource, 'name'),
  } as const
  return items(binding, 'spec', 'clusters').map((each) => ({ ...target, cluster: text(each, 'name') }))
}

/** A Work's namespace is that of its cluster. Source: karmada pkg/util/names, `karmada-es-`. */
export const EXECUTION_SPACE = 'karmada-es-'

function workObjects(work: JsonObject): NamedObject[] {
  const namespace = text(work, 'metadata', 'namespace')
  if (!namespace.startsWith(EXECUTION_SPACE)) return []
  return items(work, 'spec', 'workload', 'manifests').map((manifest) => ({
    relation: 'propagated',
    group: parseApiVersion(text(manifest, 'apiVersion'))?.group ?? '',
    kind: text(manifest, 'kind'),
    namespace: text(manifest, 'metadata', 'namespace'),
    name: text(manifest, 'metadata', 'name'),
    cluster: namespace.slice(EXECUTION_SPACE.length),
  }))
}

/**
 * What changed the object of a Work, in the object's namespace or none.
 * Source: karmada pkg/util/constants.go, pkg/util/overridemanager (`[{"policyName": …, "overriders": …}]`).
 */
function appliedOverrides(work: JsonObject): NamedObject[] {
  const [manifest] = items(work, 'spec', 'workload', 'manifests')
  const read = (key: string, kind: string, namespace: string): NamedObject[] =>
    parsedList(text(at(work, 'metadata', 'annotations'), `policy.karmada.io/${key}`))
      .map((each) => text(each, 'policyName'))
      .filter((name) => name !== '')
      .map((name) => ({ relation: 'policy', group: 'policy.karmada.io', kind, namespace, name, cluster: '*' }))
  return [
    ...read('applied-overrides', 'OverridePolicy', text(manifest, 'metadata', 'namespace')),
    ...read('applied-cluster-overrides', 'ClusterOverridePolicy', ''),
  ]
}

/** Nothing of what is no list: anybody may write annotations. */
function parsedList(json: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(json)
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

/**
 * Whether a cluster is one of a registry's targets: not excluded, and all of names, labels and fields match; what is left
 * out matches everything. Source: karmada pkg/util/selector.go, `ClusterMatches`.
 */
import type { ClusterAffinity, LabelSelectorRequirement } from '../api/resource-registry.ts'
import type { ClusterFacts } from '../fleet/member.ts'
import { labelSelectorFrom } from '../kube/label-selector.ts'
import { isStatusError } from '../kube/status-error.ts'

/** A selector that is malformed (an older program stored it unchecked) matches nothing, as in the original. */
export function matchesCluster(affinity: ClusterAffinity, facts: ClusterFacts): boolean {
  const { clusterNames = [], exclude = [], fieldSelector } = affinity
  if (exclude.includes(facts.name)) return false
  if (clusterNames.length > 0 && !clusterNames.includes(facts.name)) return false
  if (!(fieldSelector?.matchExpressions ?? []).every((requirement) => matchesField(requirement, facts))) return false
  return matchesLabels(affinity.labelSelector, facts.labels)
}

function matchesLabels(selector: ClusterAffinity['labelSelector'], labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return true
  try {
    return labelSelectorFrom(selector).matches((key) => (Object.hasOwn(labels, key) ? labels[key] : undefined))
  } catch (error) {
    if (isStatusError(error, 'badRequest')) return false
    throw error
  }
}

/** A cluster may lie in several zones: In wants all of them among the values, NotIn none. */
function matchesField({ key, operator, values = [] }: LabelSelectorRequirement, facts: ClusterFacts): boolean {
  const own = fieldValues(key, facts)
  if (own === undefined) return false
  switch (operator) {
    case 'In':
      return own.length > 0 && own.every((value) => values.includes(value))
    case 'NotIn':
      return !own.some((value) => values.includes(value))
    case 'Exists':
      return own.length > 0
    case 'DoesNotExist':
      return own.length === 0
    default:
      return false
  }
}

function fieldValues(key: string, facts: ClusterFacts): readonly string[] | undefined {
  switch (key) {
    case 'provider':
      return facts.provider === '' ? [] : [facts.provider]
    case 'region':
      return facts.region === '' ? [] : [facts.region]
    case 'zone':
      return facts.zones
    default:
      return undefined
  }
}

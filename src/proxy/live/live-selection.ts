/**
 * A field selector on what is read live: which members are asked, what they select by, and what is tested here. Members know
 * the fields of a real API server; `cluster` and any other path of the kind's schema are ours, as in lists from the cache.
 */
import { CLUSTER_FIELD, clusterPattern, parseFieldPath, type FieldSource } from '../../http/field-source.ts'
import type { ListOptions } from '../../http/list-options.ts'
import { compileSelection, type Selection } from '../../http/selection.ts'
import { fieldTextOf } from '../../kube/field-labels.ts'
import { FieldSelector, type FieldRequirement } from '../../kube/field-selector.ts'
import type { LiveTarget } from './target.ts'

export interface LiveSelection {
  /** With what the members are asked for. */
  readonly list: ListOptions
  /** Without the members that the selector leaves out. */
  readonly target: LiveTarget
  /** Left to test on each object. */
  readonly fields: Selection['fields']
}

/** `known`: undefined where objects cannot be tested here (a watch); then the members have the last word on every field. */
export async function liveSelection(
  list: ListOptions,
  target: LiveTarget,
  known: FieldSource | undefined,
): Promise<LiveSelection> {
  const clusters: FieldRequirement[] = []
  const pushed: FieldRequirement[] = []
  const tested: FieldRequirement[] = []
  for (const requirement of list.fieldSelector.requirements) {
    if (requirement.field === CLUSTER_FIELD) clusters.push(requirement)
    else if (await isTestedHere(requirement, target, known)) tested.push(requirement)
    else pushed.push(requirement)
  }
  const fieldSelector = new FieldSelector(tested)
  const { fields } = await compileSelection({ labelSelector: list.labelSelector, fieldSelector }, gvkOf(target), known)
  return {
    list: { ...list, fieldSelector: new FieldSelector(pushed) },
    target: clusters.length === 0 ? target : narrowed(target, clusters),
    fields,
  }
}

const gvkOf = ({ gvr, kind }: LiveTarget) => ({ ...gvr, kind })

/** What is no path of the schema is for the member to refuse, or to know. */
async function isTestedHere(
  { field }: FieldRequirement,
  target: LiveTarget,
  known: FieldSource | undefined,
): Promise<boolean> {
  const { group, kind } = gvkOf(target)
  if (known === undefined || fieldTextOf(group, kind, field) !== undefined) return false
  const path = parseFieldPath(field)
  return path !== undefined && (await known.exists(gvkOf(target), path))
}

function narrowed(target: LiveTarget, tests: readonly FieldRequirement[]): LiveTarget {
  const wanted = (cluster: string): boolean =>
    tests.every(({ operator, value }) => clusterPattern(value)(cluster) === (operator === '='))
  return {
    ...target,
    members: target.members.filter(({ facts }) => wanted(facts.name)),
    absent: target.absent.filter(({ cluster }) => wanted(cluster)),
  }
}

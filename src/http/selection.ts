/** Which objects a read wants, with what the cache can answer by itself kept apart from what needs each object parsed. */
import type { JsonObject } from '../kube/columns/column.ts'
import type { FieldRequirement } from '../kube/field-selector.ts'
import { compileFieldSelector, FieldSelector } from '../kube/field-selector.ts'
import type { GroupVersionKind } from '../kube/group-version.ts'
import type { LabelSelector } from '../kube/label-selector.ts'

export interface Selection {
  readonly namespace?: string
  readonly name?: string
  readonly labels?: LabelSelector
  /** Left to test on each parsed object. */
  readonly fields?: (object: JsonObject) => boolean
  /** Two parts contradict each other: nothing can match. */
  readonly nothing: boolean
}

export interface SelectionInput {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly labelSelector: LabelSelector
  readonly fieldSelector: FieldSelector
}

/** Throws `badRequest` for a field that a real server does not know for this kind. */
export function compileSelection(input: SelectionInput, gvk: GroupVersionKind): Selection {
  if (!input.fieldSelector.empty) compileFieldSelector(input.fieldSelector, gvk) // says which field is not known
  const rest: FieldRequirement[] = []
  let { namespace, name } = input
  let nothing = false
  for (const requirement of input.fieldSelector.requirements) {
    const { field, operator, value } = requirement
    if (operator === '=' && field === 'metadata.name') {
      nothing ||= name !== undefined && name !== value
      name = value
    } else if (operator === '=' && field === 'metadata.namespace') {
      nothing ||= namespace !== undefined && namespace !== value
      namespace = value
    } else rest.push(requirement)
  }
  return {
    nothing,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(input.labelSelector.empty ? {} : { labels: input.labelSelector }),
    ...(rest.length === 0 ? {} : { fields: compileFieldSelector(new FieldSelector(rest), gvk) }),
  }
}

/** An object of the cache as JSON values; only for reading fields: numbers beyond 2^53 lose digits. */
export function parseObject(bytes: Uint8Array): JsonObject {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return JSON.parse(text) as JsonObject
}

/** Which objects a read wants, with what the cache can answer by itself kept apart from what needs each object parsed. */
import type { JsonObject } from '../kube/columns/column.ts'
import type { FieldRequirement } from '../kube/field-selector.ts'
import { compileFieldSelector, FieldSelector } from '../kube/field-selector.ts'
import { fieldTextOf } from '../kube/field-labels.ts'
import type { GroupVersionKind } from '../kube/group-version.ts'
import type { LabelSelector } from '../kube/label-selector.ts'
import { badRequest } from '../kube/status-error.ts'
import { CLUSTER_FIELD, clusterPattern, type FieldSource, parseFieldPath, textsAt } from './field-source.ts'

export interface Selection {
  readonly namespace?: string
  readonly name?: string
  readonly labels?: LabelSelector
  /** Left to test on each parsed object. */
  readonly fields?: (object: JsonObject) => boolean
  /** Only objects of clusters of which this holds. */
  readonly clusters?: (cluster: string) => boolean
  /** Two parts contradict each other: nothing can match. */
  readonly nothing: boolean
}

export interface SelectionInput {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly labelSelector: LabelSelector
  readonly fieldSelector: FieldSelector
}

type Test = (object: JsonObject) => boolean

/** Throws `badRequest` for a field that neither a real server nor `known` knows for this kind. */
export async function compileSelection(
  input: SelectionInput,
  gvk: GroupVersionKind,
  known?: FieldSource,
): Promise<Selection> {
  const native: FieldRequirement[] = []
  const tests: Test[] = []
  const clusters: ((cluster: string) => boolean)[] = []
  let { namespace, name } = input
  let nothing = false
  for (const requirement of input.fieldSelector.requirements) {
    const { field, operator, value } = requirement
    const equal = operator === '='
    if (fieldTextOf(gvk.group, gvk.kind, field) !== undefined) {
      if (equal && field === 'metadata.name') {
        nothing ||= name !== undefined && name !== value
        name = value
      } else if (equal && field === 'metadata.namespace') {
        nothing ||= namespace !== undefined && namespace !== value
        namespace = value
      } else native.push(requirement)
    } else if (field === CLUSTER_FIELD) {
      const matches = clusterPattern(value)
      clusters.push((cluster) => matches(cluster) === equal)
    } else tests.push(await pathTest(requirement, gvk, known))
  }
  if (native.length > 0) tests.push(compileFieldSelector(new FieldSelector(native), gvk))
  return {
    nothing,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(input.labelSelector.empty ? {} : { labels: input.labelSelector }),
    ...(tests.length === 0 ? {} : { fields: (object: JsonObject) => tests.every((test) => test(object)) }),
    ...(clusters.length === 0 ? {} : { clusters: (cluster: string) => clusters.every((test) => test(cluster)) }),
  }
}

/** `=` where one of the values at the path is equal (the empty text: where there is none), `!=` where none is. */
async function pathTest(
  { field, operator, value }: FieldRequirement,
  gvk: GroupVersionKind,
  known: FieldSource | undefined,
): Promise<Test> {
  const path = parseFieldPath(field)
  if (path === undefined || known === undefined || !(await known.exists(gvk, path))) {
    throw badRequest(`field label not supported: ${field}`)
  }
  return (object) => {
    const texts = textsAt(object, path)
    return (texts.includes(value) || (value === '' && texts.length === 0)) === (operator === '=')
  }
}

/** An object of the cache as JSON values; only for reading fields: numbers beyond 2^53 lose digits. */
export function parseObject(bytes: Uint8Array): JsonObject {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return JSON.parse(text) as JsonObject
}

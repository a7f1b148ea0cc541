/** Which objects a list or watch asks for: namespace, name, label and field selectors, joined into one predicate. */
import { compileFieldSelector, parseFieldSelector } from '../../kube/field-selector.ts'
import { parseLabelSelector } from '../../kube/label-selector.ts'
import type { ResourceType } from './resource-type.ts'
import type { StoredObject } from './stored-object.ts'

export interface Selection {
  readonly matches: (object: StoredObject) => boolean
  /** Whether a label or field selector narrows it: then a server does not count what remains. */
  readonly selective: boolean
}

/** `namespace` is empty for all of them. Throws 400 for a malformed selector or a field the kind does not know. */
export function selectionOf(type: ResourceType, namespace: string, query: URLSearchParams): Selection {
  const labels = query.get('labelSelector') ?? ''
  const fields = query.get('fieldSelector') ?? ''
  const tests: ((object: StoredObject) => boolean)[] = []
  if (namespace !== '') tests.push((object) => object.namespace === namespace)
  if (labels !== '') {
    const selector = parseLabelSelector(labels)
    tests.push((object) => selector.matches((key) => object.metadata.labels?.[key]))
  }
  if (fields !== '') {
    const matches = compileFieldSelector(parseFieldSelector(fields), type)
    tests.push((object) => matches(object.value))
  }
  return { matches: (object) => tests.every((test) => test(object)), selective: labels !== '' || fields !== '' }
}

/** The values of a field of one object, for showing them. */
import type { ColumnValue, JsonObject, KindColumns } from '../kube/columns/column.ts'
import { apiVersionOf } from '../kube/group-version.ts'
import type { DocumentIdentity } from './document.ts'
import type { Field } from './fields.ts'
import { JsonWalker, type Leaves } from './json-walker.ts'

/** In the object's order; none where it has no such value. Objects and lists show their leaves. */
export function fieldValues(
  field: Field,
  object: JsonObject,
  identity: DocumentIdentity,
  columns: KindColumns | undefined,
): readonly ColumnValue[] {
  for (const each of [field, ...(field.also ?? [])]) {
    const found = valuesAt(each, object, identity, columns)
    if (found.length > 0) return found
  }
  return []
}

function valuesAt(
  { path }: Field,
  object: JsonObject,
  identity: DocumentIdentity,
  columns: KindColumns | undefined,
): readonly ColumnValue[] {
  if (path.startsWith('.')) return leavesBelow(path, object)
  if (path.startsWith('label.')) return keyed(object, 'labels', path.slice('label.'.length))
  if (path.startsWith('annotation.')) return keyed(object, 'annotations', path.slice('annotation.'.length))
  const own = identityValue(path, object, identity)
  if (own !== undefined) return own === '' ? [] : [own]
  const column = [...(columns?.columns ?? []), ...(columns?.extra ?? [])].find(({ field }) => field === path)
  const value = column?.value(object)
  const common = commonValues(path, object, identity)
  return value === undefined ? common : [...new Set([value, ...common])]
}

function identityValue(path: string, object: JsonObject, identity: DocumentIdentity): string | undefined {
  switch (path) {
    case 'cluster':
    case 'kind':
    case 'group':
    case 'resource':
    case 'namespace':
    case 'name':
    case 'uid':
      return identity[path]
    case 'apiversion':
      return apiVersionOf(identity)
    case 'created': {
      const created = record(object['metadata'])['creationTimestamp']
      return typeof created === 'string' ? created : ''
    }
    default:
      return undefined
  }
}

/** Of the fields that any kind may have. */
function commonValues(path: string, object: JsonObject, identity: DocumentIdentity): readonly string[] {
  if (path === 'owner') return owners(object)
  if (path !== 'image' && path !== 'node' && path !== 'ip') return []
  const found = new Set<string>()
  const leaves = { ...IGNORE, [path]: (text: string) => found.add(text) }
  new JsonWalker().walk(object, identity, leaves)
  found.delete('')
  return [...found]
}

const IGNORE: Leaves = {
  text: () => undefined,
  number: () => undefined,
  boolean: () => undefined,
  empty: () => undefined,
  image: () => undefined,
  node: () => undefined,
  ip: () => undefined,
  words: () => undefined,
}

function owners(object: JsonObject): string[] {
  const references = record(object['metadata'])['ownerReferences']
  const names = Array.isArray(references) ? references.map((reference) => record(reference)['name']) : []
  return names.filter((name) => typeof name === 'string')
}

/** Of a label or an annotation: one, or none. */
export function keyed(object: JsonObject, map: 'labels' | 'annotations', key: string): string[] {
  const entries = record(record(object['metadata'])[map])
  const value = Object.hasOwn(entries, key) ? entries[key] : undefined
  return typeof value === 'string' ? [value] : []
}

/** Keys compare without regard to case, as in terms; a key may itself have dots. */
function leavesBelow(path: string, object: JsonObject): ColumnValue[] {
  const found = new Set<ColumnValue>()
  collect(object, path, found)
  return [...found]
}

function collect(value: unknown, path: string, into: Set<ColumnValue>): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, path, into)
    return
  }
  if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      const prefix = `.${key.toLowerCase()}`
      if (path === '' || path === prefix) collect(child, '', into)
      else if (path.startsWith(`${prefix}.`)) collect(child, path.slice(prefix.length), into)
    }
    return
  }
  if (path !== '') return
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') into.add(value)
  else if (typeof value === 'bigint') into.add(value.toString())
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

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

/** Keys compare without regard to case, as in terms; a key may itself have dots. Without recursion: see `json-deep.ts`. */
function leavesBelow(path: string, object: JsonObject): ColumnValue[] {
  const found = new Set<ColumnValue>()
  const ahead: Placed[] = [{ value: object, left: path }]
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (typeof next.value === 'object' && next.value !== null) {
      for (const child of childrenOn(next.value, next.left).reverse()) ahead.push(child)
    } else if (next.left === '') addLeaf(next.value, found)
  }
  return [...found]
}

/** A value and what is left of the path below it. */
interface Placed {
  readonly value: unknown
  readonly left: string
}

function childrenOn(value: object, left: string): Placed[] {
  if (Array.isArray(value)) return value.map((item: unknown) => ({ value: item, left }))
  return Object.entries(value).flatMap(([key, child]): Placed[] => {
    const prefix = `.${key.toLowerCase()}`
    if (left === '' || left === prefix) return [{ value: child, left: '' }]
    return left.startsWith(`${prefix}.`) ? [{ value: child, left: left.slice(prefix.length) }] : []
  })
}

function addLeaf(value: unknown, into: Set<ColumnValue>): void {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') into.add(value)
  else if (typeof value === 'bigint') into.add(value.toString())
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

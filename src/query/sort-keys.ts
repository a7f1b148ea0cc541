/**
 * What an object sorts by, as text whose UTF-8 bytes are in its order; null where it has no value. The keys of a store's
 * documents, and those of values that no store has keys of: of labels, annotations and JSON paths.
 */
import type { JsonObject } from '../kube/columns/column.ts'
import { apiVersionOf } from '../kube/group-version.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { DocumentIdentity } from './document.ts'
import { keyed } from './field-values.ts'
import { rulesOf } from './index-rules.ts'
import { MAX_DEPTH } from './json-walker.ts'
import { NUMBER, sortableNumber, sortableText, sortableTime, TIME } from './sortable.ts'
import { exactValue } from './tokens.ts'

export type SortKey = string | null

/** What is missing comes last in both directions. */
export function compareSortKeys(a: SortKey, b: SortKey, descending: boolean): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return descending ? compareUtf8(b, a) : compareUtf8(a, b)
}

/** Undefined for a field that is not of an object's identity. */
export function identitySortKey(
  identity: Omit<DocumentIdentity, 'resourceVersion'>,
  field: string,
): SortKey | undefined {
  switch (field) {
    case 'cluster':
    case 'kind':
    case 'name':
      return sortableText(identity[field])
    case 'group':
    case 'resource':
    case 'uid':
      return identity[field]
    case 'apiversion':
      return apiVersionOf(identity)
    case 'namespace':
      return identity.namespace === '' ? null : identity.namespace
    default:
      return undefined
  }
}

/** Whether it is a label, an annotation or a JSON path (`term.ts`), of which stores have no keys. */
export function isKeyedByValue(path: string): boolean {
  return path.startsWith('.') || path.startsWith('label.') || path.startsWith('annotation.')
}

/**
 * By the first value that the object has at such a path. Labels and annotations are texts; of a path's values numbers and
 * quantities come first, then times, then texts, among which are `false` and `true`.
 */
export function valueSortKey(path: string, object: JsonObject, kind: { group: string; kind: string }): SortKey {
  if (path.startsWith('label.')) return textKey(keyed(object, 'labels', path.slice('label.'.length))[0])
  if (path.startsWith('annotation.')) return textKey(keyed(object, 'annotations', path.slice('annotation.'.length))[0])
  return leafKey(firstLeaf(object, path, (key) => rulesOf(`.${key}`, kind.group, kind.kind).keysOnly))
}

function textKey(value: string | undefined): SortKey {
  return value === undefined ? null : sortableText(exactValue(value))
}

function leafKey(value: Leaf | undefined): SortKey {
  if (value === undefined) return null
  const text = exactValue(String(value))
  if (typeof value !== 'boolean') {
    const number = sortableNumber(text)
    if (number !== undefined) return NUMBER + number
    const time = sortableTime(text)
    if (time !== undefined) return TIME + time
  }
  return sortableText(text)
}

type Leaf = string | number | bigint | boolean

/**
 * Keys are without regard to case and may have dots; below a secret one (`isSecret`, of the first) there is nothing, nor is
 * there deeper than documents are made of.
 */
function firstLeaf(value: unknown, path: string, isSecret?: (key: string) => boolean, depth = 0): Leaf | undefined {
  if (depth > MAX_DEPTH && typeof value === 'object') return undefined
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = firstLeaf(item, path, undefined, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      const prefix = `.${key.toLowerCase()}`
      if (!path.startsWith(prefix) || isSecret?.(key) === true) continue
      const rest = path.slice(prefix.length)
      if (rest !== '' && !rest.startsWith('.')) continue
      if (rest === '' && isObject(child)) continue // what is below it has paths of its own
      const found = firstLeaf(child, rest, undefined, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  return path === '' && value !== null && value !== undefined ? (value as Leaf) : undefined
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

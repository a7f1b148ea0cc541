/**
 * What a store is given of an object: its identity, its terms (`term.ts`), the words of its free text in three tiers and
 * the keys it sorts by. Derived from the canonical bytes alone, the same for every store. No bodies, no secret values.
 */
import { isIP } from 'node:net'
import { apiVersionOf } from '../kube/group-version.ts'
import { parseExact } from '../kube/json-exact.ts'
import type { ColumnType, JsonObject, KindColumns } from '../kube/columns/column.ts'
import { isIdentityField } from './fields.ts'
import { isIndexedAnnotation } from './index-rules.ts'
import { JsonWalker, type Leaves } from './json-walker.ts'
import {
  IP,
  NUMBER,
  sortableIp,
  sortableNumber,
  sortableText,
  sortableTime,
  sortableVersion,
  TIME,
  VERSION,
} from './sortable.ts'
import { addValueTerms, ALL_TERM, termOf } from './term.ts'
import { exactValue, words } from './tokens.ts'

export interface DocumentIdentity {
  readonly cluster: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

/** Between the words of two values: no phrase matches across it. */
export const BOUNDARY = ''

export interface SearchDocument extends DocumentIdentity {
  readonly terms: ReadonlySet<string>
  /** Words in their order, `BOUNDARY` between values: of the name, of labels and images, of the rest. */
  readonly nameWords: readonly string[]
  readonly strongWords: readonly string[]
  readonly otherWords: readonly string[]
  /** By path, of the first value each; identity fields (cluster, kind, …) are left to the store. */
  readonly sortKeys: ReadonlyMap<string, string>
}

/** Above it the rest of an object is not indexed: 20 times a large pod. */
const MAX_TERMS = 6_000
const MAX_WORDS = 4_000
/** Longer annotations are data, not something people look for by its words. */
const MAX_TEXT_CHARS = 1_024

/** Builds documents; keeps what it learns of paths, so use one for many objects. */
export class DocumentBuilder {
  readonly #walker = new JsonWalker()

  /** Throws `SyntaxError` for bytes that are no JSON. */
  build(identity: DocumentIdentity, bytes: Uint8Array, columns: KindColumns | undefined): SearchDocument {
    const object = parseExact(bytes) as JsonObject
    const draft = new Draft(identity)
    draft.addColumns(object, columns) // first: objects sort by what their columns show
    draft.addMetadata(object)
    this.#walker.walk(object, identity, draft)
    return draft.finish()
  }
}

class Draft implements Leaves {
  readonly #identity: DocumentIdentity
  readonly #terms = new Set<string>([ALL_TERM])
  readonly #name: string[]
  readonly #strong: string[] = []
  readonly #other: string[] = []
  readonly #sortKeys = new Map<string, string>()

  constructor(identity: DocumentIdentity) {
    this.#identity = identity
    const { cluster, kind, group, resource, namespace, name, uid } = identity
    this.#name = words(name)
    this.#value('cluster', cluster)
    this.#value('kind', kind)
    this.#value('group', group)
    this.#value('apiversion', apiVersionOf(identity))
    this.#value('resource', resource)
    this.#value('name', exactValue(name))
    this.#terms.add(termOf('uid', '=', uid))
    if (namespace !== '') this.#value('namespace', namespace)
    this.#text(this.#other, namespace === '' ? '' : `${namespace}/${name}`)
    this.#text(this.#other, kind)
    this.#text(this.#other, cluster)
  }

  addMetadata(object: JsonObject): void {
    const metadata = record(object['metadata'])
    for (const [key, value] of Object.entries(record(metadata['labels']))) {
      if (typeof value !== 'string') continue
      this.#value(`label.${pathKey(key)}`, exactValue(value))
      this.#text(this.#strong, `${key}=${value}`)
    }
    for (const [key, value] of Object.entries(record(metadata['annotations']))) {
      if (typeof value !== 'string' || !isIndexedAnnotation(key)) continue
      this.#value(`annotation.${pathKey(key)}`, exactValue(value))
      this.#text(this.#other, value.length > MAX_TEXT_CHARS ? key : `${key}=${value}`)
    }
    this.#owners(metadata['ownerReferences'])
    const created = metadata['creationTimestamp']
    if (typeof created === 'string') this.#typed('created', 'time', created)
  }

  /** A string, number or boolean at a JSON path. */
  value(path: string, text: string, type: 'string' | 'number' | 'boolean'): void {
    if (this.#terms.size > MAX_TERMS) return
    const value = exactValue(text)
    if (type !== 'string') {
      this.#terms.add(termOf(path, '=', value))
      if (type === 'number') this.#sortable(path, NUMBER, sortableNumber(text))
      return
    }
    const first = value.charCodeAt(0)
    if ((first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e) {
      const number = sortableNumber(value)
      const time = number === undefined ? sortableTime(value) : undefined
      this.#sortable(path, NUMBER, number)
      this.#sortable(path, TIME, time)
      if (time !== undefined) {
        this.#terms.add(termOf(path, '=', value))
        return
      }
    }
    this.#value(path, value)
  }

  empty(path: string): void {
    this.#terms.add(termOf(path, '+', ''))
  }

  image(text: string): void {
    this.#typed('image', 'keyword', text)
    this.#text(this.#strong, text)
  }

  node(text: string): void {
    if (text === '') return
    this.#typed('node', 'keyword', text)
    this.#text(this.#other, text)
  }

  ip(text: string): void {
    if (isIP(text) === 0) return
    this.#typed('ip', 'ip', text)
    this.#text(this.#other, text)
  }

  words(text: string): void {
    this.#text(this.#other, text)
  }

  addColumns(object: JsonObject, kind: KindColumns | undefined): void {
    for (const { field, type, value: valueOf } of [...(kind?.columns ?? []), ...(kind?.extra ?? [])]) {
      const value = isIdentityField(field) ? undefined : valueOf(object)
      if (value !== undefined) this.#typed(field, type, String(value))
    }
    // A kind's own VERSION (a node's kubelet) is what `version` means there, the API version elsewhere.
    if (!this.#sortKeys.has('version')) this.#typed('version', 'keyword', this.#identity.version)
  }

  finish(): SearchDocument {
    return {
      ...this.#identity,
      terms: this.#terms,
      nameWords: this.#name,
      strongWords: this.#strong,
      otherWords: this.#other,
      sortKeys: this.#sortKeys,
    }
  }

  #owners(references: unknown): void {
    if (!Array.isArray(references)) return
    for (const reference of references) {
      const { name } = record(reference)
      if (typeof name !== 'string') continue
      this.#typed('owner', 'keyword', name)
      this.#text(this.#other, name)
    }
  }

  #typed(path: string, type: ColumnType, text: string): void {
    const value = exactValue(text)
    const key = typedKey(type, value)
    if (key === undefined) this.#value(path, value)
    else {
      this.#terms.add(termOf(path, '=', value))
      if (type === 'version' || type === 'ip') this.#value(path, value)
      this.#terms.add(termOf(path, key.mark, key.key))
    }
    if (!this.#sortKeys.has(path))
      this.#sortKeys.set(path, key === undefined ? sortableText(value) : key.mark + key.key)
  }

  #value(path: string, value: string): void {
    if (this.#terms.size <= MAX_TERMS) addValueTerms(this.#terms, path, value)
  }

  #sortable(path: string, mark: typeof NUMBER | typeof TIME, key: string | undefined): void {
    if (key !== undefined) this.#terms.add(termOf(path, mark, key))
  }

  #text(into: string[], text: string): void {
    if (text === '' || into.length > MAX_WORDS) return
    const found = words(text.length > MAX_TEXT_CHARS ? text.slice(0, MAX_TEXT_CHARS) : text)
    if (found.length === 0) return
    if (into.length > 0) into.push(BOUNDARY)
    for (const word of found) into.push(word)
  }
}

/** How a value of a typed field sorts and compares; undefined for text, and for a value that is not of the type. */
export function typedKey(type: ColumnType, value: string): { mark: '#' | '@' | '^' | '%'; key: string } | undefined {
  const marked = (mark: '#' | '@' | '^' | '%', key: string | undefined) =>
    key === undefined ? undefined : { mark, key }
  switch (type) {
    case 'int':
    case 'quantity':
    case 'duration':
      return marked(NUMBER, sortableNumber(value))
    case 'time':
      return marked(TIME, sortableTime(value))
    case 'version':
      return marked(VERSION, sortableVersion(value))
    case 'ip':
      return marked(IP, sortableIp(value))
    case 'keyword':
    case 'text':
    case 'bool':
      return undefined
  }
}

/** A key inside a path: separators of ours become spaces. */
export function pathKey(key: string): string {
  return exactValue(key)
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

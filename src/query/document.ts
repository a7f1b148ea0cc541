/**
 * What a store is given of an object: its identity, its terms (`term.ts`), the words of its free text in three tiers and
 * the keys it sorts by. Derived from the canonical bytes alone, the same for every store. No bodies, no secret values.
 */
import { isIP } from 'node:net'
import { apiVersionOf } from '../kube/group-version.ts'
import { parseExact } from '../kube/json-exact.ts'
import type { Column, ColumnType, JsonObject, KindColumns } from '../kube/columns/column.ts'
import { emptySecrets, mayEmbedSecrets } from './embedded-secrets.ts'
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
  type SortableMark,
} from './sortable.ts'
import { ALL_TERM, keyedPath, termOf } from './term.ts'
import { TermText, WordText } from './term-text.ts'
import { exactValue } from './tokens.ts'

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

export interface SearchDocument extends DocumentIdentity {
  /** One on each line (`term.ts`). */
  readonly terms: string
  /** One on each line, `BOUNDARY` between values: the words of the name, of labels and images, of the rest. */
  readonly nameWords: string
  readonly strongWords: string
  readonly otherWords: string
  /** By path, of the first value each; identity fields (cluster, kind, …) are left to the store. */
  readonly sortKeys: ReadonlyMap<string, string>
  /** By path, all of them in their order, each once, as text. */
  readonly values: ReadonlyMap<string, readonly string[]>
}

/** A longer annotation is data; only its key stands in the free text. */
const MAX_ANNOTATION_WORDS = 1_024

/** Builds documents; keeps what it learns of paths, so use one for many objects. */
export class DocumentBuilder {
  readonly #walker = new JsonWalker()

  /** Throws `SyntaxError` for bytes that are no JSON. */
  build(identity: DocumentIdentity, bytes: Uint8Array, columns: KindColumns | undefined): SearchDocument {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
    const hide = mayEmbedSecrets(text)
    const object = JSON.parse(text) as JsonObject
    if (hide) emptySecrets(object)
    const draft = this.#draft(identity, object, columns)
    if (draft !== undefined) return draft
    // It has an integer that JavaScript cannot hold: once more, the slow and exact way.
    const exact = parseExact(bytes) as JsonObject
    if (hide) emptySecrets(exact)
    return this.#draft(identity, exact, columns) as SearchDocument
  }

  #draft(identity: DocumentIdentity, object: JsonObject, columns: KindColumns | undefined): SearchDocument | undefined {
    const draft = new Draft(identity)
    draft.addColumns(object, columns) // first: objects sort by what their columns show
    draft.addMetadata(object)
    return this.#walker.walk(object, identity, draft) ? draft.finish() : undefined
  }
}

class Draft implements Leaves {
  readonly #identity: DocumentIdentity
  readonly #terms = new TermText(ALL_TERM)
  readonly #name = new WordText()
  readonly #strong = new WordText()
  readonly #other = new WordText()
  readonly #sortKeys = new Map<string, string>()
  /** Of fields that several paths of an object may give. */
  readonly #values = new Map<string, string[]>()

  constructor(identity: DocumentIdentity) {
    this.#identity = identity
    const { cluster, kind, group, resource, namespace, name, uid } = identity
    this.#terms.addPieced('cluster', exactValue(cluster))
    this.#terms.addPieced('kind', kind)
    this.#terms.addPieced('group', group)
    this.#terms.addPieced('apiversion', apiVersionOf(identity))
    this.#terms.addPieced('resource', resource)
    this.#terms.addPieced('name', exactValue(name))
    this.#terms.add(termOf('uid', '=', uid))
    if (namespace !== '') this.#terms.addPieced('namespace', namespace)
    this.#name.add(name)
    this.#other.add(namespace === '' ? '' : `${namespace}/${name}`)
    this.#other.add(kind)
    this.#other.add(cluster)
  }

  addColumns(object: JsonObject, kind: KindColumns | undefined): void {
    if (kind !== undefined) {
      for (const column of kind.columns) this.#column(object, column)
      for (const field of kind.extra ?? []) this.#column(object, field)
    }
    // A kind's own VERSION (a node's kubelet) is what `version` means there, the API version elsewhere.
    if (!this.#sortKeys.has('version')) this.#typed('version', 'keyword', this.#identity.version)
  }

  addMetadata(object: JsonObject): void {
    const metadata = record(object['metadata'])
    for (const [key, value] of Object.entries(record(metadata['labels']))) {
      if (typeof value !== 'string') continue
      this.#terms.addPieced(keyedPath('label', key), exactValue(value))
      this.#strong.add(`${key}=${value}`)
    }
    for (const [key, value] of Object.entries(record(metadata['annotations']))) {
      if (typeof value !== 'string' || !isIndexedAnnotation(key)) continue
      this.#terms.addText(keyedPath('annotation', key), value)
      this.#other.add(value.length > MAX_ANNOTATION_WORDS ? key : `${key}=${value}`)
    }
    this.#owners(metadata['ownerReferences'])
    const created = metadata['creationTimestamp']
    if (typeof created === 'string') this.#typed('created', 'time', created)
  }

  text(path: string, text: string): void {
    this.#terms.addText(path, text)
  }

  number(path: string, text: string): void {
    this.#terms.addNumber(path, text)
  }

  boolean(path: string, text: string): void {
    this.#terms.add(termOf(path, '=', text))
  }

  empty(path: string): void {
    this.#terms.add(termOf(path, '+', ''))
  }

  image(text: string): void {
    if (text !== '') this.#typed('image', 'keyword', text)
  }

  node(text: string): void {
    if (text !== '') this.#typed('node', 'keyword', text)
  }

  ip(text: string): void {
    if (isIP(text) !== 0) this.#typed('ip', 'ip', text)
  }

  words(text: string): void {
    this.#other.add(text)
  }

  finish(): SearchDocument {
    return {
      ...this.#identity,
      terms: this.#terms.toString(),
      nameWords: this.#name.toString(),
      strongWords: this.#strong.toString(),
      otherWords: this.#other.toString(),
      sortKeys: this.#sortKeys,
      values: this.#values,
    }
  }

  #column(object: JsonObject, { field, type, value: valueOf }: Pick<Column, 'field' | 'type' | 'value'>): void {
    const value = isIdentityField(field) ? undefined : valueOf(object)
    if (value !== undefined) this.#typed(field, type, String(value))
  }

  #owners(references: unknown): void {
    if (!Array.isArray(references)) return
    for (const reference of references) {
      const { name } = record(reference)
      if (typeof name === 'string') this.#typed('owner', 'keyword', name)
    }
  }

  /** A value of a field, once. What is not of the field's type is taken as text. */
  #typed(path: string, type: ColumnType, text: string): void {
    const value = exactValue(text)
    const known = this.#values.get(path)
    if (known?.includes(value) === true) return
    if (known === undefined) this.#values.set(path, [value])
    else known.push(value)
    const found = typedKey(type, value)
    if (known === undefined)
      this.#sortKeys.set(path, found === undefined ? sortableText(value) : found.mark + found.key)
    this.#addTyped(path, type, value, found)
    if (path === 'image') this.#strong.add(text)
    if (path === 'node' || path === 'ip' || path === 'owner') this.#other.add(text)
  }

  #addTyped(path: string, type: ColumnType, value: string, found: TypedKey | undefined): void {
    if (type === 'quantity') return this.#terms.addQuantity(path, value)
    if (found === undefined || found.mark === VERSION) this.#terms.addPieced(path, value)
    else if (found.mark === IP) this.#terms.add(termOf(path, '=', value))
    if (found !== undefined) this.#terms.add(termOf(path, found.mark, found.key))
  }
}

interface TypedKey {
  readonly mark: SortableMark
  readonly key: string
}

/** How a value of a typed field sorts and compares; undefined for text, and for a value that is not of the type. */
function typedKey(type: ColumnType, value: string): TypedKey | undefined {
  const marked = (mark: SortableMark, key: string | undefined) => (key === undefined ? undefined : { mark, key })
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

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

/**
 * What a store is given of an object: its identity, its terms (`term.ts`), the words of its free text in three tiers and
 * the keys it sorts by. Derived from the canonical bytes alone, the same for every store. No bodies, no secret values.
 */
import { apiVersionOf } from '../kube/group-version.ts'
import { parseExact } from '../kube/json-exact.ts'
import type { Column, JsonObject, KindColumns } from '../kube/columns/column.ts'
import { emptySecrets, mayEmbedSecrets } from './embedded-secrets.ts'
import { isIdentityField } from './fields.ts'
import { isIndexedAnnotation } from './index-rules.ts'
import { JsonWalker, type LeafPath, type Leaves } from './json-walker.ts'
import { ALL_TERM, termOf } from './term.ts'
import { numberLine, TermText, textLines, WordText } from './term-text.ts'
import { annotationText, labelText, piecedTerms, typedField, type FieldText, type TypedField } from './typed-field.ts'

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

const IMAGE = typedField('image', 'keyword')
const NODE = typedField('node', 'keyword')
const ADDRESS = typedField('ip', 'ip')
const OWNER = typedField('owner', 'keyword')
const CREATED = typedField('created', 'time')
const KIND_VERSION = typedField('version', 'keyword')

interface ColumnField {
  readonly field: TypedField
  readonly value: Column['value']
}

const columnFields = new WeakMap<KindColumns, readonly ColumnField[]>()

/** A kind's columns and further fields but those of identity, which stores have anyway. */
function fieldsOf(kind: KindColumns): readonly ColumnField[] {
  let found = columnFields.get(kind)
  if (found === undefined) {
    const own = [...kind.columns, ...(kind.extra ?? [])].filter(({ field }) => !isIdentityField(field))
    found = own.map((column) => ({
      field: typedField(column.field, column.type),
      value: (object) => column.value(object),
    }))
    columnFields.set(kind, found)
  }
  return found
}

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
    this.#terms.add(piecedTerms('cluster', cluster))
    this.#terms.add(piecedTerms('kind', kind))
    this.#terms.add(piecedTerms('group', group))
    this.#terms.add(piecedTerms('apiversion', apiVersionOf(identity)))
    this.#terms.add(piecedTerms('resource', resource))
    this.#terms.add(piecedTerms('name', name))
    this.#terms.add(termOf('uid', '=', uid))
    if (namespace !== '') this.#terms.add(piecedTerms('namespace', namespace))
    this.#name.add(name)
    this.#other.add(namespace === '' ? '' : `${namespace}/${name}`)
    this.#other.add(kind)
    this.#other.add(cluster)
  }

  addColumns(object: JsonObject, kind: KindColumns | undefined): void {
    if (kind !== undefined) {
      for (const { field, value: valueOf } of fieldsOf(kind)) {
        const value = valueOf(object)
        if (value !== undefined) this.#add(field, String(value))
      }
    }
    // A kind's own VERSION (a node's kubelet) is what `version` means there, the API version elsewhere.
    if (!this.#sortKeys.has('version')) this.#add(KIND_VERSION, this.#identity.version)
  }

  addMetadata(object: JsonObject): void {
    const metadata = record(object['metadata'])
    for (const [key, value] of Object.entries(record(metadata['labels']))) {
      if (typeof value !== 'string') continue
      const { terms, words } = labelText(key, value)
      this.#terms.add(terms)
      this.#strong.addLines(words)
    }
    for (const [key, value] of Object.entries(record(metadata['annotations']))) {
      if (typeof value !== 'string' || !isIndexedAnnotation(key)) continue
      const { terms, words } = annotationText(key, value)
      this.#terms.add(terms)
      this.#other.addLines(words)
    }
    this.#owners(metadata['ownerReferences'])
    const created = metadata['creationTimestamp']
    if (typeof created === 'string') this.#add(CREATED, created)
  }

  text(path: LeafPath, text: string): void {
    this.#terms.add(textLines(path, text))
  }

  number({ path }: LeafPath, text: string): void {
    this.#terms.add(numberLine(path, text))
  }

  boolean({ exact }: LeafPath, text: string): void {
    this.#terms.add(exact + text)
  }

  empty({ path }: LeafPath): void {
    this.#terms.add(termOf(path, '+', ''))
  }

  image(text: string): void {
    if (text !== '') this.#add(IMAGE, text)
  }

  node(text: string): void {
    if (text !== '') this.#add(NODE, text)
  }

  ip(text: string): void {
    const found = ADDRESS.of(text)
    if (found.typed) this.#addText(ADDRESS, found)
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

  #owners(references: unknown): void {
    if (!Array.isArray(references)) return
    for (const reference of references) {
      const { name } = record(reference)
      if (typeof name === 'string') this.#add(OWNER, name)
    }
  }

  #add(field: TypedField, text: string): void {
    this.#addText(field, field.of(text))
  }

  /** A value of a field, once. */
  #addText({ path }: TypedField, { value, terms, sortKey, words }: FieldText): void {
    const known = this.#values.get(path)
    if (known === undefined) {
      this.#values.set(path, [value])
      this.#sortKeys.set(path, sortKey)
    } else {
      if (known.includes(value)) return
      known.push(value)
    }
    this.#terms.add(terms)
    if (path === 'image') this.#strong.addLines(words)
    else this.#other.addLines(words)
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

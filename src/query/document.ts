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
import type { TermForm, TermSheet } from './term-form.ts'
import { FieldTexts, type FieldText, type TypedField } from './typed-field.ts'
import { WordText } from './word-text.ts'

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

export interface SearchDocument<Terms = string> extends DocumentIdentity {
  /** In the form asked for; by default one on each line (`term-lines.ts`). */
  readonly terms: Terms
  /** One on each line, `BOUNDARY` between values: the words of the name, of labels and images, of the rest. */
  readonly nameWords: string
  readonly strongWords: string
  readonly otherWords: string
  /** By path, of the first value each; identity fields (cluster, kind, …) are left to the store. */
  readonly sortKeys: ReadonlyMap<string, string>
  /** By path, all of them in their order, each once, as text. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** What it was made of; without the values of Secrets inside of other objects. */
  readonly object: JsonObject
}

interface ColumnField<Part> {
  readonly field: TypedField<Part>
  readonly value: Column['value']
}

/** The fields of documents whose terms are of one form. */
class DocumentFields<Part> {
  readonly texts: FieldTexts<Part>
  readonly uid: (terms: readonly string[]) => Part
  readonly image: TypedField<Part>
  readonly node: TypedField<Part>
  readonly address: TypedField<Part>
  readonly owner: TypedField<Part>
  readonly created: TypedField<Part>
  readonly version: TypedField<Part>
  readonly #ofKinds = new WeakMap<KindColumns, readonly ColumnField<Part>[]>()

  constructor(form: TermForm<Part, unknown>) {
    this.texts = new FieldTexts(form)
    this.uid = form.of('uid')
    this.image = this.texts.field('image', 'keyword')
    this.node = this.texts.field('node', 'keyword')
    this.address = this.texts.field('ip', 'ip')
    this.owner = this.texts.field('owner', 'keyword')
    this.created = this.texts.field('created', 'time')
    this.version = this.texts.field('version', 'keyword')
  }

  /** Of all builders of a form: what they remember of values is shared. */
  static of<Part>(form: TermForm<Part, unknown>): DocumentFields<Part> {
    let found = fieldsOfForms.get(form)
    if (found === undefined) fieldsOfForms.set(form, (found = new DocumentFields(form)))
    return found as DocumentFields<Part>
  }

  /** A kind's columns and further fields but those of identity, which stores have anyway. */
  ofKind(kind: KindColumns): readonly ColumnField<Part>[] {
    let found = this.#ofKinds.get(kind)
    if (found === undefined) {
      const own = [...kind.columns, ...(kind.extra ?? [])].filter(({ field }) => !isIdentityField(field))
      found = own.map((column) => ({
        field: this.texts.field(column.field, column.type),
        value: (object) => column.value(object),
      }))
      this.#ofKinds.set(kind, found)
    }
    return found
  }
}

/** Of paths and values; above it the rest of an object has no terms: 20 times a large pod. */
const MAX_TERM_CHARS = 256 * 1024
/** What a term has beside its path and value, and how much of a value one holds. */
const TERM_CHARS = 4
const MAX_VALUE_CHARS = 8_191

/** So many values are sooner looked through than hashed. */
const FEW = 16

const fieldsOfForms = new WeakMap<object, unknown>()

/** Builds documents; keeps what it learns of paths, so use one for many objects. */
export class DocumentBuilder<Part, Terms> {
  readonly #form: TermForm<Part, Terms>
  readonly #fields: DocumentFields<Part>
  readonly #walker: JsonWalker

  constructor(form: TermForm<Part, Terms>) {
    this.#form = form
    this.#fields = DocumentFields.of(form)
    this.#walker = new JsonWalker(form.spell)
  }

  /** Throws `SyntaxError` for bytes that are no JSON. */
  build(identity: DocumentIdentity, bytes: Uint8Array, columns: KindColumns | undefined): SearchDocument<Terms> {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
    const hide = mayEmbedSecrets(text)
    const object = JSON.parse(text) as JsonObject
    if (hide) emptySecrets(object)
    const draft = this.#draft(identity, object, columns)
    if (draft !== undefined) return draft
    // It has an integer that JavaScript cannot hold: once more, the slow and exact way.
    const exact = parseExact(bytes) as JsonObject
    if (hide) emptySecrets(exact)
    return this.#draft(identity, exact, columns) as SearchDocument<Terms>
  }

  #draft(
    identity: DocumentIdentity,
    object: JsonObject,
    columns: KindColumns | undefined,
  ): SearchDocument<Terms> | undefined {
    const draft = new Draft(identity, this.#fields, this.#form.sheet())
    draft.addColumns(object, columns) // first: objects sort by what their columns show
    draft.addMetadata(object)
    return this.#walker.walk(object, identity, draft) ? draft.finish(object) : undefined
  }
}

class Draft<Part, Terms> implements Leaves {
  readonly #identity: DocumentIdentity
  readonly #fields: DocumentFields<Part>
  readonly #terms: TermSheet<Part, Terms>
  readonly #name = new WordText()
  readonly #strong = new WordText()
  readonly #other = new WordText()
  readonly #sortKeys = new Map<string, string>()
  /** Of fields that several paths of an object may give. */
  readonly #values = new Map<string, string[]>()
  /** The same, of those with more than a few. */
  readonly #many = new Map<string, Set<string>>()
  #chars = 0

  constructor(identity: DocumentIdentity, fields: DocumentFields<Part>, terms: TermSheet<Part, Terms>) {
    this.#identity = identity
    this.#fields = fields
    this.#terms = terms
    const { texts } = fields
    const { cluster, kind, group, resource, namespace, name, uid } = identity
    this.#terms.add(texts.pieced('cluster', cluster))
    this.#terms.add(texts.pieced('kind', kind))
    this.#terms.add(texts.pieced('group', group))
    this.#terms.add(texts.pieced('apiversion', apiVersionOf(identity)))
    this.#terms.add(texts.pieced('resource', resource))
    this.#terms.add(texts.pieced('name', name))
    this.#terms.add(fields.uid([`=${uid}`]))
    if (namespace !== '') this.#terms.add(texts.pieced('namespace', namespace))
    this.#name.add(name)
    this.#other.add(namespace === '' ? '' : `${namespace}/${name}`)
    this.#other.add(kind)
    this.#other.add(cluster)
  }

  addColumns(object: JsonObject, kind: KindColumns | undefined): void {
    if (kind !== undefined) {
      for (const { field, value: valueOf } of this.#fields.ofKind(kind)) {
        const value = valueOf(object)
        if (value !== undefined) this.#add(field, String(value))
      }
    }
    // A kind's own VERSION (a node's kubelet) is what `version` means there, the API version elsewhere.
    if (!this.#sortKeys.has('version')) this.#add(this.#fields.version, this.#identity.version)
  }

  addMetadata(object: JsonObject): void {
    const metadata = record(object['metadata'])
    for (const [key, value] of Object.entries(record(metadata['labels']))) {
      if (typeof value !== 'string') continue
      const { terms, words } = this.#fields.texts.label(key, value)
      if (this.#hasRoom(key, value)) this.#terms.add(terms)
      this.#strong.addLines(words)
    }
    for (const [key, value] of Object.entries(record(metadata['annotations']))) {
      if (typeof value !== 'string' || !isIndexedAnnotation(key)) continue
      const { terms, words } = this.#fields.texts.annotation(key, value)
      if (this.#hasRoom(key, value)) this.#terms.add(terms)
      this.#other.addLines(words)
    }
    this.#owners(metadata['ownerReferences'])
    const created = metadata['creationTimestamp']
    if (typeof created === 'string') this.#add(this.#fields.created, created)
  }

  text({ path, spelled }: LeafPath, text: string): void {
    if (this.#hasRoom(path, text)) this.#terms.text(spelled, text)
  }

  number({ path, spelled }: LeafPath, text: string): void {
    if (this.#hasRoom(path, text)) this.#terms.number(spelled, text)
  }

  boolean({ path, spelled }: LeafPath, text: string): void {
    if (this.#hasRoom(path, text)) this.#terms.boolean(spelled, text)
  }

  empty({ path, spelled }: LeafPath): void {
    if (this.#hasRoom(path, '')) this.#terms.empty(spelled)
  }

  image(text: string): void {
    if (text !== '') this.#add(this.#fields.image, text)
  }

  node(text: string): void {
    if (text !== '') this.#add(this.#fields.node, text)
  }

  ip(text: string): void {
    const { address } = this.#fields
    const found = address.of(text)
    if (found.typed) this.#addText(address, found)
  }

  words(text: string): void {
    this.#other.add(text)
  }

  finish(object: JsonObject): SearchDocument<Terms> {
    return {
      ...this.#identity,
      terms: this.#terms.finish(),
      nameWords: this.#name.toString(),
      strongWords: this.#strong.toString(),
      otherWords: this.#other.toString(),
      sortKeys: this.#sortKeys,
      values: this.#values,
      object,
    }
  }

  #owners(references: unknown): void {
    if (!Array.isArray(references)) return
    for (const reference of references) {
      const { name } = record(reference)
      if (typeof name === 'string') this.#add(this.#fields.owner, name)
    }
  }

  #add(field: TypedField<Part>, text: string): void {
    this.#addText(field, field.of(text))
  }

  /** A value of a field, once. */
  #addText({ path }: TypedField<Part>, { value, terms, sortKey, words }: FieldText<Part>): void {
    if (this.#isKnown(path, value) || !this.#hasRoom(path, value)) return
    const known = this.#values.get(path)
    if (known === undefined) {
      this.#values.set(path, [value])
      this.#sortKeys.set(path, sortKey)
    } else {
      known.push(value)
      this.#many.get(path)?.add(value)
    }
    this.#terms.add(terms)
    if (path === 'image') this.#strong.addLines(words)
    else this.#other.addLines(words)
  }

  #isKnown(path: string, value: string): boolean {
    const known = this.#values.get(path)
    if (known === undefined) return false
    if (known.length <= FEW) return known.includes(value)
    let many = this.#many.get(path)
    if (many === undefined) this.#many.set(path, (many = new Set(known)))
    return many.has(value)
  }

  /** Counted here and not in terms, so that stores that have them in different forms have the same of an object. */
  #hasRoom(path: string, value: string): boolean {
    if (this.#chars >= MAX_TERM_CHARS) return false
    this.#chars += path.length + Math.min(value.length, MAX_VALUE_CHARS) + TERM_CHARS
    return true
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

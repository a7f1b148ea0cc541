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
import { ALL_TERM, spelledOut, type PathSpelling } from './term.ts'
import { numberLine, TermText, textLines, WordText } from './term-text.ts'
import { FieldTexts, type FieldText, type TypedField } from './typed-field.ts'

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
  /** What it was made of; without the values of Secrets inside of other objects. */
  readonly object: JsonObject
}

interface ColumnField {
  readonly field: TypedField
  readonly value: Column['value']
}

/** The fields of documents whose terms spell their paths in one way. */
class DocumentFields {
  readonly texts: FieldTexts
  readonly image: TypedField
  readonly node: TypedField
  readonly address: TypedField
  readonly owner: TypedField
  readonly created: TypedField
  readonly version: TypedField
  readonly #ofKinds = new WeakMap<KindColumns, readonly ColumnField[]>()

  constructor(spell: PathSpelling) {
    this.texts = new FieldTexts(spell)
    this.image = this.texts.field('image', 'keyword')
    this.node = this.texts.field('node', 'keyword')
    this.address = this.texts.field('ip', 'ip')
    this.owner = this.texts.field('owner', 'keyword')
    this.created = this.texts.field('created', 'time')
    this.version = this.texts.field('version', 'keyword')
  }

  /** A kind's columns and further fields but those of identity, which stores have anyway. */
  ofKind(kind: KindColumns): readonly ColumnField[] {
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

/** Of all builders that spell paths out: what they remember of values is shared. */
const SPELLED_OUT = new DocumentFields(spelledOut)

/** Builds documents; keeps what it learns of paths, so use one for many objects. */
export class DocumentBuilder {
  readonly #fields: DocumentFields
  readonly #walker: JsonWalker

  /** `spell`: how terms begin. Asked once for each path; its answers are kept. */
  constructor(spell: PathSpelling = spelledOut) {
    this.#fields = spell === spelledOut ? SPELLED_OUT : new DocumentFields(spell)
    this.#walker = new JsonWalker(spell)
  }

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
    const draft = new Draft(identity, this.#fields)
    draft.addColumns(object, columns) // first: objects sort by what their columns show
    draft.addMetadata(object)
    return this.#walker.walk(object, identity, draft) ? draft.finish(object) : undefined
  }
}

class Draft implements Leaves {
  readonly #identity: DocumentIdentity
  readonly #fields: DocumentFields
  readonly #terms = new TermText(ALL_TERM)
  readonly #name = new WordText()
  readonly #strong = new WordText()
  readonly #other = new WordText()
  readonly #sortKeys = new Map<string, string>()
  /** Of fields that several paths of an object may give. */
  readonly #values = new Map<string, string[]>()

  constructor(identity: DocumentIdentity, fields: DocumentFields) {
    this.#identity = identity
    this.#fields = fields
    const { texts } = fields
    const { cluster, kind, group, resource, namespace, name, uid } = identity
    this.#terms.add(texts.pieced('cluster', cluster))
    this.#terms.add(texts.pieced('kind', kind))
    this.#terms.add(texts.pieced('group', group))
    this.#terms.add(texts.pieced('apiversion', apiVersionOf(identity)))
    this.#terms.add(texts.pieced('resource', resource))
    this.#terms.add(texts.pieced('name', name))
    this.#terms.add(`${texts.spell('uid')}=${uid}`)
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
      this.#terms.add(terms)
      this.#strong.addLines(words)
    }
    for (const [key, value] of Object.entries(record(metadata['annotations']))) {
      if (typeof value !== 'string' || !isIndexedAnnotation(key)) continue
      const { terms, words } = this.#fields.texts.annotation(key, value)
      this.#terms.add(terms)
      this.#other.addLines(words)
    }
    this.#owners(metadata['ownerReferences'])
    const created = metadata['creationTimestamp']
    if (typeof created === 'string') this.#add(this.#fields.created, created)
  }

  text({ spelled }: LeafPath, text: string): void {
    this.#terms.add(textLines(spelled, text))
  }

  number({ spelled }: LeafPath, text: string): void {
    this.#terms.add(numberLine(spelled, text))
  }

  boolean({ spelled }: LeafPath, text: string): void {
    this.#terms.add(`${spelled}=${text}`)
  }

  empty({ spelled }: LeafPath): void {
    this.#terms.add(`${spelled}+`)
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

  finish(object: JsonObject): SearchDocument {
    return {
      ...this.#identity,
      terms: this.#terms.toString(),
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

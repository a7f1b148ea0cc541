/** One state of one object in a demo API server, and its JSON in the forms a kube-apiserver gives it. */
import { apiVersionOf } from '../../kube/group-version.ts'
import type { JsonObject } from '../../kube/columns/column.ts'
import type { ResourceType } from './resource-type.ts'

export interface DemoMeta extends JsonObject {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly labels?: Readonly<Record<string, string>>
}

/** An object as callers hand it in: everything but a name may be left out of the metadata. */
export interface NewObject extends JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: JsonObject & { readonly name: string; readonly namespace?: string }
}

/** Immutable: a change is another `StoredObject`. The JSON is made when it is first asked for, then kept. */
export class StoredObject {
  readonly type: ResourceType
  /** `namespace/name`, or the name alone: the order of lists. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly version: number
  readonly metadata: DemoMeta
  /** Without kind and apiVersion, metadata first. */
  readonly value: JsonObject
  #body: string | undefined

  constructor(type: ResourceType, value: JsonObject & { readonly metadata: DemoMeta }, version: number) {
    this.type = type
    this.value = value
    this.metadata = value.metadata
    this.name = value.metadata.name
    this.namespace = value.metadata.namespace ?? ''
    this.key = this.namespace === '' ? this.name : `${this.namespace}/${this.name}`
    this.version = version
  }

  /** JSON with kind and apiVersion in front, as GET and watch events carry it, in the version asked for. */
  document(as: ResourceType): string {
    const kind = `"kind":${JSON.stringify(as.kind)}`
    const apiVersion = `"apiVersion":${JSON.stringify(apiVersionOf(as))}`
    return `{${as.custom === true ? `${apiVersion},${kind}` : `${kind},${apiVersion}`},${this.#bodyOf(as).slice(1)}`
  }

  /** JSON as it stands in a list: built-in kinds leave kind and apiVersion out. */
  item(as: ResourceType): string {
    return as.custom === true ? this.document(as) : this.#bodyOf(as)
  }

  /** The same state under another version. */
  at(version: number): StoredObject {
    const metadata = { ...this.metadata, resourceVersion: String(version) }
    return new StoredObject(this.type, { ...this.value, metadata }, version)
  }

  /** Equal but for the resourceVersion: writing it again would change nothing. */
  sameAs(other: StoredObject): boolean {
    return withoutVersion(this) === withoutVersion(other)
  }

  #bodyOf(as: ResourceType): string {
    if (as.convert !== undefined) return JSON.stringify(as.convert(this.value))
    this.#body ??= JSON.stringify(this.value)
    return this.#body
  }
}

function withoutVersion(object: StoredObject): string {
  return JSON.stringify({ ...object.value, metadata: { ...object.metadata, resourceVersion: '' } })
}

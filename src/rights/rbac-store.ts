/** Takes one RBAC resource of one member from its reflector into the index. */
import { fields, isFields, textOrEmpty, type Fields } from '../fleet/fields.ts'
import { ReflectorError } from '../informer/reflector-error.ts'
import type { Replacement, ReflectorState, ReflectorStore, WatchEventType } from '../informer/reflector-store.ts'
import type { ResourceVersion } from '../kube/names.ts'
import { roleKey } from './policy.ts'
import type { RbacEntry, RbacIndex, RbacKind } from './rbac-index.ts'

export interface RbacStoreOptions {
  readonly index: RbacIndex
  readonly kind: RbacKind
  /** Objects of all kinds together that the index may hold. */
  readonly maxObjects: number
  /** The index has changed. */
  readonly changed: () => void
  readonly report: (state: ReflectorState) => void
  /** The first list, or another one, is in the index. */
  readonly listed: () => void
}

export class RbacStore implements ReflectorStore {
  readonly #options: RbacStoreOptions

  constructor(options: RbacStoreOptions) {
    this.#options = options
  }

  beginReplace(): Replacement {
    const { index, kind, changed, listed } = this.#options
    const entries = new Map<string, RbacEntry>()
    return {
      add: (bytes) => {
        const { key, object } = this.#parse(bytes)
        entries.set(key, index.parse(kind, object))
        this.#bound(entries.size)
      },
      commit: () => {
        index.replace(kind, entries)
        changed()
        listed()
      },
      discard: () => undefined,
    }
  }

  apply(type: WatchEventType, bytes: Uint8Array): ResourceVersion {
    const { index, kind, changed } = this.#options
    const { key, object, version } = this.#parse(bytes)
    if (type === 'DELETED') index.remove(kind, key)
    else {
      index.put(kind, key, index.parse(kind, object))
      this.#bound(index.size)
    }
    changed()
    return version
  }

  bookmark(): void {
    // The reflector keeps the version.
  }

  report(state: ReflectorState): void {
    this.#options.report(state)
  }

  /**
   * An object that cannot be read is not left out, as elsewhere: the rights that it took away would stay. The reflector
   * fails, and rights that it fails to follow are soon not known.
   */
  #parse(bytes: Uint8Array): { readonly key: string; readonly object: Fields; readonly version: ResourceVersion } {
    let object: unknown
    try {
      object = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
    } catch {
      throw this.#unusable('an object that is no JSON')
    }
    if (!isFields(object)) throw this.#unusable('something that is no object')
    const metadata = fields(object.metadata)
    const name = textOrEmpty(metadata, 'name')
    if (name === '') throw this.#unusable('an object without a name')
    const version = textOrEmpty(metadata, 'resourceVersion') as ResourceVersion
    return { key: roleKey(textOrEmpty(metadata, 'namespace'), name), object, version }
  }

  #bound(objects: number): void {
    if (objects > this.#options.maxObjects) throw this.#unusable(`more than ${this.#options.maxObjects} RBAC objects`)
  }

  #unusable(what: string): ReflectorError {
    return new ReflectorError('malformed', 'list', `${this.#options.kind}: ${what}`)
  }
}

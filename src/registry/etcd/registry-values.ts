/** Values of registries in etcd, as an existing karmada-search keeps them: JSON, encrypted where that is asked for. */
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import { StatusError } from '../../kube/status-error.ts'
import { decodeStored } from '../decode.ts'
import type { OpenedValue, ValueTransformer } from '../encryption/value-transformer.ts'
import { versionTooOld } from '../errors.ts'
import type { RegistryChange } from '../registry-store.ts'
import { keepUnknownFields } from '../unknown-fields.ts'
import type { EtcdEvent, KeyValue } from './messages.ts'

export class RegistryValues {
  readonly #transformer: ValueTransformer

  constructor(transformer: ValueTransformer) {
    this.#transformer = transformer
  }

  /** The object without its version, fields of `stored` that are not ours to know kept, and a line end. */
  encode(key: string, registry: ResourceRegistry, stored?: KeyValue): Buffer {
    const { resourceVersion: _, ...metadata } = registry.metadata
    const value = { ...registry, metadata }
    const whole = stored === undefined ? value : keepUnknownFields(value, JSON.parse(this.#open(stored).text))
    return this.#transformer.toStorage(`${JSON.stringify(whole)}\n`, key)
  }

  /** Throws `internal` for a value that is no ResourceRegistry of this version, or cannot be decrypted. */
  decode(stored: KeyValue): ResourceRegistry {
    try {
      const registry = decodeStored(this.#open(stored).text)
      return { ...registry, metadata: { ...registry.metadata, resourceVersion: String(stored.modRevision) } }
    } catch (error) {
      const why = (error as Error).message
      throw new StatusError('internal', `the value of ${stored.key} in etcd cannot be read: ${why}`, { cause: error })
    }
  }

  /** Of a note. */
  encodeText(key: string, text: string): Buffer {
    return this.#transformer.toStorage(text, key)
  }

  /** Throws `ValueTransformerError` for what cannot be decrypted. */
  decodeText(stored: KeyValue): string {
    return this.#open(stored).text
  }

  /** It has that text, as it would be written today. */
  isText(stored: KeyValue | undefined, text: string): boolean {
    try {
      if (stored === undefined) return false
      const opened = this.#open(stored)
      return opened.text === text && !opened.isStale
    } catch {
      return false // as good as none: it is written over
    }
  }

  /** Would be written otherwise today: by another key or provider. */
  isStale(stored: KeyValue): boolean {
    return this.#open(stored).isStale
  }

  /**
   * Undefined where neither side of the change can be read: there is nothing to tell. One that can no longer be read is
   * gone, one that can be read again is new. Throws `expired` where what was there before is no longer known.
   */
  decodeEvent(event: EtcdEvent, onUnreadable: (error: unknown) => void): RegistryChange | undefined {
    const { type, kv, previous: before } = event
    const isNew = type === 'put' && kv.createRevision === kv.modRevision
    if (!isNew && before === undefined) throw versionTooOld(String(kv.modRevision - 1n), 'compacted')
    const read = (stored: KeyValue | undefined): ResourceRegistry | undefined => {
      try {
        return stored === undefined ? undefined : this.decode(stored)
      } catch (error) {
        onUnreadable(error)
        return undefined
      }
    }
    const previous = read(before)
    const object = type === 'put' ? read(kv) : undefined
    if (object !== undefined) return { type: previous === undefined ? 'ADDED' : 'MODIFIED', object, previous }
    if (previous === undefined) return undefined
    return { type: 'DELETED', object: at(previous, kv.modRevision), previous }
  }

  #open({ value, key }: KeyValue): OpenedValue {
    return this.#transformer.fromStorage(value, key)
  }
}

/** The object as it was, with the version of its deletion. */
export function at(registry: ResourceRegistry, revision: bigint): ResourceRegistry {
  return { ...registry, metadata: { ...registry.metadata, resourceVersion: String(revision) } }
}

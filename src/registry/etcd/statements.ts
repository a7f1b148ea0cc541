/** Keys and values of registries in etcd, where and as an existing karmada-search keeps them. */
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import { StatusError } from '../../kube/status-error.ts'
import { versionTooOld } from '../errors.ts'
import type { RegistryChange } from '../registry-store.ts'
import { decodeStored } from '../decode.ts'
import { keepUnknownFields } from '../unknown-fields.ts'
import type { EtcdEvent, KeyValue } from './messages.ts'

export interface Keys {
  /** Every registry's key begins with it. */
  readonly prefix: string
  /** The first key behind all of them. */
  readonly end: string
  keyOf(name: string): string
  /** Undefined for a key that is no registry's. */
  nameOf(key: string): string | undefined
}

/** `prefix` is that of `--etcd-prefix`; slashes at its ends make no difference, as for a kube-apiserver. */
export function registryKeys(prefix: string): Keys {
  const root = prefix.split('/').filter((part) => part !== '')
  const folder = `/${[...root, 'search.karmada.io', 'resourceRegistries'].join('/')}/`
  return {
    prefix: folder,
    end: endOf(folder),
    keyOf: (name) => folder + name,
    nameOf(key) {
      const name = key.startsWith(folder) ? key.slice(folder.length) : ''
      return name === '' || name.includes('/') ? undefined : name
    },
  }
}

/** Every note's key begins with it; karmada-search has nothing there. */
export function notesFolder(prefix: string): string {
  const root = prefix.split('/').filter((part) => part !== '')
  return `/${[...root, 'search.karmada.io', 'fleetsearch'].join('/')}/`
}

/** The first key behind all that begin with a folder: '0' is the byte behind '/'. */
export function endOf(folder: string): string {
  return `${folder.slice(0, -1)}0`
}

/** The stored JSON: the object without its version, fields of `stored` that are not ours to know kept, and a line end. */
export function toValue(registry: ResourceRegistry, stored?: KeyValue): string {
  const { resourceVersion: _, ...metadata } = registry.metadata
  const value = { ...registry, metadata }
  return `${JSON.stringify(stored === undefined ? value : keepUnknownFields(value, JSON.parse(stored.value)))}\n`
}

/** Throws `internal` for a value that is no ResourceRegistry of this version. */
export function fromKeyValue({ key, value, modRevision }: KeyValue): ResourceRegistry {
  try {
    const registry = decodeStored(value)
    return { ...registry, metadata: { ...registry.metadata, resourceVersion: String(modRevision) } }
  } catch (error) {
    const why = value.startsWith('k8s:enc:') ? 'it is encrypted, which is not supported' : (error as Error).message
    throw new StatusError('internal', `the value of ${key} in etcd cannot be read: ${why}`, { cause: error })
  }
}

/**
 * Undefined where neither side of the change can be read: there is nothing to tell. One that can no longer be read is
 * gone, one that can be read again is new. Throws `expired` where what was there before is no longer known.
 */
export function fromEvent(event: EtcdEvent, onUnreadable: (error: unknown) => void): RegistryChange | undefined {
  const { type, kv, previous: before } = event
  const isNew = type === 'put' && kv.createRevision === kv.modRevision
  if (!isNew && before === undefined) throw versionTooOld(String(kv.modRevision - 1n), 'compacted')
  const read = (stored: KeyValue | undefined): ResourceRegistry | undefined => {
    try {
      return stored === undefined ? undefined : fromKeyValue(stored)
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

/** The object as it was, with the version of its deletion. */
export function at(registry: ResourceRegistry, revision: bigint): ResourceRegistry {
  return { ...registry, metadata: { ...registry.metadata, resourceVersion: String(revision) } }
}

/** What a client says must hold of the stored object. */
import type { ObjectMeta, ResourceRegistry } from '../api/resource-registry.ts'
import { registryConflict, registryInvalid } from './errors.ts'
import { causesOf, invalidValue } from './field-fault.ts'

/** Each holds where it is given; else 409. */
export interface Preconditions {
  readonly uid?: string
  readonly resourceVersion?: string
}

/** An empty value asks for nothing. */
export function requirePreconditions(
  { metadata }: ResourceRegistry,
  { uid = '', resourceVersion = '' }: Preconditions,
): void {
  if (uid !== '' && uid !== metadata.uid) {
    throw registryConflict(
      metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    )
  }
  if (resourceVersion === '' || resourceVersion === metadata.resourceVersion) return
  if (/^[0-9]+$/.test(resourceVersion)) throw registryConflict(metadata.name)
  const fault = invalidValue('metadata.resourceVersion', resourceVersion, 'must be a version of this object')
  throw registryInvalid(metadata.name, causesOf([fault]))
}

/** A configuration that names an object by its uid or version means one that is there. */
export function requireNothingStored(name: string, { uid, resourceVersion }: ObjectMeta): void {
  if (uid !== '') {
    throw registryConflict(
      name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    )
  }
  if (resourceVersion !== '') throw registryConflict(name, 'there is no object of the version that was given')
}

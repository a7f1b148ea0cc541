import type { ClusterName } from './names.ts'
import type { ObjectMetaSpans } from './object-scanner.ts'

/** What an object of one shard is given where it lacks it. Keep one per shard: it is prepared once. */
export interface ObjectIdentity {
  readonly apiVersion: string
  readonly kind: string
  readonly cluster: ClusterName
}

export interface CanonicalObject {
  readonly bytes: Buffer
  readonly meta: ObjectMetaSpans
}

/** Throws `MalformedObjectError`. */
export function canonicalize(bytes: Uint8Array, identity: ObjectIdentity): CanonicalObject {
  throw new Error(`not made: ${bytes.length} ${identity.kind}`)
}

/** A copy of a canonical object with another metadata.resourceVersion. */
export function withResourceVersion(
  object: { readonly bytes: Uint8Array; readonly versionStart: number; readonly versionEnd: number },
  token: string,
): Buffer {
  const { bytes, versionStart, versionEnd } = object
  return Buffer.concat([bytes.subarray(0, versionStart), Buffer.from(token, 'latin1'), bytes.subarray(versionEnd)])
}

/** `PartialObjectMetadata` of an object: its metadata as it stands. */
export function partialObjectMetadata(bytes: Uint8Array): Buffer {
  throw new Error(`not made: ${bytes.length}`)
}

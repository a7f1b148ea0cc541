import type { ResourceVersion } from './names.ts'

/**
 * What one pass over an object's bytes learns. Positions count bytes; a `Start` and `End` of -1 mean that it is not there.
 * Strings that are not there are empty.
 */
export interface ObjectMetaSpans {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: ResourceVersion
  /** RFC 3339, as the member wrote it. */
  readonly creationTimestamp: string
  readonly deletionTimestamp: string | undefined
  readonly labels: readonly (readonly [key: string, value: string])[]
  /** The text of metadata.resourceVersion, quotes excluded. */
  readonly versionStart: number
  readonly versionEnd: number
  /** The value of `metadata`, of its `labels`, `annotations` and `ownerReferences`, from the opening to behind the closing bracket. */
  readonly metadataStart: number
  readonly metadataEnd: number
  readonly labelsStart: number
  readonly labelsEnd: number
  readonly annotationsStart: number
  readonly annotationsEnd: number
  readonly ownerReferencesStart: number
  readonly ownerReferencesEnd: number
}

/** Throws `MalformedObjectError`. */
export function scanObject(bytes: Uint8Array): ObjectMetaSpans {
  throw new Error(`not scanned: ${bytes.length}`)
}

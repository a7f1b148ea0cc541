/** What is learnt of an object's bytes by walking over them once (object-scanner.ts). */
import type { ResourceVersion } from './names.ts'

/**
 * What the pass learns. Positions count bytes; a `Start` and `End` of -1 mean that it is not there. Strings that are not
 * there are empty.
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
  /** The value of `metadata` and of some of its fields, from the opening to behind the closing bracket. */
  readonly metadataStart: number
  readonly metadataEnd: number
  readonly labelsStart: number
  readonly labelsEnd: number
  readonly annotationsStart: number
  readonly annotationsEnd: number
  readonly ownerReferencesStart: number
  readonly ownerReferencesEnd: number
}

/** A value, quotes and brackets included; `null` has a span too. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** What only the making of the canonical form needs besides. */
export interface ObjectScan extends ObjectMetaSpans {
  /** The whole object, without blanks around it. */
  readonly start: number
  readonly end: number
  readonly apiVersionValue: Span | undefined
  readonly kindValue: Span | undefined
  readonly versionValue: Span | undefined
  readonly annotationsValue: Span | undefined
  readonly cachedFromValue: Span | undefined
  readonly clusterNameValue: Span | undefined
}

/** A scan on its way. */
export type ScanDraft = { -readonly [Field in keyof ObjectScan]: ObjectScan[Field] }

export function newDraft(): ScanDraft {
  return {
    start: 0,
    end: 0,
    apiVersion: '',
    kind: '',
    namespace: '',
    name: '',
    uid: '',
    resourceVersion: '' as ResourceVersion,
    creationTimestamp: '',
    deletionTimestamp: undefined,
    labels: [],
    versionStart: -1,
    versionEnd: -1,
    metadataStart: -1,
    metadataEnd: -1,
    labelsStart: -1,
    labelsEnd: -1,
    annotationsStart: -1,
    annotationsEnd: -1,
    ownerReferencesStart: -1,
    ownerReferencesEnd: -1,
    apiVersionValue: undefined,
    kindValue: undefined,
    versionValue: undefined,
    annotationsValue: undefined,
    cachedFromValue: undefined,
    clusterNameValue: undefined,
  }
}

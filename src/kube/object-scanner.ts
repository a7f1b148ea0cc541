/**
 * One pass over an object's bytes, which learns where the parts stand that the cache, the proxy and the indexer need and
 * proves that the whole is JSON. Nothing is decoded but those few strings.
 *
 * As with `JSON.parse`, the last of several equal keys counts; only `metadata` may not stand there twice. `null` is as
 * good as absent.
 */
import { CACHED_FROM_CLUSTER_ANNOTATION, CLUSTER_NAME_ANNOTATION } from './annotations.ts'
import { CLOSE_BRACE, COMMA, OPEN_BRACE, QUOTE } from './json-bytes.ts'
import { skipColon, skipSpace, skipString, skipValue, stringText, syntaxFault } from './json-bytes.ts'
import { KeyMatcher } from './json-keys.ts'
import { MalformedObjectError } from './malformed-error.ts'
import type { ResourceVersion } from './names.ts'
import type { ObjectMetaSpans, ObjectScan, ScanDraft, Span } from './object-spans.ts'
import { newDraft } from './object-spans.ts'

export type { ObjectMetaSpans } from './object-spans.ts'

/** Throws `MalformedObjectError` for what is no JSON object, or has a metadata of another shape. */
export function scanObject(bytes: Uint8Array): ObjectMetaSpans {
  return scanWhole(asBuffer(bytes))
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const TOP_KEYS = new KeyMatcher(['metadata', 'kind', 'apiVersion'])
const METADATA_KEYS = new KeyMatcher([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'labels',
  'annotations',
  'ownerReferences',
])
const ANNOTATION_KEYS = new KeyMatcher([CACHED_FROM_CLUSTER_ANNOTATION, CLUSTER_NAME_ANNOTATION])

export function scanWhole(bytes: Buffer): ObjectScan {
  const draft = newDraft()
  draft.start = objectStart(bytes)
  draft.end = eachMember(bytes, draft.start, (keyStart, keyEnd, at) => topMember(bytes, draft, keyStart, keyEnd, at))
  const behind = skipSpace(bytes, draft.end)
  if (behind !== bytes.length) throw syntaxFault(bytes, behind)
  return draft
}

/**
 * The same of an object that has been scanned before, as every canonical one has: stops as soon as `kind`, `apiVersion` and
 * `metadata` are known, which is twice as quick (bench/scanner.ts).
 */
export function scanHead(bytes: Uint8Array): ObjectMetaSpans {
  const buffer = asBuffer(bytes)
  const draft = newDraft()
  eachMember(buffer, objectStart(buffer), (keyStart, keyEnd, at) => {
    const end = topMember(buffer, draft, keyStart, keyEnd, at)
    return draft.metadataEnd !== -1 && draft.kind !== '' && draft.apiVersion !== '' ? STOP : end
  })
  return draft
}

function objectStart(bytes: Buffer): number {
  const start = skipSpace(bytes, 0)
  if (bytes[start] !== OPEN_BRACE) throw syntaxFault(bytes, start)
  return start
}

/** The value of one member of the object that `bytes` are, the last one of that key; for bytes known to be JSON. */
export function memberSpan(bytes: Buffer, key: string): Span | undefined {
  return memberSpans(bytes, new KeyMatcher([key]))[key]
}

/** The same of several, in one pass. */
export function memberSpans<Key extends string>(bytes: Buffer, keys: KeyMatcher<Key>): Partial<Record<Key, Span>> {
  const spans: Partial<Record<Key, Span>> = {}
  eachMember(bytes, objectStart(bytes), (keyStart, keyEnd, start) => {
    const end = skipValue(bytes, start)
    const key = keys.match(bytes, keyStart, keyEnd)
    if (key !== undefined) spans[key] = { start, end }
    return end
  })
  return spans
}

/** Gets a key without its quotes; returns the position behind its value, or `STOP`. */
type MemberScan = (keyStart: number, keyEnd: number, valueStart: number) => number

const STOP = -1

/** Walks over the members of the object at `from`, to its end or until it is told to stop. */
function eachMember(bytes: Buffer, from: number, member: MemberScan): number {
  let i = skipSpace(bytes, from + 1)
  if (bytes[i] === CLOSE_BRACE) return i + 1
  for (;;) {
    if (bytes[i] !== QUOTE) throw syntaxFault(bytes, i)
    const keyEnd = skipString(bytes, i + 1)
    const valueEnd = member(i + 1, keyEnd - 1, skipColon(bytes, keyEnd))
    if (valueEnd === STOP) return STOP
    i = skipSpace(bytes, valueEnd)
    if (bytes[i] === CLOSE_BRACE) return i + 1
    if (bytes[i] !== COMMA) throw syntaxFault(bytes, i)
    i = skipSpace(bytes, i + 1)
  }
}

function topMember(bytes: Buffer, draft: ScanDraft, keyStart: number, keyEnd: number, start: number): number {
  const key = TOP_KEYS.match(bytes, keyStart, keyEnd)
  if (key === 'metadata') return metadata(bytes, draft, start)
  const end = skipValue(bytes, start)
  if (key === 'kind') {
    draft.kind = stringValue(bytes, start, end, key)
    draft.kindValue = { start, end }
  } else if (key === 'apiVersion') {
    draft.apiVersion = stringValue(bytes, start, end, key)
    draft.apiVersionValue = { start, end }
  }
  return end
}

function metadata(bytes: Buffer, draft: ScanDraft, start: number): number {
  if (draft.metadataEnd !== -1) throw new MalformedObjectError('shape', 'metadata stands there twice', start)
  const end = objectOrNull(bytes, start, 'metadata', (keyStart, keyEnd, at) =>
    metadataMember(bytes, draft, keyStart, keyEnd, at),
  )
  draft.metadataStart = bytes[start] === OPEN_BRACE ? start : -1
  draft.metadataEnd = bytes[start] === OPEN_BRACE ? end : -1
  return end
}

function metadataMember(bytes: Buffer, draft: ScanDraft, keyStart: number, keyEnd: number, start: number): number {
  const key = METADATA_KEYS.match(bytes, keyStart, keyEnd)
  switch (key) {
    case undefined:
      return skipValue(bytes, start)
    case 'labels':
      return labels(bytes, draft, start)
    case 'annotations':
      return annotations(bytes, draft, start)
    case 'ownerReferences':
      return ownerReferences(bytes, draft, start)
    case 'resourceVersion':
      return resourceVersion(bytes, draft, start)
    case 'deletionTimestamp': {
      const end = skipValue(bytes, start)
      draft.deletionTimestamp = stringValue(bytes, start, end, 'metadata.deletionTimestamp') || undefined
      return end
    }
    default: {
      const end = skipValue(bytes, start)
      draft[key] = stringValue(bytes, start, end, `metadata.${key}`)
      return end
    }
  }
}

function resourceVersion(bytes: Buffer, draft: ScanDraft, start: number): number {
  const end = skipValue(bytes, start)
  draft.resourceVersion = stringValue(bytes, start, end, 'metadata.resourceVersion') as ResourceVersion
  draft.versionValue = { start, end }
  const isString = bytes[start] === QUOTE
  draft.versionStart = isString ? start + 1 : -1
  draft.versionEnd = isString ? end - 1 : -1
  return end
}

function labels(bytes: Buffer, draft: ScanDraft, start: number): number {
  const found: [string, string][] = []
  const end = objectOrNull(bytes, start, 'metadata.labels', (keyStart, keyEnd, at) => {
    const behind = skipValue(bytes, at)
    found.push([stringText(bytes, keyStart, keyEnd), stringValue(bytes, at, behind, 'metadata.labels')])
    return behind
  })
  draft.labels = withoutDuplicates(found)
  const present = bytes[start] === OPEN_BRACE
  draft.labelsStart = present ? start : -1
  draft.labelsEnd = present ? end : -1
  return end
}

/** Below this many labels comparing each with each is quicker than a Map (bench/scanner.ts). */
const FEW_LABELS = 16

function withoutDuplicates(pairs: [string, string][]): [string, string][] {
  if (pairs.length >= FEW_LABELS) return [...new Map(pairs)]
  for (let i = 1; i < pairs.length; i++) {
    for (let j = 0; j < i; j++) {
      if (pairs[i]?.[0] === pairs[j]?.[0]) return [...new Map(pairs)]
    }
  }
  return pairs
}

function annotations(bytes: Buffer, draft: ScanDraft, start: number): number {
  draft.cachedFromValue = undefined
  draft.clusterNameValue = undefined
  const end = objectOrNull(bytes, start, 'metadata.annotations', (keyStart, keyEnd, at) => {
    const behind = skipValue(bytes, at)
    const key = ANNOTATION_KEYS.match(bytes, keyStart, keyEnd)
    if (key === CACHED_FROM_CLUSTER_ANNOTATION) draft.cachedFromValue = { start: at, end: behind }
    else if (key === CLUSTER_NAME_ANNOTATION) draft.clusterNameValue = { start: at, end: behind }
    return behind
  })
  const present = bytes[start] === OPEN_BRACE
  draft.annotationsValue = { start, end }
  draft.annotationsStart = present ? start : -1
  draft.annotationsEnd = present ? end : -1
  return end
}

function ownerReferences(bytes: Buffer, draft: ScanDraft, start: number): number {
  const end = skipValue(bytes, start)
  const present = !isNull(bytes, start)
  draft.ownerReferencesStart = present ? start : -1
  draft.ownerReferencesEnd = present ? end : -1
  return end
}

function objectOrNull(bytes: Buffer, start: number, what: string, member: MemberScan): number {
  if (bytes[start] === OPEN_BRACE) return eachMember(bytes, start, member)
  const end = skipValue(bytes, start)
  if (!isNull(bytes, start)) throw new MalformedObjectError('shape', `${what} is no object`, start)
  return end
}

function stringValue(bytes: Buffer, start: number, end: number, what: string): string {
  if (bytes[start] === QUOTE) return stringText(bytes, start + 1, end - 1)
  if (!isNull(bytes, start)) throw new MalformedObjectError('shape', `${what} is no string`, start)
  return ''
}

/** Of a value that is known to be well-formed. */
function isNull(bytes: Buffer, start: number): boolean {
  return bytes[start] === 0x6e
}

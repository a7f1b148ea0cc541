/**
 * The one canonical form of an object, made once when it comes in: the bytes that the member sent, with `kind` and
 * `apiVersion` put back where a LIST left them out, a resourceVersion that can be exchanged, and both annotations that
 * name the cluster. Nothing else changes: integers beyond 2^53, key order, unknown fields and microseconds survive,
 * because nothing is decoded. Only line breaks between tokens go (with all other blanks), so that an object is one line.
 */
import { CACHED_FROM_CLUSTER_ANNOTATION, CLUSTER_NAME_ANNOTATION } from './annotations.ts'
import { CLOSE_BRACE, QUOTE, skipSpace, skipString } from './json-bytes.ts'
import { MalformedObjectError } from './malformed-error.ts'
import type { ClusterName } from './names.ts'
import { asBuffer, scanHead, scanWhole } from './object-scanner.ts'
import type { ObjectMetaSpans, ObjectScan, Span } from './object-spans.ts'

/** What an object of one shard is given where it lacks it. Keep one per shard: its bytes are prepared once. */
export interface ObjectIdentity {
  readonly apiVersion: string
  readonly kind: string
  readonly cluster: ClusterName
}

export interface CanonicalObject {
  readonly bytes: Buffer
  readonly meta: ObjectMetaSpans
}

/** Bytes `[start, end)` of an object give way to `insert`. */
interface Edit extends Span {
  readonly insert: Buffer
}

/**
 * A fresh buffer, never a view of `bytes`. Where the annotations are there already they get our values; `kind` and
 * `apiVersion` that are there stay. Throws `MalformedObjectError`, also for an object without a name.
 */
export function canonicalize(bytes: Uint8Array, identity: ObjectIdentity): CanonicalObject {
  const source = onOneLine(asBuffer(bytes))
  const scan = scanWhole(source)
  if (scan.name === '') throw new MalformedObjectError('shape', 'the object has no name')
  const pieces = piecesOf(identity)
  const edits = [...typeEdits(scan, pieces), ...metadataEdits(source, scan, pieces)].sort((a, b) => a.start - b.start)
  const result = splice(source, scan, edits)
  return { bytes: result, meta: isUsual(scan) ? moved(scan, edits, identity, pieces) : scanHead(result) }
}

/** What is spliced into the objects of one identity. */
interface Pieces {
  readonly kind: Buffer
  readonly apiVersion: Buffer
  readonly cluster: Buffer
  /** Both members, with the comma behind them. */
  readonly type: Buffer
  /** Both annotations, without braces. */
  readonly annotations: Buffer
  /** The same with the comma behind them. */
  readonly annotationsFront: Buffer
}

const prepared = new WeakMap<ObjectIdentity, Pieces>()

function piecesOf(identity: ObjectIdentity): Pieces {
  const known = prepared.get(identity)
  if (known !== undefined) return known
  const cluster = JSON.stringify(identity.cluster)
  const kind = JSON.stringify(identity.kind)
  const apiVersion = JSON.stringify(identity.apiVersion)
  const annotations = `"${CACHED_FROM_CLUSTER_ANNOTATION}":${cluster},"${CLUSTER_NAME_ANNOTATION}":${cluster}`
  const pieces = {
    kind: Buffer.from(kind),
    apiVersion: Buffer.from(apiVersion),
    cluster: Buffer.from(cluster),
    type: Buffer.from(`"kind":${kind},"apiVersion":${apiVersion},`),
    annotations: Buffer.from(annotations),
    annotationsFront: Buffer.from(`${annotations},`),
  }
  prepared.set(identity, pieces)
  return pieces
}

const COMMA_PIECE = Buffer.from(',')
const ANNOTATIONS_KEY = Buffer.from('"annotations":')
const CACHED_FROM_KEY = Buffer.from(`"${CACHED_FROM_CLUSTER_ANNOTATION}":`)
const CLUSTER_NAME_KEY = Buffer.from(`"${CLUSTER_NAME_ANNOTATION}":`)
const KIND_KEY = Buffer.from('"kind":')
const API_VERSION_KEY = Buffer.from('"apiVersion":')
const EMPTY_VERSION = Buffer.from('""')
const VERSION_KEY = Buffer.from('"resourceVersion":')

function typeEdits(scan: ObjectScan, pieces: Pieces): Edit[] {
  const front = scan.start + 1
  if (scan.kindValue === undefined && scan.apiVersionValue === undefined) return [insertion(front, pieces.type)]
  const edits: Edit[] = []
  if (scan.kind === '') edits.push(member(front, KIND_KEY, scan.kindValue, pieces.kind))
  if (scan.apiVersion === '') edits.push(member(front, API_VERSION_KEY, scan.apiVersionValue, pieces.apiVersion))
  return edits
}

function metadataEdits(source: Buffer, scan: ObjectScan, pieces: Pieces): Edit[] {
  const front = scan.metadataStart + 1
  const edits: Edit[] = []
  if (scan.versionStart === -1) edits.push(member(front, VERSION_KEY, scan.versionValue, EMPTY_VERSION))
  if (scan.annotationsStart === -1) {
    edits.push(member(front, ANNOTATIONS_KEY, scan.annotationsValue, braced(pieces.annotations)))
    return edits
  }
  return [...edits, ...annotationEdits(source, scan, pieces)]
}

function annotationEdits(source: Buffer, scan: ObjectScan, pieces: Pieces): Edit[] {
  const { cachedFromValue, clusterNameValue } = scan
  const front = scan.annotationsStart + 1
  if (cachedFromValue === undefined && clusterNameValue === undefined) {
    const isEmpty = source[skipSpace(source, front)] === CLOSE_BRACE
    return [insertion(front, isEmpty ? pieces.annotations : pieces.annotationsFront)]
  }
  const blank = source[front] === OWN_MARK[0] ? 1 : 0
  return [
    ...(blank === 1 || isOurs(source, front, pieces) ? [] : [insertion(front, OWN_MARK)]),
    member(front + blank, CACHED_FROM_KEY, cachedFromValue, pieces.cluster),
    member(front + blank, CLUSTER_NAME_KEY, clusterNameValue, pieces.cluster),
  ]
}

/** A blank in front of annotations that were not all ours: their own values are lost here, and who writes has to ask for them. */
const OWN_MARK = Buffer.from(' ')

/** Canonical already: our two as only we put them there, for a kube-apiserver sorts its keys. */
function isOurs(source: Buffer, front: number, { annotations }: Pieces): boolean {
  return source.subarray(front, front + annotations.length).equals(annotations)
}

/**
 * The member's own object may have had one of the annotations, so that its value has to be asked for. False is certain; a
 * member that writes blanks itself gives a true that means nothing.
 */
export function mayHaveOwnAnnotations(bytes: Uint8Array): boolean {
  const { annotationsStart } = scanHead(bytes)
  return annotationsStart !== -1 && bytes[annotationsStart + 1] === OWN_MARK[0]
}

const insertion = (at: number, insert: Buffer): Edit => ({ start: at, end: at, insert })
const braced = (members: Buffer): Buffer => Buffer.concat([Buffer.from('{'), members, Buffer.from('}')])

/** A member with that value: instead of the value it has, or in front of the object's other members. */
function member(front: number, key: Buffer, present: Span | undefined, value: Buffer): Edit {
  if (present !== undefined) return { ...present, insert: value }
  return insertion(front, Buffer.concat([key, value, COMMA_PIECE]))
}

function splice(source: Buffer, whole: Span, edits: readonly Edit[]): Buffer {
  const grown = edits.reduce((sum, edit) => sum + edit.insert.length - (edit.end - edit.start), 0)
  const result = Buffer.allocUnsafe(whole.end - whole.start + grown)
  let from = whole.start
  let to = 0
  for (const edit of edits) {
    to += source.copy(result, to, from, edit.start)
    to += edit.insert.copy(result, to)
    from = edit.end
  }
  source.copy(result, to, from, whole.end)
  return result
}

/** Nothing but what LIST items and watch events differ in: then the spans of the result need no second pass. */
function isUsual(scan: ObjectScan): boolean {
  const hasKind = scan.kindValue !== undefined
  const hasApiVersion = scan.apiVersionValue !== undefined
  if (hasKind !== hasApiVersion || (hasKind && (scan.kind === '' || scan.apiVersion === ''))) return false
  return scan.versionStart !== -1 && (scan.annotationsValue === undefined || scan.annotationsStart !== -1)
}

function moved(scan: ObjectScan, edits: readonly Edit[], identity: ObjectIdentity, pieces: Pieces): ObjectMetaSpans {
  const at = (position: number): number => (position === -1 ? -1 : shifted(position, scan.start, edits))
  const metadataStart = at(scan.metadataStart)
  const hasAnnotations = scan.annotationsStart !== -1
  const newAnnotations = metadataStart + 1 + ANNOTATIONS_KEY.length
  return {
    apiVersion: scan.apiVersion || identity.apiVersion,
    kind: scan.kind || identity.kind,
    namespace: scan.namespace,
    name: scan.name,
    uid: scan.uid,
    resourceVersion: scan.resourceVersion,
    creationTimestamp: scan.creationTimestamp,
    deletionTimestamp: scan.deletionTimestamp,
    labels: scan.labels,
    versionStart: at(scan.versionStart),
    versionEnd: at(scan.versionEnd),
    metadataStart,
    metadataEnd: at(scan.metadataEnd),
    labelsStart: at(scan.labelsStart),
    labelsEnd: at(scan.labelsEnd),
    annotationsStart: hasAnnotations ? at(scan.annotationsStart) : newAnnotations,
    annotationsEnd: hasAnnotations ? at(scan.annotationsEnd) : newAnnotations + pieces.annotations.length + 2,
    ownerReferencesStart: at(scan.ownerReferencesStart),
    ownerReferencesEnd: at(scan.ownerReferencesEnd),
  }
}

/** Where a position of the source stands in the result. */
function shifted(position: number, sourceStart: number, edits: readonly Edit[]): number {
  let result = position - sourceStart
  for (const edit of edits) {
    if (edit.end <= position) result += edit.insert.length - (edit.end - edit.start)
  }
  return result
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Strings hold no raw line breaks, so where there are any, blanks stand between tokens: all of them go. */
function onOneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(LINE_FEED) && !bytes.includes(CARRIAGE_RETURN)) return bytes
  scanWhole(bytes) // throws where the blanks hold apart what would be JSON without them (`1 2`)
  const compact = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let i = skipSpace(bytes, 0); i < bytes.length; i = skipSpace(bytes, i)) {
    const end = bytes[i] === QUOTE ? skipString(bytes, i + 1) : i + 1
    length += bytes.copy(compact, length, i, end)
    i = end
  }
  return compact.subarray(0, length)
}

/**
 * A copy of a canonical object with another metadata.resourceVersion. `token` is ASCII without quotes and backslashes: a
 * version or a base64url token.
 */
export function withResourceVersion(
  object: { readonly bytes: Uint8Array; readonly versionStart: number; readonly versionEnd: number },
  token: string,
): Buffer {
  const { bytes, versionStart, versionEnd } = object
  const result = Buffer.allocUnsafe(bytes.length - (versionEnd - versionStart) + token.length)
  result.set(bytes.subarray(0, versionStart), 0)
  result.write(token, versionStart, 'latin1')
  result.set(bytes.subarray(versionEnd), versionStart + token.length)
  return result
}

const PARTIAL_HEAD = Buffer.from('{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":')
const PARTIAL_TAIL = Buffer.from('}')

/** `PartialObjectMetadata` of a canonical object: its metadata, byte for byte. */
export function partialObjectMetadata(bytes: Uint8Array): Buffer {
  const { metadataStart, metadataEnd } = scanHead(bytes)
  if (metadataStart === -1) throw new MalformedObjectError('shape', 'the object has no metadata')
  return Buffer.concat([PARTIAL_HEAD, bytes.subarray(metadataStart, metadataEnd), PARTIAL_TAIL])
}

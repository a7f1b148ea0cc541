/** One event of a watch stream, from its bytes. Source: apimachinery meta/v1 WatchEvent. */
import { INITIAL_EVENTS_END_ANNOTATION } from './annotations.ts'
import { OPEN_BRACE, skipValue } from './json-bytes.ts'
import { MalformedEventError, MalformedObjectError } from './malformed-error.ts'
import { memberSpan } from './object-scanner.ts'
import { statusFrom } from './status-body.ts'
import type { Status } from './status-error.ts'

/** `object` is only valid until the next `push` of the splitter that gave it. */
export type RawWatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Uint8Array }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: 'ERROR'; readonly status: Status }

type EventType = RawWatchEvent['type']

const EVENT_TYPES: readonly EventType[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']

/** How an API server begins an event: then the object is found without a look at its bytes. */
const PREFIXES = EVENT_TYPES.map((type) => ({ type, bytes: Buffer.from(`{"type":"${type}","object":`) }))

/**
 * `firstChildEnd` is where the first bracket inside the event closed. Throws `MalformedEventError`; objects of ADDED,
 * MODIFIED and DELETED are not checked.
 */
export function watchEventFrom(bytes: Buffer, firstChildEnd: number): RawWatchEvent {
  const usual = firstChildEnd === bytes.length - 1 ? usualEvent(bytes) : undefined
  return usual ?? parsedEvent(bytes)
}

function usualEvent(bytes: Buffer): RawWatchEvent | undefined {
  for (const prefix of PREFIXES) {
    const { length } = prefix.bytes
    if (bytes[length] !== OPEN_BRACE || prefix.bytes.compare(bytes, 0, length) !== 0) continue
    return eventOf(prefix.type, bytes.subarray(length, bytes.length - 1))
  }
  return undefined
}

function parsedEvent(bytes: Buffer): RawWatchEvent {
  checkSyntax(bytes)
  const typeSpan = memberSpan(bytes, 'type')
  const objectSpan = memberSpan(bytes, 'object')
  if (typeSpan === undefined || objectSpan === undefined) return statusEvent(bytes)
  const type: unknown = JSON.parse(bytes.toString('utf8', typeSpan.start, typeSpan.end))
  const known = EVENT_TYPES.find((candidate) => candidate === type)
  if (known === undefined) throw new MalformedEventError('shape', `no type of event: ${JSON.stringify(type)}`)
  return eventOf(known, bytes.subarray(objectSpan.start, objectSpan.end))
}

function checkSyntax(bytes: Buffer): void {
  try {
    if (skipValue(bytes, 0) === bytes.length) return
  } catch (error) {
    if (!(error instanceof MalformedObjectError)) throw error
    throw new MalformedEventError(error.code, `an event that is no JSON: ${error.message}`)
  }
  throw new MalformedEventError('syntax', 'an event that is no JSON')
}

/** Some servers send the Status bare, without an event around it. */
function statusEvent(bytes: Buffer): RawWatchEvent {
  const status = statusFrom(JSON.parse(bytes.toString('utf8')))
  if (status === undefined) throw new MalformedEventError('shape', 'neither an event nor a Status')
  return { type: 'ERROR', status }
}

function eventOf(type: EventType, object: Buffer): RawWatchEvent {
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object }
    case 'BOOKMARK':
      return bookmarkOf(object)
    case 'ERROR':
      return { type, status: statusFrom(parsed(object)) ?? UNKNOWN_ERROR }
  }
}

const UNKNOWN_ERROR: Status = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'an ERROR event without a Status',
  reason: 'InternalError',
  code: 500,
}

function bookmarkOf(object: Buffer): RawWatchEvent {
  const { metadata } = (parsed(object) ?? {}) as { readonly metadata?: Readonly<Record<string, unknown>> | null }
  const version = metadata?.['resourceVersion']
  if (typeof version !== 'string' || version === '')
    throw new MalformedEventError('shape', 'a BOOKMARK without version')
  const annotations = metadata?.['annotations'] as Readonly<Record<string, unknown>> | null | undefined
  const initialEventsEnd = annotations?.[INITIAL_EVENTS_END_ANNOTATION] === 'true'
  return { type: 'BOOKMARK', resourceVersion: version, initialEventsEnd }
}

function parsed(object: Buffer): unknown {
  checkSyntax(object)
  return JSON.parse(object.toString('utf8'))
}

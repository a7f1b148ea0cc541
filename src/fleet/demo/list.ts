/**
 * LIST as a kube-apiserver answers it: whole or in pages, each page at the version of the first.
 * Sources: apiserver pkg/storage/cacher and pkg/storage/etcd3 (`continue.go`, `errors.go`).
 */
import { badRequest, expired, isStatusError, StatusError } from '../../kube/status-error.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import type { ObjectStore } from './object-store.ts'
import type { ResourceType } from './resource-type.ts'
import { selectionOf } from './selection.ts'
import type { StoredObject } from './stored-object.ts'

interface Position {
  /** -1: at whatever version there is now, after an expired token. */
  readonly version: number
  /** The first key that has not been given out is behind this one. */
  readonly after: string
}

export interface Page {
  readonly objects: readonly StoredObject[]
  readonly metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number }
}

/** The objects of one page, and what its list says of it. `namespace` is empty for all of them. */
export function pageOf(store: ObjectStore, type: ResourceType, namespace: string, query: URLSearchParams): Page {
  const asked = query.get('resourceVersion') ?? ''
  const token = query.get('continue') ?? ''
  // A list at "0" is answered from the watch cache, which gives everything whatever the limit.
  const limit = asked === '0' && token === '' ? 0 : nonNegative(query, 'limit')
  const position = token === '' ? startOf(store, asked, query) : decodeContinue(token)
  if (token !== '' && asked !== '') throw badRequest('specifying resource version is not allowed when using continue')
  const { matches, selective } = selectionOf(type, namespace, query)
  const rest = objectsAt(store, type, position).filter((object) => after(object, position) && matches(object))
  const version = position.version === -1 ? store.version : position.version
  const last = limit > 0 && rest.length > limit ? rest[limit - 1] : undefined
  if (last === undefined) return { objects: rest, metadata: { resourceVersion: String(version) } }
  const remaining = selective ? {} : { remainingItemCount: rest.length - limit }
  const continueToken = encodeContinue({ version, after: last.key })
  return {
    objects: rest.slice(0, limit),
    metadata: { resourceVersion: String(version), continue: continueToken, ...remaining },
  }
}

function after(object: StoredObject, position: Position): boolean {
  return position.after === '' || compareUtf8(object.key, position.after) > 0
}

/** Exact pins the version; anything else is satisfied by now, unless it lies in the future. */
function startOf(store: ObjectStore, asked: string, query: URLSearchParams): Position {
  const exact = query.get('resourceVersionMatch') === 'Exact'
  if (asked === '' || asked === '0') return { version: store.version, after: '' }
  const version = parseVersion(asked)
  if (version > store.version) throw tooLarge(version, store.version)
  return { version: exact ? version : store.version, after: '' }
}

function objectsAt(store: ObjectStore, type: ResourceType, position: Position): readonly StoredObject[] {
  if (position.version === -1) return store.list(type)
  try {
    return store.listAt(type, position.version)
  } catch (error) {
    if (!isStatusError(error, 'expired') || position.after === '') throw error
    throw expired(
      'The continue token is too old for a consistent list. Start again, or go on with the token in this answer, ' +
        'which gives the remaining objects as they are now.',
      encodeContinue({ version: -1, after: position.after }),
    )
  }
}

export function parseVersion(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw badRequest(`Invalid value: ${JSON.stringify(text)}: resourceVersion`)
  return Number(text)
}

function nonNegative(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? ''
  if (text === '') return 0
  if (!/^[0-9]+$/.test(text)) throw badRequest(`Invalid value: ${JSON.stringify(text)}: ${name}`)
  return Number(text)
}

function tooLarge(version: number, current: number): StatusError {
  return new StatusError('timeout', `Too large resource version: ${version}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
}

/** As etcd's: the version and the first key of the next page (the last one given out plus a zero byte). */
function encodeContinue({ version, after }: Position): string {
  const json = JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: `${after}\u0000` })
  return Buffer.from(json, 'utf8').toString('base64url')
}

function decodeContinue(token: string): Position {
  try {
    const json = JSON.parse(Buffer.from(token, 'base64url').toString('utf8')) as { rv: unknown; start: unknown }
    if (typeof json.rv === 'number' && typeof json.start === 'string' && json.start.endsWith('\u0000')) {
      return { version: json.rv, after: json.start.slice(0, -1) }
    }
  } catch {
    // Not base64url of JSON: answered below.
  }
  throw badRequest('continue key is not valid: encoded token is malformed')
}

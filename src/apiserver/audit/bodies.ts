/**
 * Bodies of requests and answers for the audit log: listened to as they pass, up to a bound, never of what may hold a Secret.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { SEARCH_GROUP_VERSION } from '../../api/resource-registry.ts'
import { parseResourcePath } from '../../kube/resource-path.ts'

/** Larger bodies are left out, and the event says so. An object is at most 1.5 MiB in etcd, 3 MiB as a request. */
const MAX_BYTES = 4 * 1024 * 1024

/** Collects what passes until it is too much. */
export class Collected {
  #chunks: Uint8Array[] = []
  #bytes = 0
  #tooMuch = false

  add(chunk: unknown, encoding: unknown): void {
    if (chunk === null || chunk === undefined || this.#tooMuch) return
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : (chunk as Uint8Array)
    this.#bytes += bytes.length
    if (this.#bytes > MAX_BYTES) {
      this.#tooMuch = true
      this.#chunks = []
    } else this.#chunks.push(Uint8Array.prototype.slice.call(bytes)) // the writer may reuse its own
  }

  get tooMuch(): boolean {
    return this.#tooMuch
  }

  take(): Buffer {
    return Buffer.concat(this.#chunks)
  }
}

function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
}

/** The whole body, as far as anybody reads it. Call before somebody does. */
export function collectRequest(request: IncomingMessage, response: ServerResponse): Collected {
  const collected = new Collected()
  const arrived = request.read() as Buffer | null
  if (arrived !== null) {
    collected.add(arrived, undefined)
    request.unshift(arrived)
  }
  const push = request.push.bind(request)
  request.push = (chunk: unknown, encoding?: BufferEncoding) => {
    collected.add(chunk, encoding)
    return push(chunk, encoding)
  }
  // Since it was looked at, Node leaves what nobody read to us; the next request of the connection stands behind it.
  response.once('finish', () => {
    request.resume()
  })
  return collected
}

/** Every chunk of the answer that is sent from now on, as it is sent (gzip included). */
export function collectResponse(response: ServerResponse): Collected {
  const collected = new Collected()
  const write = response.write.bind(response) as (...args: unknown[]) => boolean
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse
  // Over HTTP/2 `end` hands its last chunk to `write`, over HTTP/1.1 it does not.
  let ending = false
  response.write = ((...args: unknown[]) => {
    if (!ending) collected.add(args[0], args[1])
    return write(...args)
  }) as typeof response.write
  response.end = ((...args: unknown[]) => {
    if (typeof args[0] !== 'function') collected.add(args[0], args[1])
    ending = true
    return end(...args)
  }) as typeof response.end
  return collected
}

const NATIVE = new RegExp(
  `^/apis/${SEARCH_GROUP_VERSION.replaceAll('.', '\\.')}/(?:search/cache|proxying/[^/]+/[^/]+)(/.*)$`,
)
const OWN = `/apis/${SEARCH_GROUP_VERSION}/resourceregistries`
/** Credentials of the core group besides Secrets: bodies of token requests hold tokens. */
const SECRET_RESOURCES: ReadonlySet<string> = new Set(['secrets', 'serviceaccounts/token'])
const SECRET_GROUPS: ReadonlySet<string> = new Set(['authentication.k8s.io'])

/**
 * Whether bodies of this path may be recorded at all: registries, and native resources of members that hold no credentials.
 * What answers with objects of any kind (queries) or with a stream (logs, sessions) never is.
 */
export function mayRecordBodies(path: string): boolean {
  if (path === OWN || path.startsWith(`${OWN}/`)) return true
  const native = NATIVE.exec(path)?.[1]
  const target = native === undefined ? undefined : parseResourcePath(native)
  if (target === undefined || SECRET_GROUPS.has(target.group)) return false
  if (target.group !== '') return true
  const [subresource] = (target.subresource ?? '').split('/', 1)
  return !SECRET_RESOURCES.has(target.resource) && !SECRET_RESOURCES.has(`${target.resource}/${subresource}`)
}

export interface DecodedBody {
  readonly object?: unknown
  /** Why there is none. */
  readonly omitted?: 'tooLarge' | 'unreadable' | 'secret'
}

/** A body as the object an event may hold. `type` and `encoding` are its headers. */
export function decodeBody(body: Collected, type: string, encoding: string, omitManagedFields: boolean): DecodedBody {
  if (body.tooMuch) return { omitted: 'tooLarge' }
  const bytes = body.take()
  if (bytes.length === 0) return {}
  let object: unknown
  try {
    const text = (encoding === 'gzip' ? gunzipSync(bytes, { maxOutputLength: MAX_BYTES }) : bytes).toString('utf8')
    object = /yaml/i.test(type) ? parse(text) : JSON.parse(text)
    JSON.stringify(object) // what is too deep to be written is left out here
  } catch {
    return { omitted: 'unreadable' }
  }
  if (holdsSecret(object)) return { omitted: 'secret' }
  return { object: omitManagedFields ? withoutManagedFields(object) : object }
}

/** By what it says of itself, whatever the path was: a Secret, a list or a Table with one in it. */
function holdsSecret(object: unknown): boolean {
  if (typeof object !== 'object' || object === null) return false
  const { kind, items, rows } = object as Readonly<Record<string, unknown>>
  if (kind === 'Secret' || kind === 'SecretList') return true
  if (Array.isArray(items) && items.some(holdsSecret)) return true
  return Array.isArray(rows) && rows.some((row) => holdsSecret((row as { object?: unknown } | null)?.object))
}

function withoutManagedFields(object: unknown): unknown {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return object
  const { items, rows, metadata } = object as Readonly<Record<string, unknown>>
  const copy: Record<string, unknown> = { ...object }
  if (typeof metadata === 'object' && metadata !== null) {
    copy['metadata'] = Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== 'managedFields'))
  }
  if (Array.isArray(items)) copy['items'] = items.map(withoutManagedFields)
  if (Array.isArray(rows)) {
    copy['rows'] = rows.map((row: { object?: unknown }) => ({ ...row, object: withoutManagedFields(row.object) }))
  }
  return copy
}

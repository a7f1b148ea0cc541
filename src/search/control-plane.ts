/**
 * Karmada's chain as the control plane has it, read as the caller while one answer is made: what it would not tell him he
 * does not learn here either. Where it cannot be asked, the answer says so and goes without.
 */
import { withDeadline, type Deadline } from '../http/deadline.ts'
import type { UserInfo } from '../http/api-request.ts'
import { parseObject } from '../http/selection.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import { isObject, items, text } from '../kube/columns/read.ts'
import { groupResourceKey, resourcePath } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Clock } from '../util/clock.ts'
import type { ChainList } from './chain-kinds.ts'
import { Places } from './places.ts'
import type { Standing, StandingResource } from './standing.ts'

/** Declared by its user: a GET of the control plane. */
export interface ControlPlane {
  /**
   * Its answer to the caller, of any status; rejects where there is none, not a whole one, or one that is not to the caller:
   * this program may not ask as him.
   */
  get(path: string, user: UserInfo, maxBytes: number, signal: AbortSignal): Promise<ControlPlaneAnswer>
  /** Told what `get` rejected with, or why its answer is of no use: callers are only told that something may be missing. */
  failed(cause: unknown): void
}

export interface ControlPlaneAnswer {
  readonly status: number
  /** Undefined: it has more than `maxBytes`. */
  readonly body: Uint8Array | undefined
}

/**
 * What answers call the control plane, as `karmadactl get` does. No Cluster can be called so: their names are lower case.
 */
export const KARMADA = 'Karmada' as ClusterName

/** The chain of one object takes three reads. */
const MAX_READS = 200
/** All reads of one answer together: an answer without the chain is better than none. */
const READS_MS = 10_000
/** Works hold whole objects, of up to 1.5 MB: pages are small. */
const PAGE = 50
/** Where nothing but a namespace narrows a list (old Karmada, whose objects have no id). */
const MAX_PAGES = 20
/** What one answer reads, and how many read at once: 256 MiB in all. */
const MAX_BYTES = 16 * 1024 * 1024
const MAX_ANSWERS = 16

/** Of the answers that read: no user keeps the others from theirs. */
export function controlPlanePlaces(): Places {
  return new Places('answers from the control plane', MAX_ANSWERS, MAX_ANSWERS / 4)
}

export interface ControlPlaneReadsOptions {
  readonly plane: ControlPlane
  readonly places: Places
  readonly clock: Clock
  readonly user: UserInfo
  /** The client is gone. */
  readonly signal: AbortSignal
}

type Read = { readonly status: 200; readonly json: JsonObject } | { readonly status: 403 | 404 }

const TOO_MUCH = 'has more than is read for one answer'

export class ControlPlaneReads {
  readonly #options: ControlPlaneReadsOptions
  readonly #warnings = new Set<string>()
  /** From the first read on. */
  #deadline: Deadline | undefined
  /** Gives back the place, which is held until nothing more is read. */
  #leave: (() => void) | undefined
  #reads = 0
  #bytes = 0
  #ended = false

  constructor(options: ControlPlaneReadsOptions) {
    this.#options = options
  }

  /** For the answer. */
  get warnings(): readonly string[] {
    return [...this.#warnings]
  }

  /** False: something could not be read, and may be missing. */
  get isWhole(): boolean {
    return !this.#ended
  }

  dispose(): void {
    this.#ended = true
    this.#release()
  }

  /** Undefined where it is not there, not for the caller to see, or cannot be read (`isWhole`). */
  async get(resource: StandingResource, namespace: string, name: string): Promise<Standing | undefined> {
    const within = resource.namespaced ? namespace : ''
    if (!isName(name) || (resource.namespaced && !isName(namespace))) return undefined
    const read = await this.#read(resourcePath(resource.gvr, within, name))
    const found = read.status === 200 ? standingOf(resource, read.json) : undefined
    return found?.object.name === name && found.object.namespace === within ? found : undefined
  }

  /** As it pages, until its reader has enough; nothing where the caller may not list, which the answer says. */
  async *list(list: ChainList): AsyncGenerator<Standing> {
    const { resource, namespace = '', labels, otherwise } = list
    if (namespace !== '' && !isName(namespace)) return
    const path = resourcePath(resource.gvr, namespace)
    let token = ''
    for (let page = 0; page < MAX_PAGES; page++) {
      const read = await this.#read(`${path}?${listQuery(labels, token)}`)
      if (read.status === 403) {
        if (otherwise === undefined) this.#warnings.add(refusedText(resource))
        else for (const each of otherwise) yield* this.list(each)
      }
      if (read.status !== 200) return
      for (const item of items(read.json, 'items')) {
        const standing = standingOf(resource, item)
        if (standing !== undefined) yield standing
      }
      token = text(read.json, 'metadata', 'continue')
      if (token === '') return
    }
    this.#end(TOO_MUCH)
  }

  /** Anything but 200, 403 and 404 ends all reads, and is as good as 404. */
  async #read(path: string): Promise<Read> {
    if (this.#ended) return { status: 404 }
    if (++this.#reads > MAX_READS) return this.#end(TOO_MUCH)
    const { plane, user, signal } = this.#options
    const stop = this.#deadline?.signal ?? this.#begin()
    if (stop === undefined) return this.#end('is asked by too many at the moment')
    try {
      stop.throwIfAborted()
      const { status, body } = await plane.get(path, user, MAX_BYTES - this.#bytes, stop)
      if (body === undefined) return this.#end(TOO_MUCH)
      this.#bytes += body.length
      if (status === 403 || status === 404) return { status }
      if (status !== 200) return this.#end(`answered ${status}`)
      const json = parsed(body)
      return isObject(json) ? { status, json } : this.#end('answered what is no object')
    } catch (error) {
      signal.throwIfAborted()
      plane.failed(error)
      return this.#end(stop.aborted ? 'took too long' : 'gave no whole answer')
    }
  }

  /** Undefined: there is no place. */
  #begin(): AbortSignal | undefined {
    const { places, clock, user, signal } = this.#options
    signal.throwIfAborted()
    this.#leave = places.enter(user.name)
    if (this.#leave === undefined) return undefined
    this.#deadline = withDeadline(READS_MS, clock, signal)
    this.#deadline.signal.addEventListener('abort', () => this.#release(), { once: true })
    return this.#deadline.signal
  }

  #end(why: string): Read {
    this.#ended = true
    this.#release()
    this.#warnings.add(`the control plane ${why}: policies, bindings and Works may be missing`)
    return { status: 404 }
  }

  #release(): void {
    this.#deadline?.dispose()
    this.#leave?.()
    this.#leave = undefined
  }
}

/** The parser's own error quotes what it read, and Works hold Secrets. */
function parsed(body: Uint8Array): unknown {
  try {
    return parseObject(body)
  } catch {
    throw new Error('the answer is not JSON')
  }
}

/** For what cannot be told without the control plane. */
export function chainUnavailable({ warnings }: ControlPlaneReads): StatusError {
  return new StatusError('serviceUnavailable', warnings.join('; '), { details: { retryAfterSeconds: 1 } })
}

/** Names come from annotations, which anybody may write: none leads elsewhere in the path. */
function isName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$/.test(name)
}

function listQuery(labels: Readonly<Record<string, string>>, token: string): string {
  const query = new URLSearchParams({ limit: String(PAGE) })
  const selector = Object.entries(labels).map((label) => label.join('='))
  if (selector.length > 0) query.set('labelSelector', selector.join(','))
  if (token !== '') query.set('continue', token)
  return query.toString()
}

function refusedText({ gvr }: StandingResource): string {
  return `you may not list ${groupResourceKey(gvr)} in the control plane`
}

/** Undefined of what has no name, which no API server sends. */
function standingOf(reader: StandingResource, json: unknown): Standing | undefined {
  const name = text(json, 'metadata', 'name')
  if (!isObject(json) || name === '') return undefined
  const [namespace, uid] = [text(json, 'metadata', 'namespace'), text(json, 'metadata', 'uid')]
  return { reader, object: { cluster: KARMADA, namespace, name, uid }, json: () => json }
}

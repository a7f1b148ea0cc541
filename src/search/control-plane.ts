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
import type { Standing, StandingResource } from './standing.ts'

/** Declared by its user: a GET of the control plane. */
export interface ControlPlane {
  /** Its answer to the caller, of any status; rejects where there is none, or not a whole one. */
  get(path: string, user: UserInfo, signal: AbortSignal): Promise<ControlPlaneAnswer>
}

export interface ControlPlaneAnswer {
  readonly status: number
  readonly body: Uint8Array
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

/** How many answers read. */
export class ControlPlaneGate {
  readonly most = MAX_ANSWERS
  #open = 0

  now(): number {
    return this.#open
  }

  enter(): boolean {
    if (this.#open >= MAX_ANSWERS) return false
    this.#open += 1
    return true
  }

  leave(): void {
    this.#open -= 1
  }
}

export interface ControlPlaneReadsOptions {
  readonly plane: ControlPlane
  readonly gate: ControlPlaneGate
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
  /** From the first read to `dispose`. */
  #deadline: Deadline | undefined
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
    if (this.#deadline === undefined) return
    this.#deadline.dispose()
    this.#options.gate.leave()
    this.#deadline = undefined
    this.#ended = true
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
    const { plane, gate, clock, user, signal } = this.#options
    if (this.#deadline === undefined) {
      if (!gate.enter()) return this.#end('is asked by too many at the moment')
      this.#deadline = withDeadline(READS_MS, clock, signal)
    }
    const { signal: stop } = this.#deadline
    try {
      const { status, body } = await plane.get(path, user, stop)
      this.#bytes += body.length
      if (status === 403 || status === 404) return { status }
      if (status !== 200) return this.#end(`answered ${status}`)
      if (this.#bytes > MAX_BYTES) return this.#end(TOO_MUCH)
      const json: unknown = parseObject(body)
      return isObject(json) ? { status, json } : this.#end('answered what is no object')
    } catch {
      signal.throwIfAborted()
      return this.#end(stop.aborted ? 'took too long' : 'gave no whole answer')
    }
  }

  #end(why: string): Read {
    this.#ended = true
    this.#warnings.add(`the control plane ${why}: policies, bindings and Works may be missing`)
    return { status: 404 }
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

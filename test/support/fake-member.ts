/**
 * A fake member cluster for tests: a real HTTP API server (the one of the demo fleet) that can be made to misbehave.
 *
 *     const member = await startFakeMember({ clock })
 *     member.put(pod('default', 'web-0'))
 *     member.misbehave({ on: { resource: 'pods', watch: true }, times: 1, fault: { type: 'status', code: 429, retryAfterSeconds: 7 } })
 *     await member.until(() => member.watches('pods').length === 1)
 *     member.cutWatches('pods', '{"type":"ADD')
 *     await member.close()
 *
 * Faults apply to requests in the order they were given, each `times` times (default: until lifted).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiServer } from '../../src/fleet/demo/api-server.ts'
import { BUILTIN_TYPES } from '../../src/fleet/demo/builtin-types.ts'
import { editable, ObjectStore } from '../../src/fleet/demo/object-store.ts'
import type { ResourceType } from '../../src/fleet/demo/resource-type.ts'
import type { NewObject, StoredObject } from '../../src/fleet/demo/stored-object.ts'
import type { WatchStream } from '../../src/fleet/demo/watch-stream.ts'
import { parseResourcePath } from '../../src/kube/resource-path.ts'
import { StatusError } from '../../src/kube/status-error.ts'
import { systemClock, type Clock } from '../../src/util/clock.ts'
import { applyFault, type Fault } from './faults.ts'

export type { Fault } from './faults.ts'
export type { NewObject } from '../../src/fleet/demo/stored-object.ts'
export type { ResourceType } from '../../src/fleet/demo/resource-type.ts'

/** One request as it arrived. */
export interface LoggedRequest {
  readonly method: string
  /** Path and query, byte for byte. */
  readonly url: string
  readonly path: string
  readonly query: URLSearchParams
  /** Plural name; undefined where the path names no resource. */
  readonly resource: string | undefined
  readonly watch: boolean
  readonly headers: IncomingMessage['headers']
}

/** Every part that is given must fit. */
export interface RequestMatcher {
  readonly resource?: string
  readonly watch?: boolean
  /** A path (without query) or a pattern on path and query. */
  readonly path?: string | RegExp
  readonly method?: string
  readonly where?: (request: LoggedRequest) => boolean
}

export interface Misbehaviour {
  /** Default: every request. */
  readonly on?: RequestMatcher
  /** How often it strikes; default: until lifted. */
  readonly times?: number
  readonly fault: Fault
}

export interface FakeMemberOptions {
  /** Default: the system's. Rules watch time-outs, bookmarks and slow answers. */
  readonly clock?: Clock
  /** Types beyond the built-in ones, e.g. those of a CRD; `types` replaces the built-in ones. */
  readonly extraTypes?: readonly ResourceType[]
  readonly types?: readonly ResourceType[]
  readonly objects?: readonly NewObject[]
  readonly startVersion?: number
  readonly historyLimit?: number
  readonly bookmarkIntervalMs?: number
  readonly gitVersion?: string
  readonly port?: number
  /** Part of the uids it gives, so that two members never share one; default `fake`. */
  readonly name?: string
}

/** A type as a CRD of group `example.io` would define it: `customType('Foo')` is `example.io/v1 foos`. */
export function customType(kind: string, overrides: Partial<ResourceType> = {}): ResourceType {
  const singular = kind.toLowerCase()
  return {
    group: 'example.io',
    version: 'v1',
    resource: `${singular}s`,
    singular,
    kind,
    namespaced: true,
    custom: true,
    ...overrides,
  }
}

export async function startFakeMember(options: FakeMemberOptions = {}): Promise<FakeMember> {
  const member = new FakeMember(options)
  await member.start(options.port ?? 0)
  return member
}

export class FakeMember {
  /** Every request since the start or `requests.length = 0`. */
  readonly requests: LoggedRequest[] = []
  readonly #options: FakeMemberOptions
  readonly #misbehaviours: { rule: Misbehaviour; left: number }[] = []
  readonly #waiting = new Set<() => void>()
  readonly #sockets = new Set<IncomingMessage['socket']>()
  /** Aborts on `stop`, so that slow and stalled answers leave nothing behind. */
  #lifetime = new AbortController()
  #store: ObjectStore
  #server: ApiServer
  #url = ''
  #uids = 0

  constructor(options: FakeMemberOptions) {
    this.#options = options
    this.#store = this.#newStore(options.startVersion ?? 1_000)
    this.#server = this.#newServer()
    for (const object of options.objects ?? []) this.put(object)
  }

  /** `http://127.0.0.1:PORT`; the same after `stop` and `start`. */
  get url(): string {
    return this.#url
  }

  /** Connections that are open to it, of those that have asked for anything. */
  get connections(): number {
    return this.#sockets.size
  }

  get store(): ObjectStore {
    return this.#store
  }

  /** The present version, as its lists give it. */
  get version(): string {
    return String(this.#store.version)
  }

  /** Creates or replaces; of a built-in or registered type. Do not change the object afterwards. */
  put(object: NewObject): StoredObject {
    return this.#store.put(object)
  }

  /** Reads, changes and writes back: `update('Pod', 'default', 'web-0', (pod) => ({...pod, status}))`. */
  update(kind: string, namespace: string, name: string, change: (object: NewObject) => NewObject): StoredObject {
    const object = this.#store.require(this.type(kind), namespace, name)
    return this.#store.put(change(editable(object)))
  }

  delete(kind: string, namespace: string, name: string): void {
    this.#store.delete(this.type(kind), namespace, name)
  }

  /** The registered type of a kind, e.g. `Pod`. */
  type(kind: string): ResourceType {
    const type = this.#store.types().find((candidate) => candidate.kind === kind)
    if (type === undefined) throw new Error(`this member has no kind ${kind}`)
    return type
  }

  /** A kind appears in discovery, as when its CRD is created. */
  addType(type: ResourceType): void {
    this.#store.register(type)
  }

  /** A kind and its objects vanish, as when its CRD is deleted; its watches end. */
  removeType(type: ResourceType): void {
    this.#store.unregister(type)
    for (const watch of this.watches(type.resource)) watch.end()
  }

  /** Returns how to lift it. */
  misbehave(rule: Misbehaviour): () => void {
    const entry = { rule, left: rule.times ?? Infinity }
    this.#misbehaviours.push(entry)
    return () => {
      entry.left = 0
    }
  }

  /** Lifts every misbehaviour; answers that are stalled already stay so. */
  behave(): void {
    this.#misbehaviours.length = 0
  }

  /** Open watches, of one resource or all. */
  watches(resource?: string): readonly WatchStream[] {
    return this.#server.watches().filter((watch) => resource === undefined || watch.type.resource === resource)
  }

  endWatches(resource?: string): void {
    for (const watch of this.watches(resource)) watch.end()
  }

  /** Breaks them, after the part of a line given. */
  cutWatches(resource?: string, partialLine = ''): void {
    for (const watch of this.watches(resource)) watch.cut(partialLine)
  }

  /** They stay open and say nothing more: half-open connections. */
  holdWatches(resource?: string): void {
    for (const watch of this.watches(resource)) watch.hold()
  }

  bookmark(resource?: string): void {
    for (const watch of this.watches(resource)) watch.bookmark()
  }

  /** A 410 inside the stream, in the form of an ERROR event. */
  expireWatches(resource?: string): void {
    const status = new StatusError('expired', 'too old resource version').toStatus()
    for (const watch of this.watches(resource)) watch.fail(status)
  }

  /** Forgets its history: watches and continue tokens of before get 410. */
  compact(): void {
    this.#store.compact()
  }

  /** Resolves once the condition holds; looked at after every request, closed connection and turn of the event loop. */
  async until(condition: () => boolean, what = 'the condition'): Promise<void> {
    const deadline = systemClock.monotonicMs() + 10_000
    while (!condition()) {
      if (systemClock.monotonicMs() > deadline) throw new Error(`waited 10 s for ${what}`)
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer)
          this.#waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, 5)
        this.#waiting.add(wake)
      })
    }
  }

  /** Requests that fit, in their order. */
  requested(matcher: RequestMatcher): readonly LoggedRequest[] {
    return this.requests.filter((request) => fits(matcher, request))
  }

  async start(port = 0): Promise<void> {
    this.#url = await this.#server.listen(this.#url === '' ? port : Number(new URL(this.#url).port))
  }

  /** Cuts everything and stops listening, as a killed server; `start` brings it back under the same URL. */
  async stop(): Promise<void> {
    this.#lifetime.abort(new Error('the fake member stops'))
    this.#lifetime = new AbortController()
    await this.#server.close()
    this.#server = this.#newServer()
  }

  close(): Promise<void> {
    return this.stop()
  }

  /** Comes back without its history and objects, as after a lost etcd: versions start again. */
  async restartEmpty(startVersion = 1): Promise<void> {
    await this.stop()
    const types = this.#store.types()
    this.#store = this.#newStore(startVersion)
    this.#store.register(...types)
    this.#server = this.#newServer()
    await this.start()
  }

  #newStore(startVersion: number): ObjectStore {
    const { types = BUILTIN_TYPES, extraTypes = [], historyLimit = 1_000, name = 'fake' } = this.#options
    const tail = Buffer.from(name.padEnd(6, '\0').slice(0, 6)).toString('hex')
    const newUid = (): string => `${(++this.#uids).toString(16).padStart(8, '0')}-0000-4000-8000-${tail}`
    const store = new ObjectStore({ clock: this.#options.clock ?? systemClock, newUid, startVersion, historyLimit })
    store.register(...types, ...extraTypes)
    return store
  }

  #newServer(): ApiServer {
    const { clock = systemClock, bookmarkIntervalMs = 60_000, gitVersion = 'v1.36.3' } = this.#options
    return new ApiServer({
      store: this.#store,
      clock,
      random: () => 0.5,
      bookmarkIntervalMs,
      gitVersion,
      intercept: (request, response, url) => this.#intercept(request, response, url),
    })
  }

  #intercept(request: IncomingMessage, response: ServerResponse, url: URL): boolean | Promise<boolean> {
    const logged = logOf(request, url)
    this.requests.push(logged)
    this.#note(request.socket)
    this.#wake()
    response.once('close', () => {
      this.#wake()
    })
    const entry = this.#misbehaviours.find(({ rule, left }) => left > 0 && fits(rule.on ?? {}, logged))
    if (entry === undefined) return false
    entry.left -= 1
    return applyFault(entry.rule.fault, response, this.#options.clock ?? systemClock, this.#lifetime.signal)
  }

  #note(socket: IncomingMessage['socket']): void {
    if (this.#sockets.has(socket)) return
    this.#sockets.add(socket)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#wake()
    })
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }
}

function logOf(request: IncomingMessage, url: URL): LoggedRequest {
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    path: url.pathname,
    query: url.searchParams,
    resource: parseResourcePath(url.pathname)?.resource,
    watch: ['1', 'true'].includes(url.searchParams.get('watch') ?? ''),
    headers: request.headers,
  }
}

function fits(matcher: RequestMatcher, request: LoggedRequest): boolean {
  const { resource, watch, path, method, where } = matcher
  if (resource !== undefined && resource !== request.resource) return false
  if (watch !== undefined && watch !== request.watch) return false
  if (method !== undefined && method !== request.method) return false
  if (typeof path === 'string' && path !== request.path) return false
  if (path instanceof RegExp && !path.test(request.url)) return false
  return where?.(request) ?? true
}

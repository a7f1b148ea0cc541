/**
 * A small Kubernetes API server over an `ObjectStore`: list, watch, get, discovery (plain and aggregated), `/version`,
 * OpenAPI, health. It reads only; the store is written from inside. The demo fleet's members are made of it, and
 * so are the fake members of the tests, which add faults through `intercept`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { apiVersionOf } from '../../kube/group-version.ts'
import { parseResourcePath, type ResourcePath } from '../../kube/resource-path.ts'
import { badRequest, isStatusError, StatusError } from '../../kube/status-error.ts'
import type { Clock, Random } from '../../util/clock.ts'
import { sendSelfReview } from './self-reviews.ts'
import { sendError, sendJson, sendPieces, sendText } from './answer.ts'
import { sendDiscovery } from './discovery-routes.ts'
import { Face } from './face.ts'
import { pageOf, parseVersion } from './list.ts'
import type { ObjectStore } from './object-store.ts'
import { sendOpenApi } from './openapi-routes.ts'
import { isStored, verbsOf, type ResourceType } from './resource-type.ts'
import { selectionOf } from './selection.ts'
import { WatchStream } from './watch-stream.ts'

/** Sees every request before it is answered; true means that it took the answer over. May throw a `StatusError`. */
export type Interceptor = (request: IncomingMessage, response: ServerResponse, url: URL) => boolean | Promise<boolean>

/** Answers a subresource, such as `pods/log`; false where it has none of that name. */
export type SubresourceHandler = (route: ResourcePath, url: URL, response: ServerResponse) => boolean

export interface ApiServerOptions {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly random: Random
  /** `/version`'s `gitVersion`; default `v1.36.3`. */
  readonly gitVersion?: string
  readonly intercept?: Interceptor
  readonly subresource?: SubresourceHandler
  /** Default 60 000, as a kube-apiserver's. */
  readonly bookmarkIntervalMs?: number
}

/** A watch without `timeoutSeconds` ends after this long, up to twice as long: `--min-request-timeout`. */
const MIN_WATCH_MS = 1_800_000

export class ApiServer {
  readonly #options: ApiServerOptions
  readonly #server: Server
  readonly #watches = new Set<WatchStream>()

  constructor(options: ApiServerOptions) {
    this.#options = options
    this.#server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        sendError(response, error)
      })
    })
  }

  /** Listens on loopback; port 0 takes a free one. Resolves with the base URL, without a slash at its end. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, '127.0.0.1', resolve)
    })
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Cuts every connection and stops listening. */
  async close(): Promise<void> {
    for (const watch of this.#watches) watch.cut()
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve()
      })
    })
    this.#server.closeAllConnections()
    await closed
  }

  /** The watches that are open now. */
  watches(): readonly WatchStream[] {
    return [...this.#watches]
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://member')
    if ((await this.#options.intercept?.(request, response, url)) === true) return
    if (await sendSelfReview(request, url, response)) return
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new StatusError('methodNotAllowed', 'this API server is read-only')
    }
    const types = this.#options.store.types()
    const route = parseResourcePath(url.pathname)
    if (route !== undefined) return this.#resource(route, url, request, response)
    if (this.#process(url, response)) return
    if (sendDiscovery(types, url.pathname, request, response)) return
    if (await sendOpenApi(this.#options.store, url, request.headers.accept, response)) return
    throw pathNotFound()
  }

  #process(url: URL, response: ServerResponse): boolean {
    if (/^\/(healthz|livez|readyz)(\/.*)?$/.test(url.pathname)) sendText(response, 200, 'text/plain', 'ok')
    else if (url.pathname === '/version') sendJson(response, 200, versionInfo(this.#options.gitVersion ?? 'v1.36.3'))
    else return false
    return true
  }

  async #resource(route: ResourcePath, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { store } = this.#options
    const type = store.type(`${apiVersionOf(route)}/${route.resource}`)
    if (type === undefined || (route.namespace !== undefined && !type.namespaced)) throw pathNotFound()
    if (!isStored(type)) throw new StatusError('methodNotAllowed', `${type.resource} can only be created`)
    if (route.subresource !== undefined) return this.#subresource(type, route, url, response)
    const query = url.searchParams
    const watch = route.watch === true || ['true', '1'].includes(query.get('watch') ?? '')
    const shape = watch ? 'stream' : route.name === undefined ? 'list' : 'object'
    const accept = request.headers.accept
    const face = new Face({ store, type, accept, query, shape, nowMs: () => this.#options.clock.nowMs() })
    if (shape === 'object') {
      const object = store.require(type, route.namespace, route.name ?? '')
      return sendText(response, 200, 'application/json', `${face.object(object)}\n`)
    }
    if (!verbsOf(type).includes(watch ? 'watch' : 'list')) throw new StatusError('methodNotAllowed', 'not supported')
    if (watch) return this.#watch(type, route, query, face, response)
    const { objects, metadata } = pageOf(store, type, route.namespace ?? '', query)
    await sendPieces(request, response, face.list(objects, metadata)[Symbol.iterator]())
  }

  #subresource(type: ResourceType, route: ResourcePath, url: URL, response: ServerResponse): void {
    const known = type.subresources?.find((sub) => sub.name === route.subresource)
    if (known === undefined) throw pathNotFound()
    const object = this.#options.store.require(type, route.namespace, route.name ?? '')
    if (route.subresource === 'status') {
      sendText(response, 200, 'application/json', `${object.document(type)}\n`)
    } else if (this.#options.subresource?.(route, url, response) !== true) {
      throw new StatusError('methodNotAllowed', `${type.resource}/${route.subresource} is not served here`)
    }
  }

  #watch(type: ResourceType, route: ResourcePath, query: URLSearchParams, face: Face, response: ServerResponse): void {
    const { store, clock, bookmarkIntervalMs = 60_000 } = this.#options
    const asked = query.get('resourceVersion') ?? ''
    const initial = query.get('sendInitialEvents') === 'true'
    if (initial && query.get('resourceVersionMatch') !== 'NotOlderThan') {
      throw new StatusError('invalid', 'resourceVersionMatch: sendInitialEvents requires NotOlderThan')
    }
    const named = route.name === undefined ? query : withName(query, route.name)
    const namespace = route.namespace ?? ''
    const options = {
      type,
      namespace,
      selection: selectionOf(type, namespace, named),
      face,
      from: initial || asked === '' || asked === '0' ? undefined : parseVersion(asked),
      initialEventsEnd: initial,
      bookmarks: query.get('allowWatchBookmarks') === 'true',
      timeoutMs: this.#watchTimeoutMs(query),
      bookmarkIntervalMs,
    }
    try {
      const stream = new WatchStream(store, options, response, clock)
      this.#watches.add(stream)
      response.once('close', () => this.#watches.delete(stream))
    } catch (error) {
      // Once a watch is accepted, a kube-apiserver says even this inside the stream.
      if (!isStatusError(error, 'expired')) throw error
      sendText(response, 200, 'application/json', `${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`)
    }
  }

  #watchTimeoutMs(query: URLSearchParams): number {
    const text = query.get('timeoutSeconds') ?? ''
    if (text === '') return Math.floor(MIN_WATCH_MS * (1 + this.#options.random()))
    if (!/^[0-9]+$/.test(text)) throw badRequest(`Invalid value: ${JSON.stringify(text)}: timeoutSeconds`)
    return Number(text) * 1_000
  }
}

function withName(query: URLSearchParams, name: string): URLSearchParams {
  const narrowed = new URLSearchParams(query)
  const fields = [query.get('fieldSelector') ?? '', `metadata.name=${name}`].filter((part) => part !== '')
  narrowed.set('fieldSelector', fields.join(','))
  return narrowed
}

function pathNotFound(): StatusError {
  return new StatusError('notFound', 'the server could not find the requested resource')
}

function versionInfo(gitVersion: string): Record<string, string> {
  const [major = '1', minor = '36'] = gitVersion.replace(/^v/, '').split('.')
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion,
    gitCommit: '6f3a7b2c9d1e4f5a8b7c6d5e4f3a2b1c0d9e8f7a',
    gitTreeState: 'clean',
    buildDate: '2026-06-09T10:21:45Z',
    goVersion: 'go1.26.2',
    compiler: 'gc',
    platform: 'linux/amd64',
  }
}

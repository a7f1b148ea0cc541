/**
 * ListerWatcher over a member's HTTP API, as streams of bytes: a list of any size passes through in the memory of one
 * object, nothing is parsed here.
 */
import type { MemberClient, MemberResponse } from '../fleet/member.ts'
import { WatchPatience } from '../fleet/watch-patience.ts'
import { gvrKey, resourcePath, type GroupVersionResource } from '../kube/group-version.ts'
import { ListSplitter, type ListHead } from '../kube/list-splitter.ts'
import type { ResourceVersion } from '../kube/names.ts'
import type { Clock, Random } from '../util/clock.ts'
import { answerError } from './answer-error.ts'
import { PageRetry } from './page-retry.ts'
import type { ListerWatcher, ListSink, WatchBatchEvent } from './lister-watcher.ts'
import { ReflectorError, type ReflectorPhase } from './reflector-error.ts'
import { watchEvents } from './watch-stream.ts'

export interface HttpListerWatcherOptions {
  readonly client: MemberClient
  /** For `name`. */
  readonly cluster: string
  readonly gvr: GroupVersionResource
  /** Only this namespace. */
  readonly namespace?: string
  readonly fieldSelector?: string
  /** Items a page; default 500. */
  readonly pageSize?: number
  /** A larger object breaks the list or watch as malformed; default 16 MiB (etcd takes 1.5 MiB). */
  readonly maxObjectBytes?: number
  /** As `WatchPatience` has it. */
  readonly silenceMs?: number
  readonly clock: Clock
  readonly random: Random
}

const LIST_HEADERS_TIMEOUT_MS = 60_000 // a kube-apiserver gives a list 60 s itself (--request-timeout)

export class HttpListerWatcher implements ListerWatcher {
  readonly name: string
  readonly #options: HttpListerWatcherOptions
  readonly #path: string
  readonly #maxObjectBytes: number
  readonly #patience: WatchPatience

  constructor(options: HttpListerWatcherOptions) {
    const scope = options.namespace === undefined ? '' : ` in ${options.namespace}`
    this.name = `${options.cluster}/${gvrKey(options.gvr)}${scope}`
    this.#options = options
    this.#path = resourcePath(options.gvr, options.namespace)
    this.#maxObjectBytes = options.maxObjectBytes ?? 16 * 1024 * 1024
    this.#patience = new WatchPatience(options.silenceMs)
  }

  onRecovery(listener: () => void): () => void {
    return this.#options.client.onRecovery?.(listener) ?? (() => undefined)
  }

  /**
   * Pages of `pageSize`. When a continue token expires on the way (410), the list begins again in one unpaged request,
   * which cannot expire. Source: client-go tools/pager, `FullListIfExpired`.
   */
  async list(sink: ListSink, signal: AbortSignal): Promise<ResourceVersion> {
    try {
      return await this.#listPages(sink, signal, this.#options.pageSize ?? 500)
    } catch (error) {
      if (!(error instanceof ReflectorError && error.code === 'expired')) throw error
      sink.restart()
      return await this.#listPages(sink, signal, 0)
    }
  }

  async currentVersion(signal: AbortSignal): Promise<ResourceVersion> {
    const head = await this.#page('verify', { limit: '1' }, () => undefined, signal)
    return versionOf(this.name, 'verify', head)
  }

  async watch(from: ResourceVersion, signal: AbortSignal): Promise<AsyncIterable<readonly WatchBatchEvent[]>> {
    const { client, random } = this.#options
    const { timeoutSeconds, idleMs } = this.#patience.bounds(random)
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: from,
      timeoutSeconds: `${timeoutSeconds}`,
    }
    const response = await client.request({
      method: 'GET',
      path: this.#url(query),
      idleMs,
      signal,
    })
    if (response.status !== 200) throw await answerError(this.name, 'watch', response)
    return watchEvents(this.name, response, {
      maxEventBytes: this.#maxObjectBytes,
      onBookmark: () => {
        this.#patience.bookmarkCame()
      },
    })
  }

  async #listPages(sink: ListSink, signal: AbortSignal, limit: number): Promise<ResourceVersion> {
    const retry = new PageRetry(this.#options.clock, this.#options.random)
    const tokens = new Set<string>()
    let token = ''
    let version: ResourceVersion | undefined
    do {
      const query = { ...(limit === 0 ? {} : { limit: `${limit}` }), ...(token === '' ? {} : { continue: token }) }
      const head = await retry.run(token !== '', sink, (onItem) => this.#page('list', query, onItem, signal), signal)
      version = versionOf(this.name, 'list', head)
      token = head.continue
      if (tokens.has(token))
        throw new ReflectorError('malformed', 'list', `${this.name}: the list's pages go in a circle`)
      tokens.add(token)
    } while (token !== '')
    return version
  }

  async #page(
    phase: ReflectorPhase,
    query: Readonly<Record<string, string>>,
    onItem: (bytes: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<ListHead> {
    const response = await this.#options.client.request({
      method: 'GET',
      path: this.#url(query),
      headersTimeoutMs: LIST_HEADERS_TIMEOUT_MS,
      signal,
    })
    if (response.status !== 200) throw await answerError(this.name, phase, response)
    return this.#split(response, onItem)
  }

  async #split(response: MemberResponse, onItem: (bytes: Uint8Array) => void): Promise<ListHead> {
    const splitter = new ListSplitter({ maxObjectBytes: this.#maxObjectBytes, onItem })
    for await (const chunk of response.body) splitter.push(chunk)
    return splitter.end()
  }

  #url(query: Readonly<Record<string, string>>): string {
    const { fieldSelector } = this.#options
    const selector = fieldSelector === undefined ? {} : { fieldSelector }
    const text = new URLSearchParams({ ...query, ...selector }).toString()
    return text === '' ? this.#path : `${this.#path}?${text}`
  }
}

function versionOf(name: string, phase: ReflectorPhase, head: ListHead): ResourceVersion {
  if (head.resourceVersion !== '') return head.resourceVersion as ResourceVersion
  throw new ReflectorError('malformed', phase, `${name}: the list has no resourceVersion`)
}

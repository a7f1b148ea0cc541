/** A watch over the cache: events of all clusters in one stream, resumable by the version map in each of them. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { ResourceReader, WatchItem, WatchOptions } from '../../cache/reader.ts'
import { negotiate } from '../../http/accept.ts'
import type { Exchange } from '../../http/answer.ts'
import { ClientGoneError } from '../../http/body-writer.ts'
import type { ListOptions } from '../../http/list-options.ts'
import { parseIncludeObject } from '../../http/object-list.ts'
import type { PinSource } from '../../http/page-token.ts'
import type { Selection } from '../../http/selection.ts'
import { requestedVersions, waitForVersions } from '../../http/version-wait.ts'
import type { KindColumns } from '../../kube/columns/column.ts'
import type { VersionMap } from '../../kube/multi-cluster-version.ts'
import type { ClusterName } from '../../kube/names.ts'
import { expired, isStatusError } from '../../kube/status-error.ts'
import type { Clock, Random } from '../../util/clock.ts'
import { EventRenderer } from './event-renderer.ts'
import { EventStream } from '../../http/event-stream.ts'
import type { Matcher } from './selector-transition.ts'
import { matcherOf, transition } from './selector-transition.ts'
import { watchSignal } from '../../http/watch-signal.ts'

/** What is watched; structurally a `ResourceReader`, or a live watch over the members. */
export interface WatchSource extends Pick<ResourceReader, 'gvr' | 'kind'>, PinSource {
  watch(options: WatchOptions): AsyncIterable<readonly WatchItem[]>
  /**
   * As `watch`, but resolves only when it is known that something answers at all; rejects with what to say otherwise.
   * Default: `watch`, of a source that always answers.
   */
  openWatch?(options: WatchOptions): Promise<AsyncIterable<readonly WatchItem[]>>
  /** The versions to watch from when only what comes next is wanted. Default: `versions()`. */
  presentVersions?(signal: AbortSignal): Promise<VersionMap>
}

export interface WatchRequest {
  readonly reader: WatchSource
  readonly list: ListOptions
  readonly selection: Selection
  /** Only these clusters; undefined: all. */
  readonly clusters: ReadonlySet<ClusterName> | undefined
  readonly columns: () => Promise<KindColumns>
  readonly headers: OutgoingHttpHeaders
  readonly clock: Clock
  readonly random: Random
}

/** Resolves when the watch has ended: its time is over, the client is gone, or its last event was an ERROR. */
export async function serveWatch({ request, response }: Exchange, watch: WatchRequest): Promise<void> {
  const { reader, list, clock, random } = watch
  const representation = negotiate(request.incoming.headers.accept, 'stream')
  const renderer = new EventRenderer({
    gvk: { ...reader.gvr, kind: reader.kind },
    representation,
    columns: representation.as === 'table' ? await watch.columns() : undefined,
    includeObject: parseIncludeObject(request.query),
    clock,
  })
  const from = await startOf(watch, request.signal)
  if (request.method === 'HEAD') {
    response.writeHead(200, { 'content-type': 'application/json', ...watch.headers }).end()
    return
  }
  const lifetime = watchSignal(request, list.timeoutSeconds, clock, random)
  let stream: EventStream | undefined
  const giveUp = (): void => {
    stream?.giveUp(clock)
  }
  try {
    const options = optionsOf(watch, from, { signal: lifetime.signal, onExpired: giveUp })
    const batches = (await reader.openWatch?.(options)) ?? reader.watch(options)
    stream = new EventStream(response, watch.headers)
    lifetime.signal.addEventListener('abort', giveUp, { once: true })
    await pump(watch, stream, renderer, batches)
    stream.end()
  } catch (error) {
    if (error instanceof ClientGoneError) return
    if (stream === undefined || !isStatusError(error)) throw error
    stream.error(error.toStatus()) // the head is sent: what a status would have said is said in the stream
    stream.end()
  } finally {
    lifetime.dispose()
  }
}

/** The versions to resume behind; undefined: begin with the present objects. */
async function startOf(
  { reader, list, clusters, clock }: WatchRequest,
  signal: AbortSignal,
): Promise<VersionMap | undefined> {
  const requested = requestedVersions(list.resourceVersion)
  if (list.sendInitialEvents === true) {
    await waitForVersions(reader, requested, clock, signal)
    return undefined
  }
  const present = async (): Promise<VersionMap> => (await reader.presentVersions?.(signal)) ?? reader.versions()
  const from = requested ?? (list.sendInitialEvents === false ? await present() : undefined)
  if (from === undefined || clusters === undefined) return from
  return new Map([...from].filter(([cluster]) => clusters.has(cluster)))
}

function optionsOf(
  { selection: { namespace, name }, clusters }: WatchRequest,
  from: VersionMap | undefined,
  lifetime: Pick<WatchOptions, 'signal' | 'onExpired'>,
): WatchOptions {
  return {
    ...lifetime,
    ...(from === undefined ? {} : { from }),
    ...(clusters === undefined ? {} : { clusters }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  }
}

async function pump(
  { list, selection }: WatchRequest,
  stream: EventStream,
  renderer: EventRenderer,
  batches: AsyncIterable<readonly WatchItem[]>,
): Promise<void> {
  const delivery = new Delivery(stream, renderer, list, matcherOf(selection))
  for await (const batch of batches) {
    for (const item of batch) {
      delivery.deliver(item)
      if (stream.full) await stream.flush()
    }
    await stream.flush()
  }
}

/** Puts the cache's items on the wire. */
class Delivery {
  readonly #stream: EventStream
  readonly #renderer: EventRenderer
  readonly #list: ListOptions
  readonly #matches: Matcher | undefined

  constructor(stream: EventStream, renderer: EventRenderer, list: ListOptions, matches: Matcher | undefined) {
    this.#stream = stream
    this.#renderer = renderer
    this.#list = list
    this.#matches = matches
  }

  deliver(item: WatchItem): void {
    switch (item.type) {
      case 'EVENT':
        return this.#event(item)
      case 'INITIAL':
        if (this.#matches?.(item.object) === false) return
        return this.#stream.push('ADDED', this.#renderer.object(item.object, item.versions))
      case 'INITIAL_END':
        if (this.#list.sendInitialEvents === true) this.#bookmark(item.versions, true)
        return
      case 'BOOKMARK':
        return this.#bookmark(item.versions, false)
      case 'EXPIRED':
        return this.#stream.error(expired(item.message).toStatus())
      default:
        return item satisfies never
    }
  }

  #event({ event, versions }: Extract<WatchItem, { type: 'EVENT' }>): void {
    const seen = transition(event, this.#matches)
    if (seen === undefined) return
    const whole = seen.object === event.object
    const bytes = whole ? this.#renderer.event(event, versions) : this.#renderer.object(seen.object, versions)
    this.#stream.push(seen.type, bytes)
  }

  #bookmark(versions: VersionMap, initialEventsEnd: boolean): void {
    if (!this.#list.allowWatchBookmarks) return
    this.#stream.push('BOOKMARK', this.#renderer.bookmark(versions, initialEventsEnd))
  }
}

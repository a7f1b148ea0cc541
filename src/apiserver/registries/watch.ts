/** The watch of ResourceRegistries: from a version or from the present objects, with selectors, bookmarks, Tables. */
import { SEARCH_GROUP_VERSION, type ResourceRegistry } from '../../api/resource-registry.ts'
import { ClientGoneError } from '../../http/body-writer.ts'
import type { Exchange } from '../../http/answer.ts'
import type { ListOptions } from '../../http/list-options.ts'
import { statusOf } from '../../http/status-response.ts'
import type { ResourceVersion } from '../../kube/names.ts'
import { EventStream } from '../../http/event-stream.ts'
import { watchSignal } from '../../http/watch-signal.ts'
import type { RegistryChange, RegistryReader } from '../../registry/registry-store.ts'
import type { Clock, Random } from '../../util/clock.ts'
import { renderJson, represent, type RenderOptions } from './render.ts'
import { compareVersions, matcherOf, requireVersion, type RegistryMatcher } from './select.ts'

export interface RegistryWatch {
  readonly registries: RegistryReader
  readonly list: ListOptions
  readonly render: Omit<RenderOptions, 'nowMs' | 'headers'>
  readonly clock: Clock
  readonly random: Random
}

const BOOKMARK_MS = 60_000 // as a kube-apiserver's

/** Resolves when the watch has ended: its time is over, the client is gone, or its last event was an ERROR. */
export async function watchRegistries({ request, response }: Exchange, watch: RegistryWatch): Promise<void> {
  const { registries, list, clock, random } = watch
  const matches = matcherOf(list)
  const { items, version } = await registries.list()
  const initial = list.sendInitialEvents === true
  if (initial) requireVersion(list, version)
  else if (list.resourceVersion !== '') compareVersions(list.resourceVersion, version)
  if (request.method === 'HEAD') {
    response.writeHead(200, { 'content-type': 'application/json' }).end()
    return
  }
  const lifetime = watchSignal(request, list.timeoutSeconds, clock, random)
  const delivery = new Delivery(new EventStream(response, {}), watch)
  try {
    if (initial) await delivery.begin(items.filter(matches), version)
    const from = initial || ['', '0'].includes(list.resourceVersion) ? version : list.resourceVersion
    await follow(watch, delivery, matches, from as ResourceVersion, lifetime.signal)
  } catch (error) {
    if (!(error instanceof ClientGoneError)) throw error
  } finally {
    lifetime.dispose()
  }
}

async function follow(
  { registries, clock }: RegistryWatch,
  delivery: Delivery,
  matches: RegistryMatcher,
  from: ResourceVersion,
  signal: AbortSignal,
): Promise<void> {
  delivery.reached(from)
  let cancel = (): void => undefined
  const arm = (): void => {
    cancel = clock.setTimeout(() => {
      delivery.bookmark(false)
      delivery.flush().catch(() => undefined) // a client that is gone ends the loop below
      arm()
    }, BOOKMARK_MS)
  }
  arm()
  try {
    for await (const event of registries.watch(from, signal)) {
      if (event.type === 'BOOKMARK') delivery.reached(event.version)
      else delivery.deliver(event, matches)
      await delivery.flush()
    }
    delivery.bookmark(false)
  } catch (error) {
    if (error instanceof ClientGoneError) throw error
    delivery.fail(error)
  } finally {
    cancel()
  }
  await delivery.end()
}

/** Puts events on the wire. */
class Delivery {
  readonly #stream: EventStream
  readonly #watch: RegistryWatch
  #version = ''
  #tables = 0

  constructor(stream: EventStream, watch: RegistryWatch) {
    this.#stream = stream
    this.#watch = watch
  }

  /** The present objects, and that these were all. */
  async begin(items: readonly ResourceRegistry[], version: string): Promise<void> {
    for (const item of items) {
      this.#stream.push('ADDED', renderJson(item, this.#options()))
      if (this.#stream.full) await this.#stream.flush()
    }
    this.#version = version
    this.bookmark(true)
    await this.#stream.flush()
  }

  /** Entering the selection is ADDED, leaving it DELETED with the last state that was in it. */
  deliver({ type, object, previous }: RegistryChange, matches: RegistryMatcher): void {
    const { resourceVersion } = object.metadata
    this.#version = resourceVersion
    const before = previous !== undefined && matches(previous)
    const after = type !== 'DELETED' && matches(object)
    if (!before && !after) return
    const at = { resourceVersion }
    const shown = after ? object : { ...(previous ?? object), metadata: { ...(previous ?? object).metadata, ...at } }
    const seen = before ? (after ? 'MODIFIED' : 'DELETED') : 'ADDED'
    this.#stream.push(seen, renderJson(shown, this.#options()))
  }

  reached(version: string): void {
    this.#version = version
  }

  bookmark(initialEventsEnd: boolean): void {
    if (!this.#watch.list.allowWatchBookmarks) return
    const annotations = initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
    const metadata = { resourceVersion: this.#version, ...annotations }
    const bytes = Buffer.from(
      JSON.stringify({ kind: 'ResourceRegistry', apiVersion: SEARCH_GROUP_VERSION, metadata, spec: {}, status: {} }),
    )
    this.#stream.push('BOOKMARK', represent(bytes, this.#version, this.#options()))
  }

  fail(error: unknown): void {
    this.#stream.error(statusOf(error))
  }

  flush(): Promise<void> {
    return this.#stream.flush()
  }

  async end(): Promise<void> {
    await this.#stream.flush()
    this.#stream.end()
  }

  /** Only the first Table of a watch declares its columns. */
  #options(): RenderOptions {
    const { render, clock } = this.#watch
    const headers = render.representation.as !== 'table' || this.#tables++ === 0
    return { ...render, nowMs: clock.nowMs(), headers }
  }
}

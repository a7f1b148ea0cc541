/**
 * `search/query/proxy?watch=true`: what enters the result of a query (ADDED), changes in it (MODIFIED) and leaves it
 * (DELETED, with the object as it is now, or was last).
 *
 * Begins with everything that is in the result, then a BOOKMARK annotated `k8s.io/initial-events-end`. BOOKMARKs come at
 * most every ten seconds and after a quiet minute; their `metadata.resourceVersion` given back as `resourceVersion` goes on
 * behind them: what came after the last bookmark may come again, nothing is left out. Every change is held against the
 * query here, on the object itself, not in the store: about 0.1 ms for a pod, of resources that the query may be about.
 * Ages in a query count from the watch's beginning. Changed rights end the watch with ERROR 410.
 */
import type { CachedObject, ResourceReader, WatchItem } from '../cache/reader.ts'
import { Breather } from '../http/breather.ts'
import { ClientGoneError } from '../http/body-writer.ts'
import { EventStream, type EventType } from '../http/event-stream.ts'
import { watchSignal } from '../http/watch-signal.ts'
import type { KindColumns } from '../kube/columns/column.ts'
import { apiVersionOf, groupResourceKey } from '../kube/group-version.ts'
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import { expired } from '../kube/status-error.ts'
import { DocumentBuilder } from '../query/document.ts'
import { TERM_LINES } from '../query/term-lines.ts'
import { documentMatcher } from '../query/matcher.ts'
import type { Predicate } from '../query/resolve.ts'
import { ALL_TERM, termOf, wordTerms } from '../query/term.ts'
import { columnsOfResource } from './current-fields.ts'
import { wholeNumber } from './parameters.ts'
import { readQuery } from './read-query.ts'
import type { SearchCall } from './search-call.ts'
import { documentsVisibleTo, type VisibleToCaller } from './visible-documents.ts'
import { visibilityOf } from './visible-objects.ts'
import { decodeWatchToken, encodeWatchToken } from './watch-token.ts'

const BOOKMARK_MS = 10_000
const MAX_SECONDS = 30 * 86_400
const RIGHTS_CHANGED = 'your rights, or what is cached, have changed: ask again'

export async function serveQueryWatch(call: SearchCall): Promise<void> {
  const { parts, parameters, exchange } = call
  const query = readQuery(parameters, call.fields, parts, parts.clock.nowMs())
  const signature = JSON.stringify([parameters.get('q') ?? '', parameters.getAll('cluster').join(',')])
  const from = decodeWatchToken(parameters.get('resourceVersion') ?? '', signature)
  const readers = parts.cache.resources().filter(mayBeAbout(query.predicate))
  const seconds = wholeNumber(parameters, 'timeoutSeconds', 0, MAX_SECONDS)
  // Clients that name no time stay: whoever resumes is told nothing twice, and nothing is shed here.
  const lifetime = watchSignal({ signal: exchange.request.signal, minWatchSeconds: 0 }, seconds, parts.clock, () => 0)
  const stream = new EventStream(exchange.response, call.headers)
  const watch = new QueryWatch(call, query.predicate, stream, signature)
  try {
    await watch.run(readers, from, lifetime.signal)
    stream.end()
  } catch (error) {
    if (!(error instanceof ClientGoneError)) throw error
  } finally {
    lifetime.dispose()
  }
}

class QueryWatch {
  readonly #call: SearchCall
  readonly #matches: ReturnType<typeof documentMatcher>
  readonly #sees: ReturnType<typeof visibilityOf>
  readonly #stream: EventStream
  readonly #signature: string
  readonly #builder = new DocumentBuilder(TERM_LINES)
  readonly #breather = new Breather()
  readonly #versions = new Map<string, VersionMap>()
  readonly #ended = new AbortController()
  /** Batches of all resources are written one after the other. */
  #turn: Promise<void> = Promise.resolve()
  #initial = 0
  #bookmarkedMs = 0

  constructor(call: SearchCall, predicate: Predicate, stream: EventStream, signature: string) {
    this.#call = call
    this.#matches = documentMatcher(predicate)
    this.#sees = visibilityOf(call.visible.documents)
    this.#stream = stream
    this.#signature = signature
  }

  async run(
    readers: readonly ResourceReader[],
    from: ReadonlyMap<string, VersionMap> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { parts } = this.#call
    const onAbort = (): void => this.#end()
    signal.addEventListener('abort', onAbort, { once: true })
    const check = (): void => void this.#checkRights(readers.length === 0 ? undefined : signal)
    const unlisten = [parts.cache.onChange({ synced: check, dropped: check }), parts.rights?.onChange(check)]
    this.#initial = readers.length
    try {
      if (readers.length === 0) await this.#bookmark(true)
      const follow = readers.map((reader) => this.#follow(reader, from?.get(groupResourceKey(reader.gvr))))
      await Promise.all([...follow, readers.length === 0 ? this.#untilEnded() : undefined])
      await this.#stream.flush()
    } finally {
      this.#end()
      signal.removeEventListener('abort', onAbort)
      for (const stop of unlisten) stop?.()
    }
  }

  #end(): void {
    this.#ended.abort(new Error('the watch has ended'))
    this.#stream.giveUp(this.#call.parts.clock)
  }

  #untilEnded(): Promise<void> {
    const { signal } = this.#ended
    return new Promise((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  /** Ends it where the caller may see other objects than at its beginning. */
  async #checkRights(signal: AbortSignal | undefined): Promise<void> {
    const { parts, exchange, visible } = this.#call
    try {
      const now = await documentsVisibleTo(parts.rights, parts.cache, exchange.request)
      if (visibleText(now) === visibleText(visible) || this.#ended.signal.aborted) return
    } catch {
      if (signal?.aborted !== false) return // the client is gone, and so is the question
    }
    this.#stream.error(expired(RIGHTS_CHANGED).toStatus())
    this.#end()
  }

  async #follow(reader: ResourceReader, from: VersionMap | undefined): Promise<void> {
    const columns = await columnsOfResource(this.#call.parts, reader)
    const { signal } = this.#ended
    try {
      const items = reader.watch({
        ...(from === undefined ? {} : { from }),
        signal,
        onExpired: () => this.#stream.giveUp(this.#call.parts.clock),
      })
      for await (const batch of items) await this.#inTurn(() => this.#deliver(reader, columns, batch))
    } catch (error) {
      this.#end()
      throw error
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => undefined)
    return mine
  }

  async #deliver(reader: ResourceReader, columns: KindColumns | undefined, batch: readonly WatchItem[]): Promise<void> {
    for (const item of batch) {
      if (this.#ended.signal.aborted) return
      if (item.type === 'EXPIRED') {
        this.#stream.error(expired(item.message).toStatus())
        return this.#end()
      }
      this.#item(reader, columns, item)
      this.#versions.set(groupResourceKey(reader.gvr), item.versions)
      if (item.type === 'INITIAL_END' && --this.#initial === 0) await this.#bookmark(true)
      if (this.#stream.full) await this.#stream.flush()
      if (this.#breather.spent(0)) await this.#breather.pause()
    }
    const dueMs = this.#bookmarkedMs + BOOKMARK_MS
    if (this.#initial === 0 && this.#call.parts.clock.monotonicMs() >= dueMs) await this.#bookmark(false)
    await this.#stream.flush()
  }

  #item(reader: ResourceReader, columns: KindColumns | undefined, item: WatchItem): void {
    if (item.type === 'INITIAL') {
      if (this.#isIn(reader, columns, item.object)) this.#stream.push('ADDED', item.object.bytes)
      return
    }
    if (item.type !== 'EVENT') return
    const { type, object, previous } = item.event
    const was = previous !== undefined && this.#isIn(reader, columns, previous)
    const is = type !== 'DELETED' && this.#isIn(reader, columns, object)
    const seen: EventType | undefined = is ? (was ? 'MODIFIED' : 'ADDED') : was ? 'DELETED' : undefined
    if (seen !== undefined) this.#stream.push(seen, object.bytes)
  }

  #isIn({ gvr, kind }: ResourceReader, columns: KindColumns | undefined, object: CachedObject): boolean {
    const { cluster, namespace, name, uid, resourceVersion, bytes } = object
    if (!this.#sees({ ...gvr, cluster, namespace, name })) return false
    this.#breather.spent(bytes.length * 4)
    const identity = { cluster, ...gvr, kind, namespace, name, uid, resourceVersion }
    return this.#matches(this.#builder.build(identity, bytes, columns))
  }

  async #bookmark(initialEnd: boolean): Promise<void> {
    this.#bookmarkedMs = this.#call.parts.clock.monotonicMs()
    const resourceVersion = encodeWatchToken(this.#versions, this.#signature)
    const annotations = initialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
    const head = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'QueryResult' }
    const object = { ...head, metadata: { resourceVersion, ...annotations } }
    this.#stream.push('BOOKMARK', Buffer.from(JSON.stringify(object)))
    await this.#stream.flush()
  }
}

function visibleText({ documents }: VisibleToCaller): string {
  return documents === undefined ? '*' : JSON.stringify([[...documents.clusters], documents.parts])
}

const ABOUT_KINDS: ReadonlySet<string> = new Set(['kind', 'group', 'resource', 'apiversion'])

/** Whether objects of a resource can be in the result, by those conditions that are about kinds alone. */
function mayBeAbout(predicate: Predicate): (reader: ResourceReader) => boolean {
  const all = predicate.type === 'and' ? predicate.children : [predicate]
  const tests = all.filter(isAboutKinds).map(documentMatcher)
  return ({ gvr, kind }) => {
    const values = { kind, group: gvr.group, resource: gvr.resource, apiversion: apiVersionOf(gvr) }
    const terms = Object.entries(values).flatMap(([path, value]) => [
      termOf(path, '=', value),
      ...wordTerms(path, value.toLowerCase()),
    ])
    const document = { terms: [ALL_TERM, ...terms].join('\n'), nameWords: '', strongWords: '', otherWords: '' }
    return tests.every((test) => test(document))
  }
}

/** Only plain alternatives of whole words: pieces of names are left to the objects. */
function isAboutKinds(predicate: Predicate): boolean {
  if (predicate.type === 'or') return predicate.children.every(isAboutKinds)
  return predicate.type === 'exact' && ABOUT_KINDS.has(predicate.path)
    ? true
    : predicate.type === 'word' && (predicate.path === 'kind' || predicate.path === 'resource')
}

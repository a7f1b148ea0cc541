/**
 * A watch over the members themselves, merged into one stream. It looks like the cache's, so that one writer serves both:
 * a cluster without a version is listed first (its objects come as INITIAL), each cluster is watched from its version on,
 * reconnected when its watch ends and retried while it fails. A cluster that joins ends the stream, so that the client
 * resumes and gets its objects; one that leaves makes it expire.
 */
import type { CachedObject, WatchItem, WatchOptions } from '../../cache/reader.ts'
import { PARTIAL } from '../../cache/resume.ts'
import type { FleetReader } from '../../fleet/fleet.ts'
import type { Member } from '../../fleet/member.ts'
import { WatchPatience } from '../../fleet/watch-patience.ts'
import type { ListOptions } from '../../http/list-options.ts'
import type { CanonicalObject, ObjectIdentity } from '../../kube/canonical-object.ts'
import { canonicalize } from '../../kube/canonical-object.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import { MalformedObjectError } from '../../kube/malformed-error.ts'
import type { VersionMap } from '../../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../../kube/names.ts'
import type { RawWatchEvent } from '../../kube/watch-event.ts'
import type { Clock, Random } from '../../util/clock.ts'
import { sleep } from '../../util/sleep.ts'
import type { WatchSource } from '../watch/serve-watch.ts'
import { ItemQueue } from './item-queue.ts'
import type { Lease, LiveBudget } from './live-budget.ts'
import { FirstAnswer, resumed } from './first-answer.ts'
import { MemberFault } from './member-fault.ts'
import { mapParallel, PARALLEL_MEMBERS } from './parallel.ts'
import { readMemberList } from './read-list.ts'
import { watchMember } from './read-watch.ts'
import type { LiveTarget } from './target.ts'

export interface LiveWatchOptions {
  readonly target: LiveTarget
  readonly fleet: Pick<FleetReader, 'onChange'>
  readonly namespace: string | undefined
  /** Selectors, which the members apply. */
  readonly list: ListOptions
  readonly clock: Clock
  readonly random: Random
  /** Undefined: lists may take any memory. */
  readonly budget?: LiveBudget | undefined
}

/** As the reflectors wait: a second, doubling to half a minute. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000
/** A watch that ends sooner was not worth its request; the next one waits. */
const SHORT_WATCH_MS = 1_000

export function createLiveWatch(options: LiveWatchOptions): WatchSource {
  const { target } = options
  return {
    gvr: target.gvr,
    kind: target.kind,
    shards: () => [],
    versions: () => new Map(),
    presentVersions: (signal) => presentVersions(options, signal),
    watch: (watch) => new LiveWatch(options, watch).items(),
    openWatch: (watch) => new LiveWatch(options, watch).open(),
  }
}

async function presentVersions(options: LiveWatchOptions, signal: AbortSignal): Promise<VersionMap> {
  const { target, namespace, clock } = options
  const query = new URLSearchParams({ limit: '1' })
  const read = { clock, signal, accept: 'application/json' }
  const pages = await mapParallel(target.members, PARALLEL_MEMBERS, async (member) => {
    try {
      return await readMemberList(member, target, namespace, query, read)
    } catch (error) {
      if (error instanceof MemberFault) return undefined // listed when it answers: its objects come as ADDED
      throw error
    }
  })
  return new Map(pages.flatMap((page) => (page === undefined ? [] : [[page.cluster, page.version] as const])))
}

class LiveWatch {
  readonly #options: LiveWatchOptions
  readonly #watch: WatchOptions
  readonly #queue = new ItemQueue()
  readonly #controller = new AbortController()
  #versions: VersionMap
  /** Members whose first list is not settled yet. */
  #listing = 0
  readonly #firstAnswer: FirstAnswer

  constructor(options: LiveWatchOptions, watch: WatchOptions) {
    this.#options = options
    this.#watch = watch
    this.#versions = watch.from ?? new Map()
    this.#firstAnswer = new FirstAnswer(options.target)
  }

  /** Resolves as soon as one member answers. */
  async open(): Promise<AsyncIterable<readonly WatchItem[]>> {
    const items = this.items()
    if (this.#missing() !== undefined) return items
    // The first step starts the members' streams; what it gives comes first in what is handed on.
    const first = items.next()
    try {
      await Promise.race([this.#firstAnswer.promise, first.then(() => this.#firstAnswer.promise)])
    } catch (error) {
      this.#stop()
      await items.return()
      throw error
    }
    return resumed(first, items)
  }

  async *items(): AsyncGenerator<readonly WatchItem[], void, void> {
    const { target, fleet } = this.#options
    const stop = (): void => {
      this.#stop()
    }
    const unsubscribe = fleet.onChange(({ type, member }) => {
      if (type !== 'updated') this.#membership(type, member)
    })
    this.#watch.signal.addEventListener('abort', stop, { once: true })
    try {
      const missing = this.#missing()
      if (missing !== undefined) return yield [{ type: 'EXPIRED', message: missing }]
      const members = target.members
      this.#listing = members.length
      if (members.length === 0) this.#initialEnd()
      if (this.#watch.signal.aborted) return this.#stop()
      const followers = members.map((member) => this.#follow(member))
      for await (const batch of this.#queue) yield batch
      this.#controller.abort(new Error('the watch has ended'))
      await Promise.all(followers)
    } finally {
      this.#controller.abort(new Error('the watch has ended'))
      this.#watch.signal.removeEventListener('abort', stop)
      unsubscribe()
    }
  }

  #stop(): void {
    this.#firstAnswer.answered() // nobody waits for it any more
    this.#controller.abort(new Error('the watch has ended'))
    this.#queue.end()
  }

  /** Why the client's map cannot be gone on from: a cluster of it has left, or was delivered in part. */
  #missing(): string | undefined {
    const { members, absent } = this.#options.target
    const names = new Set<string>([...members.map(({ facts }) => facts.name), ...absent.map(({ cluster }) => cluster)])
    for (const [name, version] of this.#watch.from ?? []) {
      if (!names.has(name)) return `cluster ${name} has left`
      if (version === PARTIAL) return `the objects of cluster ${name} were not all delivered`
    }
    return undefined
  }

  #membership(type: 'engaged' | 'disengaged', { facts: { name } }: Member): void {
    if (this.#watch.clusters?.has(name) === false) return
    if (type === 'engaged') return this.#stop()
    if (!this.#options.target.members.some(({ facts }) => facts.name === name)) return
    void this.#queue.push([expiredItem(name)])
    this.#stop()
  }

  /** Keeps one member's events coming until the stream ends. */
  async #follow(member: Member): Promise<void> {
    const { clock, random } = this.#options
    const { signal } = this.#controller
    const { name } = member.facts
    let version = this.#watch.from?.get(name)
    const patience = new WatchPatience()
    let waitMs = FIRST_WAIT_MS
    let settled = false
    let isFirst = true
    const settle = (): void => {
      if (!settled && --this.#listing === 0) this.#initialEnd()
      settled = true
    }
    try {
      while (!signal.aborted) {
        const startedMs = clock.monotonicMs()
        try {
          version ??= await this.#list(member)
          if (this.#watch.from?.has(name) !== true) this.#firstAnswer.answered()
          settle()
          version = await this.#watchOnce(member, version, patience)
          if (version === undefined) return
          if (clock.monotonicMs() - startedMs >= SHORT_WATCH_MS) waitMs = FIRST_WAIT_MS
          else await sleep(waitMs, clock, signal)
        } catch (error) {
          if (signal.aborted) return
          if (!(error instanceof MemberFault)) throw error
          if (isFirst) this.#firstAnswer.failed(error)
          isFirst = false
          settle() // its objects come when it answers
          await sleep(waitMs * (1 + random()), clock, signal)
          waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
        }
      }
    } catch (error) {
      if (!signal.aborted) this.#queue.fail(error)
    }
  }

  async #list(member: Member): Promise<ResourceVersion> {
    const lease = this.#options.budget?.lease()
    try {
      return await this.#deliverList(member, lease?.hold)
    } finally {
      lease?.release()
    }
  }

  async #deliverList(member: Member, hold: Lease['hold'] | undefined): Promise<ResourceVersion> {
    const { target, namespace, list, clock } = this.#options
    const query = new URLSearchParams(selectors(list))
    const read = { clock, signal: this.#controller.signal, accept: 'application/json', hold }
    const page = await readMemberList(member, target, namespace, query, read)
    const before = this.#versions
    this.#versions = new Map([...before, [page.cluster, page.version]])
    // Only the last object carries the cluster's version: whoever is cut off before cannot go on and gets all of them again.
    const partial = new Map([...before, [page.cluster, PARTIAL]])
    const items = page.objects.map((object, i): WatchItem => {
      const versions = i === page.objects.length - 1 ? this.#versions : partial
      return { type: 'INITIAL', object: cachedObject(page.cluster, object), versions }
    })
    await this.#queue.push(items)
    return page.version
  }

  /** The version reached when the member ended its watch; undefined where the whole stream is over. */
  async #watchOnce(
    member: Member,
    from: ResourceVersion,
    patience: WatchPatience,
  ): Promise<ResourceVersion | undefined> {
    const { target, namespace, list, random } = this.#options
    const { name } = member.facts
    const onOpen = (): void => this.#firstAnswer.answered()
    const options = { random, signal: this.#controller.signal, selectors: selectors(list), onOpen, patience }
    let version = from
    for await (const events of watchMember(member, target, namespace, from, options)) {
      const items: WatchItem[] = []
      for (const event of events) {
        if (event.type === 'ERROR' && event.status.code === 410) {
          await this.#queue.push([...items, { type: 'EXPIRED', message: `cluster ${name}: the version is too old` }])
          this.#stop()
          return undefined
        }
        if (event.type === 'ERROR') throw new MemberFault(name, event.status.code, event.status.message ?? '')
        const item = this.#itemOf(name, event)
        if (item === undefined) continue
        items.push(item)
        version = this.#versions.get(name) ?? version
      }
      await this.#queue.push(items)
    }
    return version
  }

  #itemOf(cluster: ClusterName, event: Exclude<RawWatchEvent, { type: 'ERROR' }>): WatchItem | undefined {
    if (event.type === 'BOOKMARK') {
      return { type: 'BOOKMARK', versions: this.#moved(cluster, event.resourceVersion as ResourceVersion) }
    }
    const { gvr, kind, namespaces } = this.#options.target
    const object = canonical(event.object, { apiVersion: apiVersionOf(gvr), kind, cluster })
    if (object === undefined) return undefined
    const versions = this.#moved(cluster, object.meta.resourceVersion)
    if (namespaces(cluster)?.has(object.meta.namespace) === false) return undefined
    const cached = cachedObject(cluster, object)
    return { type: 'EVENT', versions, event: { type: event.type, object: cached, previous: undefined, versions } }
  }

  #moved(cluster: ClusterName, version: ResourceVersion): VersionMap {
    this.#versions = new Map([...this.#versions, [cluster, version]])
    return this.#versions
  }

  #initialEnd(): void {
    void this.#queue.push([{ type: 'INITIAL_END', versions: this.#versions }])
  }
}

/** Undefined for an object that is none: as in the cache, it does not take the others with it. */
function canonical(bytes: Uint8Array, identity: ObjectIdentity): CanonicalObject | undefined {
  try {
    return canonicalize(bytes, identity)
  } catch (error) {
    if (error instanceof MalformedObjectError) return undefined
    throw error
  }
}

function expiredItem(cluster: ClusterName): WatchItem {
  return { type: 'EXPIRED', message: `cluster ${cluster} has left` }
}

function selectors({ labelSelector, fieldSelector }: ListOptions): Readonly<Record<string, string>> {
  return {
    ...(labelSelector.empty ? {} : { labelSelector: labelSelector.toString() }),
    ...(fieldSelector.empty ? {} : { fieldSelector: fieldSelector.toString() }),
  }
}

function cachedObject(cluster: ClusterName, { bytes, meta }: CanonicalObject): CachedObject {
  const { namespace, name, uid, resourceVersion, versionStart, versionEnd } = meta
  return { cluster, namespace, name, uid, resourceVersion, bytes, versionStart, versionEnd }
}

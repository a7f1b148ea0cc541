/**
 * Read your writes: what was written through this process or another replica is waited for before the cache answers for it.
 *
 * A fence stands on a shard (cluster, resource) before the caller of a write is told that it was carried out. It falls when
 * what was written has arrived (`fence.ts`). A reader that meets one waits, until 3 s after the write; from then on the
 * member is read instead. After a minute the fence is let go: a shard that far behind says itself that it is stale.
 * With peers, a read is answered by the cache only while no replica can have answered a write that is not known here.
 */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { CacheReader, ResourceReader } from '../../cache/reader.ts'
import { groupResourceKey, type GroupResource } from '../../kube/group-version.ts'
import type { ClusterName } from '../../kube/names.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import { sleep } from '../../util/sleep.ts'
import type { OwnerRoute } from '../forward/route.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { Told } from './answer.ts'
import { awaitedAfter } from './awaited.ts'
import { decodeFence, hasArrived, type Fence } from './fence.ts'

/** As long as a kube-apiserver's watch cache waits for a version. */
export const FENCE_MS = 3_000
/** Peers tell of no older ones, and who begins to listen to a peer is told of all that are younger. */
export const FENCE_LIFE_MS = 60_000
const POLL_MS = 10
/** Of one shard. Beyond it what has not arrived is one fence that never does. */
const MAX_FENCES = 1_024

/** Other replicas, through which the same clusters are read and written. */
export interface FencePeers {
  /** Why no write may be sent now; undefined: it may. */
  refusal(): string | undefined
  /** Resolves when no replica can answer a read without knowing of it; rejects where that cannot be brought about. */
  announce(fence: Fence): Promise<void>
  /** Everything that another replica has answered is known here, or has been for a minute. */
  covered(): boolean
  /** Where to tell what other replicas announce, and how old it is. Takes anything. */
  onAnnounced(listener: (notice: unknown, ageMs: number) => void): void
}

/** To be called when the member has carried the write out, before its caller is told. Rejects with `timeout`. */
export type CarriedOut = (told: Told) => Promise<void>

export interface FencesOptions {
  readonly clock: Clock
  /** Default: nothing is read from one. */
  readonly cache?: Pick<CacheReader, 'resource'> | undefined
  readonly metrics?: Registry | undefined
  /** Default: there are no other replicas. */
  readonly peers?: FencePeers | undefined
}

interface Held {
  readonly fence: Fence
  readonly bornMs: number
}

export class Fences {
  readonly #clock: Clock
  readonly #cache: FencesOptions['cache']
  readonly #peers: FencePeers | undefined
  /** By shard; the key of the inner map tells equal ones. */
  readonly #byShard = new Map<string, Map<string, Held>>()
  readonly #waits: Counter<'outcome'> | undefined

  constructor({ clock, cache, metrics, peers }: FencesOptions) {
    this.#clock = clock
    this.#cache = cache
    this.#peers = peers
    peers?.onAnnounced((notice, ageMs) => {
      const fence = decodeFence(notice)
      if (fence !== undefined) this.#add(fence, Math.max(0, ageMs))
    })
    if (metrics === undefined) return
    this.#waits = new Counter({
      name: 'fleetsearch_proxy_fence_waits_total',
      help: 'Reads that met a write on its way into the cache, by how it ended: arrived; live, read from the members because it did not come; uncovered, read from the members because another replica may have written.',
      labelNames: ['outcome'],
      registers: [metrics],
    })
    const count = (): number => {
      this.#letGo()
      return [...this.#byShard.values()].reduce((sum, { size }) => sum + size, 0)
    }
    new Gauge({
      name: 'fleetsearch_proxy_fences',
      help: 'Writes that have not arrived in the cache yet.',
      registers: [metrics],
      collect() {
        this.set(count())
      },
    })
  }

  /**
   * Called before the write is sent. Undefined: there is nothing to wait for. Throws `serviceUnavailable` where other replicas
   * could not be told of it.
   */
  begin(request: ProxyRequest, route: OwnerRoute): CarriedOut | undefined {
    const { resource: path, request: asked } = request
    if (path === undefined || asked.query.has('dryRun') || path.subresource === 'token') return undefined
    const refusal = this.#peers?.refusal()
    if (refusal !== undefined) {
      throw new StatusError('serviceUnavailable', `no write is sent now: ${refusal}`, {
        details: { retryAfterSeconds: 1 },
      })
    }
    // Others may read from a cache what is not cached here, or not yet.
    if (this.#peers === undefined && !isCached(route, path)) return undefined
    return async (told) => {
      const { group, resource } = path
      const { cluster, member, reader } = route
      const awaited = await awaitedAfter(request, route, reader?.gvr ?? path, told, this.#clock)
      const fence: Fence = { group, resource, cluster, clusterUid: member.facts.uid, awaited }
      this.#add(fence, 0)
      await this.#announce(fence)
    }
  }

  /**
   * Resolves true when the cache knows everything that was written before (of the clusters asked of), false where it does not
   * within 3 s of the write: then the members themselves have to be read. `anyPeers`: what other replicas may have written
   * unknown to us does not matter.
   */
  async settled(
    reader: ResourceReader,
    clusters: ReadonlySet<ClusterName> | undefined,
    signal: AbortSignal,
    anyPeers = false,
  ): Promise<boolean> {
    if (!anyPeers && this.#peers?.covered() === false) {
      this.#waits?.inc({ outcome: 'uncovered' })
      return false
    }
    if (this.#byShard.size === 0) return true
    let waited = false
    for (const { cluster } of reader.shards()) {
      if (clusters !== undefined && !clusters.has(cluster)) continue
      for (const held of this.#standing(reader, cluster)) {
        while (!this.#passed(reader, held)) {
          if (this.#clock.monotonicMs() - held.bornMs >= FENCE_MS) {
            this.#waits?.inc({ outcome: 'live' })
            return false
          }
          waited = true
          await sleep(POLL_MS, this.#clock, signal)
        }
      }
    }
    if (waited) this.#waits?.inc({ outcome: 'arrived' })
    return true
  }

  async #announce(fence: Fence): Promise<void> {
    try {
      await this.#peers?.announce(fence)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : ''
      const message = `cluster ${fence.cluster} has carried it out, and other replicas could not be told of it: ${reason}`
      throw new StatusError('timeout', message, { details: {}, cause })
    }
  }

  #standing(reader: ResourceReader, cluster: ClusterName): readonly Held[] {
    const fences = this.#byShard.get(shardKey({ ...keyOf(reader), cluster }))
    return fences === undefined ? [] : [...fences.values()]
  }

  #passed(reader: ResourceReader | undefined, { fence, bornMs }: Held): boolean {
    const key = shardKey(fence)
    const fences = this.#byShard.get(key)
    const name = JSON.stringify(fence.awaited)
    if (fences?.has(name) !== true) return true
    const isYoung = this.#clock.monotonicMs() - bornMs < FENCE_LIFE_MS
    if (isYoung && reader !== undefined && !hasArrived(reader, fence)) return false
    fences.delete(name)
    if (fences.size === 0) this.#byShard.delete(key)
    return true
  }

  #add(fence: Fence, ageMs: number): void {
    const reader = this.#cache?.resource(fence)
    // What is listed only later is as new as that list.
    if (reader === undefined || ageMs >= FENCE_LIFE_MS || hasArrived(reader, fence)) return
    const bornMs = this.#clock.monotonicMs() - ageMs
    const key = shardKey(fence)
    let fences = this.#byShard.get(key)
    if (fences === undefined) this.#byShard.set(key, (fences = new Map<string, Held>()))
    if (fences.size >= MAX_FENCES) this.#prune(reader, fences)
    const held = fences.size >= MAX_FENCES ? { ...fence, awaited: NEVER } : fence
    if (held !== fence) fences.clear()
    fences.set(JSON.stringify(held.awaited), { fence: held, bornMs })
  }

  /** Those that nobody has met since they could fall. */
  #letGo(): void {
    for (const fences of [...this.#byShard.values()]) {
      for (const held of [...fences.values()]) this.#passed(this.#cache?.resource(held.fence), held)
    }
  }

  #prune(reader: ResourceReader, fences: ReadonlyMap<string, Held>): void {
    for (const held of [...fences.values()]) this.#passed(reader, held)
  }
}

const NEVER = { kind: 'unknown', namespace: '' } as const

const keyOf = ({ gvr: { group, resource } }: ResourceReader): GroupResource => ({ group, resource })

const shardKey = (shard: GroupResource & { readonly cluster: ClusterName }): string =>
  `${groupResourceKey(shard)} ${shard.cluster}`

/** Something of it can be read from the cache. */
function isCached({ cluster, reader }: OwnerRoute, { namespace = '' }: ResourcePath): boolean {
  const shard = reader?.shards().find((each) => each.cluster === cluster)
  return shard !== undefined && (namespace === '' || shard.namespaces?.has(namespace) !== false)
}

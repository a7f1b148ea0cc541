/**
 * Read your writes: what was written through this process is waited for before the cache answers for it.
 *
 * A fence stands on a shard (cluster, resource) from the moment a write is sent. It falls when what the member answered has
 * arrived: the version of the written object, or, of what was deleted, that the object is gone or another one. It falls by
 * itself after 3 s: a reader that met it then is told to read from the member.
 */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ResourceReader } from '../../cache/reader.ts'
import { groupResourceKey, type GroupResource } from '../../kube/group-version.ts'
import type { ClusterName, ResourceVersion } from '../../kube/names.ts'
import { compareResourceVersions } from '../../kube/names.ts'
import type { Clock } from '../../util/clock.ts'
import { sleep } from '../../util/sleep.ts'
import type { OwnerRoute } from '../forward/route.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { Told } from './answer.ts'

/** As long as a kube-apiserver's watch cache waits for a version. */
export const FENCE_MS = 3_000
const POLL_MS = 10
/** Of one shard; older ones are forgotten, for the newer ones come later anyway. */
const MAX_FENCES = 1_024

interface Fence {
  readonly cluster: ClusterName
  readonly untilMs: number
  /** It has come: the cache knows what was written. */
  arrived(reader: ResourceReader): boolean
}

/** To be called when the member has carried the write out, before its caller is told. */
export type CarriedOut = (told: Told) => void

export class Fences {
  readonly #clock: Clock
  readonly #byResource = new Map<string, Set<Fence>>()
  readonly #waits: Counter<'outcome'> | undefined

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics?: Registry | undefined }) {
    this.#clock = clock
    if (metrics === undefined) return
    this.#waits = new Counter({
      name: 'fleetsearch_proxy_fence_waits_total',
      help: 'Reads that met a write on its way into the cache, by how it ended.',
      labelNames: ['outcome'],
      registers: [metrics],
    })
    const count = (): number => [...this.#byResource.values()].reduce((sum, { size }) => sum + size, 0)
    new Gauge({
      name: 'fleetsearch_proxy_fences',
      help: 'Writes that have not arrived in the cache yet.',
      registers: [metrics],
      collect() {
        this.set(count())
      },
    })
  }

  /** Called before the write is sent. Undefined: there is nothing to wait for. */
  begin(request: ProxyRequest, { cluster, reader, object }: OwnerRoute): CarriedOut | undefined {
    const { resource: path, request: asked, verb } = request
    if (path === undefined || reader === undefined || asked.query.has('dryRun') || path.subresource === 'token')
      return undefined
    const shard = reader.shards().find((each) => each.cluster === cluster)
    const { namespace = '', name } = path
    if (shard === undefined || (namespace !== '' && shard.namespaces?.has(namespace) === false)) return undefined
    return ({ object: written }) => {
      const version = written?.resourceVersion
      if (version !== undefined) this.#add(path, cluster, (now) => reached(now, cluster, version))
      // A collection is gone when its last object is: nobody says which those were.
      else if (verb === 'deletecollection') this.#add(path, cluster, () => false)
      else if (name !== undefined && object !== undefined) {
        this.#add(path, cluster, (now) => now.get(cluster, namespace, name)?.resourceVersion !== object.resourceVersion)
      }
    }
  }

  /**
   * Resolves true when the cache knows everything that was written before (of the clusters asked of), false where it does not
   * within 3 s of the write: then the members themselves have to be read.
   */
  async settled(
    reader: ResourceReader,
    clusters: ReadonlySet<ClusterName> | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const fences = [...(this.#byResource.get(groupResourceKey(keyOf(reader))) ?? [])]
    const mine = fences.filter(({ cluster }) => clusters === undefined || clusters.has(cluster))
    if (mine.every((fence) => this.#passed(reader, fence))) return true
    for (const fence of mine) {
      while (!this.#passed(reader, fence)) {
        if (this.#clock.monotonicMs() >= fence.untilMs) {
          this.#waits?.inc({ outcome: 'live' })
          return false
        }
        await sleep(POLL_MS, this.#clock, signal)
      }
    }
    this.#waits?.inc({ outcome: 'arrived' })
    return true
  }

  #add(resource: GroupResource, cluster: ClusterName, arrived: Fence['arrived']): void {
    const key = groupResourceKey(resource)
    const fences = this.#byResource.get(key) ?? new Set<Fence>()
    const nowMs = this.#clock.monotonicMs()
    // Kept a while longer than it holds, so that who comes late is sent to the member, not to an old cache.
    for (const fence of fences) if (nowMs > fence.untilMs + FENCE_MS) fences.delete(fence)
    const [oldest] = fences
    if (fences.size >= MAX_FENCES && oldest !== undefined) fences.delete(oldest)
    fences.add({ cluster, untilMs: nowMs + FENCE_MS, arrived })
    this.#byResource.set(key, fences)
  }

  #passed(reader: ResourceReader, fence: Fence): boolean {
    const fences = this.#byResource.get(groupResourceKey(keyOf(reader)))
    if (fences?.has(fence) !== true) return true
    if (this.#clock.monotonicMs() <= fence.untilMs + FENCE_MS && !fence.arrived(reader)) return false
    fences.delete(fence)
    return true
  }
}

const keyOf = ({ gvr: { group, resource } }: ResourceReader): GroupResource => ({ group, resource })

/** Also where nobody can tell, or the cluster is gone. */
function reached(reader: ResourceReader, cluster: ClusterName, wanted: ResourceVersion): boolean {
  const shard = reader.shards().find((each) => each.cluster === cluster)
  if (shard?.version === undefined) return shard === undefined
  return (compareResourceVersions(shard.version, wanted) ?? 0) >= 0
}

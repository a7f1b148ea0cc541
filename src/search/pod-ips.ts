/**
 * The IPs of pods by namespace and name, over all clusters, and how it stands with them. What each caller was last told of a
 * pod is remembered (LRU, one hour), so that an address that has changed since is told as that, with the old one: his own
 * last one, for what a pod had before nobody would tell him.
 */
import { LRUCache } from 'lru-cache'
import type { CachedObject } from '../cache/reader.ts'
import { parseObject } from '../http/selection.ts'
import { flag, items, text } from '../kube/columns/read.ts'
import type { ObjectPlace, VisibleObjects } from './visible-objects.ts'

/**
 * `assigned`; `waiting`: none yet; `changed`: another than when the same caller last asked; `hostNetwork`: its node's; `ended`:
 * the pod is done and its address free; `nodeGone`: its node is there no more, and with it the address.
 */
export type PodIpState = 'assigned' | 'waiting' | 'changed' | 'hostNetwork' | 'ended' | 'nodeGone'

export interface PodIps {
  readonly cluster: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly state: PodIpState
  readonly ips: readonly string[]
  readonly node: string
  readonly hostIP: string
  /** Of `changed`: what it was. */
  readonly previous?: readonly string[]
}

/** About 250 bytes each. */
export const MAX_REMEMBERED = 100_000
const REMEMBERED_MS = 3_600_000

export class PodIpLookup {
  readonly #last: LRUCache<string, string>

  constructor(nowMs: () => number) {
    this.#last = new LRUCache({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS, perf: { now: nowMs } })
  }

  get remembered(): number {
    return this.#last.size
  }

  /** One for each cluster that has such a pod which the caller may see. */
  find(
    caller: string,
    objects: VisibleObjects,
    clusters: readonly string[],
    { namespace, name }: { readonly namespace: string; readonly name: string },
  ): PodIps[] {
    return clusters.flatMap((cluster) => {
      const place: ObjectPlace = { group: '', resource: 'pods', cluster, namespace, name }
      const pod = objects.get(place)
      return pod === undefined ? [] : [this.#read(caller, objects, pod)]
    })
  }

  /** What is told now is what his next answer is compared with. */
  remember(caller: string, told: Iterable<PodIps>): void {
    for (const pod of told) {
      const held = pod.ips.length > 0 && pod.state !== 'ended' && pod.state !== 'nodeGone'
      if (held) this.#last.set(memoryKey(caller, pod), pod.ips.join(' '))
    }
  }

  #read(caller: string, objects: VisibleObjects, { cluster, namespace, name, uid, bytes }: CachedObject): PodIps {
    const pod = parseObject(bytes)
    const node = text(pod, 'spec', 'nodeName')
    const listed = items(pod, 'status', 'podIPs').map((each) => text(each, 'ip'))
    const ips = [...new Set([text(pod, 'status', 'podIP'), ...listed])].filter((ip) => ip !== '')
    const previous = this.#last.get(memoryKey(caller, { cluster, namespace, name }))?.split(' ')
    const state = stateOf(pod, ips, previous, isNodeGone(objects, cluster, node))
    return {
      ...{ cluster, namespace, name, uid, state, ips, node, hostIP: text(pod, 'status', 'hostIP') },
      ...(state === 'changed' && previous !== undefined ? { previous } : {}),
    }
  }
}

function memoryKey(
  caller: string,
  { cluster, namespace, name }: Pick<PodIps, 'cluster' | 'namespace' | 'name'>,
): string {
  return [cluster, namespace, name, caller].join('\n')
}

function stateOf(
  pod: ReturnType<typeof parseObject>,
  ips: readonly string[],
  previous: readonly string[] | undefined,
  nodeGone: boolean,
): PodIpState {
  if (nodeGone) return 'nodeGone'
  if (['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'))) return 'ended'
  if (ips.length === 0) return 'waiting'
  if (flag(pod, 'spec', 'hostNetwork')) return 'hostNetwork'
  return previous === undefined || previous.join(' ') === ips.join(' ') ? 'assigned' : 'changed'
}

/** Only where the cluster's nodes are cached, and the caller may see that one, can be told that it is missing. */
function isNodeGone(objects: VisibleObjects, cluster: string, node: string): boolean {
  const place = { group: '', resource: 'nodes', cluster, namespace: '', name: node }
  if (node === '' || !objects.sees(place)) return false
  const nodes = objects.resources().find(({ gvr }) => gvr.group === '' && gvr.resource === 'nodes')
  const shard = nodes?.shards().find((each) => each.cluster === cluster)
  if (shard?.synced !== true) return false
  return objects.get(place) === undefined
}

/** Places pods on nodes by what they request, and gives them addresses: kube-scheduler and CNI in one. */
import type { ClusterPlan, NodePool } from '../catalogue/clusters.ts'
import { nodeAddress, nodeName, podAddress } from '../objects/node.ts'
import type { PodSpec } from '../objects/kinds.ts'
import type { PodPlace } from '../objects/pod-status.ts'

export interface SimulatedNode {
  readonly name: string
  readonly index: number
  readonly pool: NodePool
  readonly zone: string
  /** Stopped answering, or takes no new pods. */
  readonly dead: boolean
  readonly cordoned: boolean
}

interface Load {
  cpu: number
  memory: number
  /** Of addresses in use, by pod. */
  readonly slots: Map<string, number>
}

export class Scheduler {
  readonly nodes: readonly SimulatedNode[]
  readonly #cluster: ClusterPlan
  readonly #loads = new Map<string, Load>()

  constructor(cluster: ClusterPlan) {
    this.#cluster = cluster
    this.nodes = nodesOf(cluster)
    for (const node of this.nodes) this.#loads.set(node.name, { cpu: 0, memory: 0, slots: new Map() })
  }

  /** The node with most room that takes the pod; `onNode` pins it. Undefined where none does. `pod` is its uid or name. */
  place(pod: string, spec: PodSpec, onNode?: string): PodPlace | undefined {
    const { cpu, memory } = requestsOf(spec)
    const candidates =
      onNode === undefined
        ? this.nodes.filter((node) => this.#takes(node, spec, cpu, memory))
        : this.nodes.filter(({ name }) => name === onNode)
    const free = (node: SimulatedNode): number => node.pool.cpu * 1_000 - this.#load(node.name).cpu
    const best = candidates.toSorted((a, b) => free(b) - free(a) || a.index - b.index)[0]
    if (best === undefined) return undefined
    const load = this.#load(best.name)
    load.cpu += cpu
    load.memory += memory
    const slot = freeSlot(load.slots)
    load.slots.set(pod, slot)
    const hostIP = nodeAddress(this.#cluster, best.index)
    const podIP = spec['hostNetwork'] === true ? hostIP : podAddress(this.#cluster, best.index, slot)
    return { nodeName: best.name, hostIP, podIP, zone: best.zone, region: this.#cluster.region }
  }

  /** The pod is gone: its room and address are free again. */
  release(pod: string, spec: PodSpec): void {
    const load = this.#loads.get(spec.nodeName ?? '')
    if (load?.slots.delete(pod) !== true) return
    const { cpu, memory } = requestsOf(spec)
    load.cpu -= cpu
    load.memory -= memory
  }

  /** A place taken under a name belongs to the pod of that uid now. */
  rename(name: string, uid: string, node: string): void {
    const { slots } = this.#load(node)
    const slot = slots.get(name)
    if (slot === undefined) return
    slots.delete(name)
    slots.set(uid, slot)
  }

  zoneOf(node: string): string {
    return this.nodes.find(({ name }) => name === node)?.zone ?? ''
  }

  #takes(node: SimulatedNode, spec: PodSpec, cpu: number, memory: number): boolean {
    if (node.dead || node.cordoned) return false
    const pool = spec.nodeSelector?.['aurora.example/pool']
    const pools = new Set(this.nodes.map((other) => other.pool.name))
    if (pool !== undefined && pools.has(pool) && node.pool.name !== pool) return false
    if (spec.containers.some(({ resources }) => resources.requests?.['nvidia.com/gpu'] !== undefined)) return false
    const load = this.#load(node.name)
    const fits =
      load.cpu + cpu <= node.pool.cpu * 1_000 - 80 && load.memory + memory <= node.pool.memoryGi * 1_024 - 2_900
    return fits && load.slots.size < node.pool.maxPods
  }

  #load(name: string): Load {
    const load = this.#loads.get(name)
    if (load === undefined) throw new Error(`no node ${name}`)
    return load
  }
}

function nodesOf(cluster: ClusterPlan): SimulatedNode[] {
  const pools = cluster.pools.flatMap((pool) => Array.from({ length: pool.count }, () => pool))
  return pools.map((pool, index) => ({
    name: nodeName({ cluster, pool, index }),
    index,
    pool,
    zone: cluster.zones[index % cluster.zones.length] ?? '',
    dead: cluster.deadNode === index,
    cordoned: cluster.cordonedNode === index,
  }))
}

function freeSlot(slots: ReadonlyMap<string, number>): number {
  const used = new Set(slots.values())
  let slot = 0
  while (used.has(slot)) slot += 1
  return slot
}

/** Millicores and MiB; native sidecars count, other init containers only where they ask for more than the rest. */
export function requestsOf(spec: PodSpec): { cpu: number; memory: number } {
  const running = [...spec.containers, ...(spec.initContainers ?? []).filter((init) => init.restartPolicy === 'Always')]
  const sum = (parse: (text: string) => number, name: string): number =>
    running.reduce((total, { resources }) => total + parse(resources.requests?.[name] ?? '0'), 0)
  return { cpu: sum(millicores, 'cpu'), memory: sum(mebibytes, 'memory') }
}

function millicores(text: string): number {
  return text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1_000
}

function mebibytes(text: string): number {
  const [, amount = '0', unit = ''] = /^(\d+)(Mi|Gi)?$/.exec(text) ?? []
  return unit === 'Gi' ? Number(amount) * 1_024 : Number(amount)
}

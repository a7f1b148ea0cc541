/**
 * The cache with 50,000 pods in 10 clusters: memory, loading, lists, GETs, labels, events to watchers; beside it the same
 * with a plain store that parses each object and writes it out again.
 *
 * Every pod has a set of labels of its own, which is the worst case for the label index. Short times are the fastest of
 * several runs, so that a busy machine counts less.
 */
import { Cache } from '../src/cache/cache.ts'
import type { ResourceReader, Snapshot } from '../src/cache/reader.ts'
import type { ShardWriter } from '../src/cache/writer.ts'
import { canonicalize } from '../src/kube/canonical-object.ts'
import type { ClusterName, ResourceVersion } from '../src/kube/names.ts'
import { parseLabelSelector } from '../src/kube/label-selector.ts'
import { systemClock } from '../src/util/clock.ts'
import { benchPod, seededRandom } from './fleet-objects.ts'

const CLUSTERS = 10
const PODS = 5_000
const PAGE = 500
const GVR = { group: '', version: 'v1', resource: 'pods' }

interface Item {
  readonly namespace: string
  readonly name: string
  readonly bytes: Buffer
}

/** A member's pods as its LIST has them: in key order, without kind, apiVersion and the cluster's annotations. */
function itemsOf(cluster: number, pods = PODS): Item[] {
  const random = seededRandom(cluster + 1)
  const items = Array.from({ length: pods }, (_, i): Item => {
    const { namespace, name, bytes } = benchPod(random, '', i)
    const object = JSON.parse(bytes.toString()) as { metadata: { annotations: object; labels: object } }
    const {
      'cluster.karmada.io/name': _name,
      'resource.karmada.io/cached-from-cluster': _from,
      ...annotations
    } = object.metadata.annotations as Record<string, string>
    const labels = { ...object.metadata.labels, slice: String(i % 15) }
    const item = { ...object, kind: undefined, apiVersion: undefined }
    item.metadata = { ...object.metadata, annotations, labels }
    return { namespace, name, bytes: Buffer.from(JSON.stringify(item)) }
  })
  const key = (item: Item): Buffer => Buffer.from(`${item.namespace}/${item.name}`)
  return items.sort((a, b) => Buffer.compare(key(a), key(b)))
}

function line(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(58)} ${value}\n`)
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function ms(since: number): number {
  return performance.now() - since
}

/** Of a few runs, in milliseconds. */
function fastest(run: () => void, runs = 10): number {
  return Math.min(...Array.from({ length: runs }, () => timeOf(run)))
}

const clusterName = (cluster: number): ClusterName => `member${cluster}` as ClusterName
const atVersion = (version: number): ResourceVersion => String(version) as ResourceVersion

function timeOf(run: () => void): number {
  const start = performance.now()
  run()
  return ms(start)
}

/** CPU milliseconds of this thread; in ticks of several milliseconds on some systems. */
function cpuOf(run: () => void): number {
  const before = process.threadCpuUsage()
  run()
  return cpuSince(before)
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

/** How long the event loop is held by a page (the fastest one) and by the commit. */
interface ReplaceCost {
  readonly page: number
  readonly commit: number
}

function replace(writer: ShardWriter, items: readonly Item[], version: number): ReplaceCost {
  const replacement = writer.beginReplace()
  const pages: number[] = []
  for (let from = 0; from < items.length; from += PAGE) {
    const page = items.slice(from, from + PAGE)
    pages.push(
      timeOf(() => {
        for (const { bytes } of page) replacement.add(bytes)
      }),
    )
  }
  return { page: Math.min(...pages), commit: timeOf(() => replacement.commit(atVersion(version))) }
}

function memory(): { readonly heap: number; readonly buffers: number } {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heap: heapUsed, buffers: arrayBuffers }
}

function listAll(snapshot: Snapshot): number {
  let bytes = 0
  for (let i = 0; i < snapshot.length; i++) bytes += snapshot.bytesAt(i).length
  return bytes
}

function load(cache: Cache): ShardWriter[] {
  const before = memory()
  let raw = 0
  let cpu = 0
  const costs: ReplaceCost[] = []
  const writers = Array.from({ length: CLUSTERS }, (_, cluster) => {
    const writer = cache.openShard({
      cluster: clusterName(cluster),
      clusterUid: 'u',
      gvr: GVR,
      kind: 'Pod',
      namespaced: true,
    })
    const items = itemsOf(cluster)
    raw += items.reduce((sum, { bytes }) => sum + bytes.length, 0)
    cpu += cpuOf(() => costs.push(replace(writer, items, 2_000_000)))
    return writer
  })
  const after = memory()
  const objects = CLUSTERS * PODS
  const canonical = (cache.resource(GVR)?.shards() ?? []).reduce((sum, { bytes }) => sum + bytes, 0)
  const held = after.heap + after.buffers - before.heap - before.buffers
  line('pods', `${objects} of ${Math.round(raw / objects)} bytes (${Math.round(canonical / objects)} canonical)`)
  line('load: CPU', `${Math.round(cpu)} ms (${((cpu * 1_000) / objects).toFixed(1)} µs an object)`)
  line('  of it the making of canonical bytes', `${canonicalizing().toFixed(1)} µs an object`)
  line('  the event loop is held by', costText(costs))
  line('memory beyond the canonical bytes, an object', `${Math.round((held - canonical) / objects)} bytes`)
  line('  of it on the JavaScript heap', `${Math.round((after.heap - before.heap) / objects)} bytes`)
  line('memory of all', `${Math.round(held / 1e6)} MB`)
  return writers
}

function costText(costs: readonly ReplaceCost[]): string {
  const page = Math.min(...costs.map((cost) => cost.page))
  const commit = Math.min(...costs.map((cost) => cost.commit))
  return `a page of 500: ${page.toFixed(1)} ms; the commit: ${commit.toFixed(2)} ms`
}

function canonicalizing(): number {
  const items = itemsOf(0)
  const identity = { apiVersion: 'v1', kind: 'Pod', cluster: clusterName(0) }
  const took = fastest(() => {
    for (const { bytes } of items) canonicalize(bytes, identity)
  })
  return (took * 1_000) / items.length
}

function relist(writers: readonly ShardWriter[]): void {
  const clusters = [0, 1, 2, 3, 4]
  const unchanged = clusters.map((cluster) => replace(writers[cluster] as ShardWriter, itemsOf(cluster), 2_000_001))
  line('relist of 5,000 unchanged', costText(unchanged))
  const changed = clusters.map((cluster) => {
    const items = itemsOf(cluster).map((item) => ({ ...item, bytes: bumped(item.bytes, 3_000_000) }))
    return replace(writers[cluster] as ShardWriter, items, 3_000_001)
  })
  line('relist of 5,000 changed', costText(changed))
}

/** Every object of one big cluster has changed: what is held up is the call that commits, then turns in which that is told. */
async function bigRelist(): Promise<void> {
  const cache = new Cache({ clock: systemClock })
  const writer = cache.openShard({ cluster: clusterName(0), clusterUid: 'u', gvr: GVR, kind: 'Pod', namespaced: true })
  const items = itemsOf(0, CLUSTERS * PODS)
  replace(writer, items, 2_000_000)
  const changed = items.map((item) => ({ ...item, bytes: bumped(item.bytes, 3_000_000) }))
  const { commit } = replace(writer, changed, 3_000_001)
  let longest = 0
  while (cache.resource(GVR)?.versions().get(clusterName(0)) !== atVersion(3_000_001)) {
    const before = process.threadCpuUsage()
    await turn()
    longest = Math.max(longest, cpuSince(before))
  }
  const times = `the commit: ${commit.toFixed(1)} ms; CPU of the longest turn: ${longest.toFixed(1)} ms`
  line(`relist of ${items.length} changed in one cluster`, times)
  cache.close()
}

function bumped(bytes: Buffer, version: number): Buffer {
  return Buffer.from(bytes.toString().replace(/"resourceVersion":"[0-9]+"/, `"resourceVersion":"${version}"`))
}

function read(pods: ResourceReader): void {
  const shards = pods.shards().length
  line('snapshot of everything', `${fastest(() => void pods.snapshot({})).toFixed(2)} ms`)
  line('full list, every object as bytes', `${fastest(() => void listAll(pods.snapshot({}))).toFixed(1)} ms`)
  const items = itemsOf(3)
  const gets = 100_000
  const getting = timeOf(() => {
    for (let i = 0; i < gets; i++) {
      const { namespace, name } = items[(i * 7_919) % PODS] as Item
      if (pods.get(clusterName(3), namespace, name) === undefined) throw new Error('not found')
    }
  })
  line('GET', `${((getting * 1_000) / gets).toFixed(2)} µs`)
  const two = new Set([clusterName(0), clusterName(1)])
  for (const [text, clusters] of [
    ['slice=3', two],
    ['slice=3', undefined],
    ['slice!=3', undefined],
    ['pod-template-hash', undefined],
    ['app=web-3,tier in (db,cache)', undefined],
  ] as const) {
    const labels = parseLabelSelector(text)
    const filter = { labels, ...(clusters && { clusters }) }
    const { length } = pods.snapshot(filter)
    const of = PODS * (clusters?.size ?? shards)
    line(`by label ${text}: ${length} of ${of}`, `${fastest(() => void pods.snapshot(filter)).toFixed(2)} ms`)
  }
  const namespace = fastest(() => void pods.snapshot({ namespace: 'team-7' }))
  line(`one namespace: ${pods.snapshot({ namespace: 'team-7' }).length} objects`, `${namespace.toFixed(3)} ms`)
  line('a page of 500', `${fastest(() => void pods.snapshot({ limit: 500 })).toFixed(3)} ms`)
}

async function events(pods: ResourceReader, writers: readonly ShardWriter[]): Promise<void> {
  const WATCHERS = 100
  const abort = new AbortController()
  let delivered = 0
  // What the relists changed is told in slices: pages want it told to the end, and so does who watches from here on.
  const { versions: from } = pods.snapshot({ isPaged: true, limit: 1 })
  const watching = Array.from({ length: WATCHERS }, async () => {
    for await (const batch of pods.watch({ from, signal: abort.signal })) delivered += batch.length
  })
  await turn()
  const writer = writers[4] as ShardWriter
  const items = itemsOf(4)
  const changes = Array.from({ length: 20_000 }, (_, i) =>
    bumped((items[(i * 7_919) % PODS] as Item).bytes, 4_000_000 + i),
  )
  const before = memory()
  delivered = 0
  const start = performance.now()
  const applying: number[] = []
  for (let from = 0; from < changes.length; from += 100) {
    applying.push(
      timeOf(() => {
        for (const change of changes.slice(from, from + 100)) writer.apply('MODIFIED', change)
      }),
    )
    await turn()
  }
  const took = ms(start)
  if (delivered === 0) throw new Error('nothing was delivered')
  line('an event in', `${(Math.min(...applying) * 10).toFixed(1)} µs`)
  line(`deliveries to ${WATCHERS} watchers`, `${Math.round(delivered / (took / 1_000)).toLocaleString('en')}/s`)
  const after = memory()
  line(
    'memory that 20,000 events took (window included)',
    `${Math.round((after.heap + after.buffers - before.heap - before.buffers) / 1e6)} MB`,
  )
  abort.abort()
  await Promise.all(watching)
}

/** One cluster's pods, parsed on the way in and written out for a list. */
function plain(): void {
  const items = itemsOf(0)
  const before = memory()
  const store = new Map<string, unknown>()
  const took = timeOf(() => {
    for (const { namespace, name, bytes } of items) store.set(`${namespace}/${name}`, JSON.parse(bytes.toString()))
  })
  const after = memory()
  const held = (after.heap + after.buffers - before.heap - before.buffers) / PODS
  line('plain store: load', `${((took * 1_000) / PODS).toFixed(1)} µs an object`)
  line('plain store: memory', `${Math.round(held)} bytes an object`)
  const list = fastest(() => void JSON.stringify([...store.values()]))
  line('plain store: full list, for 50,000', `${Math.round(list * CLUSTERS)} ms`)
}

const cache = new Cache({ clock: systemClock })
const writers = load(cache)
const pods = cache.resource(GVR)
if (pods === undefined) throw new Error('not registered')
read(pods)
relist(writers)
await events(pods, writers)
cache.close()
await bigRelist()
plain()

/**
 * The embedded search store: objects a second into it, bytes for each, and a published mix of queries.
 *
 *     node bench/sqlite.ts [objects=50000]
 *
 * Pods of high entropy from ten clusters, in batches as the bulk writer makes them. Wall time is that of two threads on
 * whatever else the machine does; CPU time is the process's.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SqliteStore } from '../src/backendstore/sqlite/store.ts'
import type { Change } from '../src/backendstore/backend-store.ts'
import { columnKinds, columnsOf } from '../src/kube/columns/index.ts'
import { DocumentBuilder } from '../src/query/document.ts'
import { FieldCatalog } from '../src/query/fields.ts'
import { parseQuery } from '../src/query/parser.ts'
import { resolveQuery } from '../src/query/resolve.ts'
import type { SearchRequest } from '../src/query/search-request.ts'
import { benchPod, seededRandom, type BenchPod } from './fleet-objects.ts'

const BATCH = 2_000
const CLUSTERS = 10
const NOW_MS = Date.parse('2026-11-30T00:00:00Z')

/** What people ask; each line is measured on its first page of 50. */
const MIX: readonly (readonly [query: string, sort: string, facets: string])[] = [
  ['web', '', ''],
  ['image:nginx restarts>0', '', 'cluster,namespace'],
  ['ns:team-7 status!=Running', '', ''],
  ['CrashLoopBackOff', '', 'cluster'],
  ['10.12.34.56', '', ''],
  ['ip:10.12.* kind:Pod', '', ''],
  ['label.tier=db cluster:member3', 'name', ''],
  ['created<7d label.app:checkout', '-created', ''],
  ['"back-off 5m0s restarting"', '', ''],
  ['checkout cart', '', ''],
  ['-status=Running ns:team-1*', '-restarts', 'status'],
  ['restarts>=10', '-restarts', 'image'],
  ['spec.containers.resources.limits.memory>=1Gi ns=team-3', '', ''],
  ['node:ip-10-0-3-* status:(CrashLoopBackOff,ErrImagePull)', '', 'node'],
  ['owner:payments-1', '', ''],
  ['(image:redis OR image:postgres) restarts>3', '', ''],
  ['kind:Pod', '', ''],
  ['kind:Pod', '-restarts', 'cluster,namespace'],
  ['registry', '', 'cluster'],
]

async function main(objects: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-bench-'))
  const store = await SqliteStore.open({ file: path.join(folder, 'search.db') })
  try {
    prepareOnly()
    await load(store, objects)
    await update(store, objects)
    await queries(store)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What the writer's thread does before SQLite. */
function prepareOnly(): void {
  const pods = podsOf(seededRandom(7), 0, BATCH)
  const builder = new DocumentBuilder()
  const columns = columnsOf({ group: '', kind: 'Pod' })
  for (let round = 0; round < 4; round++) for (const pod of pods) builder.build(upsert(pod), pod.bytes, columns)
  const started = performance.now()
  for (const pod of pods) builder.build(upsert(pod), pod.bytes, columns)
  const built = performance.now() - started
  const parsing = performance.now()
  for (const pod of pods) JSON.parse(pod.bytes.toString('utf8'))
  const parsed = performance.now() - parsing
  const perObject = (ms: number): string => `${((ms / BATCH) * 1_000).toFixed(0)} µs`
  print(`document of a pod: ${perObject(built)}, of which JSON.parse ${perObject(parsed)}`)
}

async function load(store: SqliteStore, objects: number): Promise<void> {
  const random = seededRandom(1)
  let waited = 0
  let cpu = 0
  for (let i = 0; i < objects; i += BATCH) {
    const batch = podsOf(random, i, Math.min(BATCH, objects - i)).map(upsert)
    const before = process.cpuUsage()
    const started = performance.now()
    await store.write(batch)
    waited += performance.now() - started
    cpu += cpuMs(before)
  }
  const size = await store.size()
  print(
    `load: ${rate(objects, waited)} objects/s, ${((cpu / objects) * 1_000).toFixed(0)} µs CPU each, ${(size / objects).toFixed(0)} B each`,
  )
}

/** Every fiftieth object again with another number of restarts. */
async function update(store: SqliteStore, objects: number): Promise<void> {
  const random = seededRandom(1)
  const changed: Change[] = []
  for (let i = 0; i < objects; i += BATCH) {
    for (const [k, pod] of podsOf(random, i, Math.min(BATCH, objects - i)).entries()) {
      if (k % 50 !== 0) continue
      const text = pod.bytes.toString('utf8').replace(/"restartCount":[0-9]+/, '"restartCount":77')
      changed.push({ ...upsert(pod), resourceVersion: `9${pod.resourceVersion}`, bytes: Buffer.from(text) })
    }
  }
  let waited = 0
  for (let i = 0; i < changed.length; i += 500) {
    const started = performance.now()
    await store.write(changed.slice(i, i + 500))
    waited += performance.now() - started
  }
  print(`changes in batches of 500: ${rate(changed.length, waited)} objects/s`)
}

async function queries(store: SqliteStore): Promise<void> {
  const medians: number[] = []
  for (const [query, sort, facets] of MIX) {
    const request = requestOf(query, sort, facets)
    const times: number[] = []
    let total = 0
    for (let i = 0; i < 7; i++) {
      const started = performance.now()
      total = (await store.search(request)).total
      times.push(performance.now() - started)
    }
    const median = times.sort((a, b) => a - b)[3] ?? 0
    medians.push(median)
    print(
      `${median.toFixed(1).padStart(8)} ms ${String(total).padStart(8)}  ${query}${sort === '' ? '' : `  sort ${sort}`}${facets === '' ? '' : `  facets ${facets}`}`,
    )
  }
  medians.sort((a, b) => a - b)
  print(
    `queries: p50 ${(medians[Math.floor(medians.length / 2)] ?? 0).toFixed(1)} ms, worst ${(medians.at(-1) ?? 0).toFixed(1)} ms`,
  )
}

function requestOf(query: string, sort: string, facets: string): SearchRequest {
  const fields = new FieldCatalog(columnKinds().map(({ columns }) => columns))
  const ast = parseQuery(query, (name) => fields.find(name) !== undefined)
  const { predicate, ranked } = resolveQuery(ast, { fields, nowMs: NOW_MS })
  const names = (text: string): string[] => text.split(',').filter((name) => name !== '')
  return {
    predicate,
    ranked,
    sort: names(sort).map((name) => ({ path: name.replace(/^-/, ''), descending: name.startsWith('-') })),
    limit: 50,
    facets: names(facets).map((name) => ({ path: fields.find(name)?.path ?? name, limit: 10 })),
  }
}

function podsOf(random: () => number, from: number, count: number): BenchPod[] {
  return Array.from({ length: count }, (_, k) => benchPod(random, `member${(from + k) % CLUSTERS}`, from + k))
}

function upsert(pod: BenchPod): Change & { type: 'upsert' } {
  return { type: 'upsert', group: '', version: 'v1', resource: 'pods', kind: 'Pod', ...pod }
}

function rate(count: number, ms: number): string {
  return ((count / ms) * 1_000).toFixed(0)
}

function cpuMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

await main(Number(process.argv[2] ?? 50_000))

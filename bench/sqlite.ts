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
import { columnsOf } from '../src/kube/columns/index.ts'
import { DocumentBuilder } from '../src/query/document.ts'
import { seededRandom } from './fleet-objects.ts'
import { measureQueries, podsOf, upsert } from './fleet-queries.ts'

const BATCH = 2_000

async function main(objects: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-bench-'))
  let columnBytes = 0
  const store = await SqliteStore.open({
    file: path.join(folder, 'search.db'),
    onColumnBytes: (bytes) => {
      columnBytes = bytes
    },
  })
  try {
    prepareOnly()
    await load(store, objects)
    await update(store, objects)
    await measureQueries(store)
    print(`columns in memory: ${(columnBytes / objects).toFixed(0)} B each`)
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

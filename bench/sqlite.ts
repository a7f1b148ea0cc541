/**
 * The embedded search store: objects a second into it, bytes for each, and a published mix of queries.
 *
 *     node bench/sqlite.ts [objects=50000]
 *
 * Pods of high entropy from ten clusters, in batches as the bulk writer makes them: first documents made and written in
 * turn by one thread, each timed alone, then the whole store, whose threads do both at once. CPU time is the process's, of
 * all threads; wall time is that of whatever else the machine does, too.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SqliteStore } from '../src/backendstore/sqlite/store.ts'
import type { Change } from '../src/backendstore/backend-store.ts'
import { openForWriting } from '../src/backendstore/sqlite/database.ts'
import { IndexWriter } from '../src/backendstore/sqlite/index-writer.ts'
import { Preparer } from '../src/backendstore/sqlite/preparer.ts'
import { seededRandom } from './fleet-objects.ts'
import { measureQueries, podsOf, upsert } from './fleet-queries.ts'
import { inFlight, Spent } from './spent.ts'

const BATCH = 2_000
/** As many as the bulk writer has under way. */
const IN_FLIGHT = 2
/** Batches that are made before some are timed. */
const TURN = 10

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
    measureAlone(path.join(folder, 'alone.db'), objects)
    await load(store, objects)
    await update(store, objects)
    await measureQueries(store)
    print(`columns in memory: ${(columnBytes / objects).toFixed(0)} B each`)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What each of the two threads that load does, without the other and without reading. */
function measureAlone(file: string, objects: number): void {
  const random = seededRandom(1)
  const preparer = new Preparer([])
  const writer = openForWriting(file, (db) => new IndexWriter(db))
  const [preparing, writing] = [new Spent(), new Spent()]
  for (let i = 0; i < objects; i += BATCH) {
    const batch = podsOf(random, i, Math.min(BATCH, objects - i)).map(upsert)
    const prepared = preparing.on(() => preparer.prepare(batch))
    writing.on(() => writer.write(prepared))
  }
  print(`documents made: ${preparing.told(objects)}`)
  print(`prepared documents written: ${writing.told(objects)}, ${(writer.size() / objects).toFixed(0)} B each`)
}

async function load(store: SqliteStore, objects: number): Promise<void> {
  const random = seededRandom(1)
  const spent = new Spent()
  for (let i = 0; i < objects; i += BATCH * TURN) {
    const batches: Change[][] = []
    for (let k = i; k < Math.min(objects, i + BATCH * TURN); k += BATCH) {
      batches.push(podsOf(random, k, Math.min(BATCH, objects - k)).map(upsert))
    }
    await spent.onAsync(() => inFlight(IN_FLIGHT, batches, async (batch) => void (await store.write(batch))))
  }
  print(`objects into the store: ${spent.told(objects)}`)
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

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

await main(Number(process.argv[2] ?? 50_000))

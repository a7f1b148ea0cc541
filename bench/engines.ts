/**
 * Stores in search engines: objects a second into one, beside a plain bulk of the very same documents by the same client in
 * the same run, and a published mix of queries.
 *
 *     node bench/engines.ts [objects=40000] [engine…]
 *
 * Both keep as many requests under way as the bulk writer does, and take turns by some batches, so that whatever else the
 * machine does meets both. The plain bulk sends documents that are made already, without versions; the store makes them of
 * the objects, in a thread of its own. What the engine has no room for (429) waits a second and is sent again, on both sides.
 * CPU is that of this process, all threads; an engine on the same cores takes the rest.
 */
import { ENGINE_BULK_LIMITS } from '../src/backendstore/bulk-options.ts'
import type { EngineStoreOptions } from '../src/backendstore/engine-store.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { elasticsearchClient } from '../src/backendstore/elasticsearch/client.ts'
import { openSearchClient } from '../src/backendstore/opensearch/client.ts'
import type { EngineClient } from '../src/backendstore/search-engine/engine-client.ts'
import { EngineDocuments } from '../src/backendstore/search-engine/engine-document.ts'
import { documentId } from '../src/backendstore/search-engine/keys.ts'
import { openEngineStore } from '../src/backendstore/search-engine/open-engine-store.ts'
import { mapping, settings } from '../src/backendstore/search-engine/schema.ts'
import { engineOptions } from '../test/support/engine-stores.ts'
import { SEARCH_ENGINES, startSearchEngine, type SearchEngineName } from '../test/support/real-parts/index.ts'
import { toStoreError } from '../src/backendstore/search-engine/engine-errors.ts'
import type { BackendStoreWriter, Upsert } from '../src/backendstore/backend-store.ts'
import { seededRandom } from './fleet-objects.ts'
import { measureQueries, podsOf, upsert } from './fleet-queries.ts'
import { inFlight, Spent } from './spent.ts'

/** So many pods are a batch of the bulk writer, and one request. */
const BATCH = 350
/** As many as the bulk writer has under way, for both. */
const IN_FLIGHT = ENGINE_BULK_LIMITS.inFlight
/** Batches of a turn. Its first one is made while the engine has nothing to do: in short turns that would weigh more than it does in the long run. */
const TURN = 50
/** What an engine puts off is given to it again, as the bulk writer does at first. */
const AGAIN_MS = 1_000
const PLAIN = 'plain'
const MAX_REQUEST_BYTES = 8 * 1024 * 1024

async function main(objects: number, names: readonly SearchEngineName[]): Promise<void> {
  for (const name of names) {
    process.stdout.write(`${name}\n`)
    const engine = await startSearchEngine(name)
    const options = engineOptions(engine)
    const client = clientOf(options)
    const store = await openEngineStore(options)
    try {
      const body = { mappings: mapping(client.flatType), settings: settings({}) }
      await client.request({ method: 'PUT', path: `/${PLAIN}`, body })
      await load(objects, client, (batch) => writeAll(store, batch))
      await client.request({ method: 'DELETE', path: `/${PLAIN}` })
      await measureFreshness(store)
      await measureQueries(store)
      print(`${((await store.size()) / (objects + BATCH * TURN)).toFixed(0)} B each`)
    } finally {
      await store.close()
      await client.close()
      await engine.stop()
    }
  }
}

function clientOf(options: EngineStoreOptions): EngineClient {
  return options.kind === 'opensearch' ? openSearchClient(options) : elasticsearchClient(options)
}

async function load(
  objects: number,
  client: EngineClient,
  write: (batch: readonly Upsert[]) => Promise<void>,
): Promise<void> {
  const random = seededRandom(1)
  const documents = new EngineDocuments()
  let spent = { store: new Spent(), plain: new Spent() }
  for (let i = -BATCH * TURN; i < objects; i += BATCH * TURN) {
    if (i === 0) spent = { store: new Spent(), plain: new Spent() } // the turn before was for the engine to warm up
    const batches = Array.from({ length: TURN }, (_, k) => podsOf(random, objects + i + k * BATCH, BATCH).map(upsert))
    const requests = batches.map((batch) => plainRequests(batch, documents))
    const plain = (): Promise<void> =>
      spent.plain.onAsync(() => inFlight(IN_FLIGHT, requests, (each) => sendPlain(client, each)))
    const store = (): Promise<void> => spent.store.onAsync(() => inFlight(IN_FLIGHT, batches, write))
    const inTurn = Math.abs(i / BATCH / TURN) % 2 === 0 ? [plain, store] : [store, plain]
    for (const run of inTurn) await run()
  }
  const ratio = (spent.plain.ms / spent.store.ms).toFixed(2)
  print(`load: ${spent.store.told(objects)}; plain bulk ${spent.plain.told(objects)}; ratio ${ratio}`)
  if (putOff > 0) print(`${putOff} requests were put off for a second`)
  putOff = 0
}

function plainRequests(batch: readonly Upsert[], documents: EngineDocuments): Buffer[] {
  const requests: Buffer[] = []
  let lines: string[] = []
  let bytes = 0
  for (const change of batch) {
    const line = `{"index":{"_index":"${PLAIN}","_id":${JSON.stringify(documentId(change))}}}\n${documents.build(change)}\n`
    if (bytes + line.length > MAX_REQUEST_BYTES) {
      requests.push(Buffer.from(lines.join('')))
      lines = []
      bytes = 0
    }
    lines.push(line)
    bytes += line.length
  }
  requests.push(Buffer.from(lines.join('')))
  return requests
}

async function sendPlain(client: EngineClient, requests: readonly Buffer[]): Promise<void> {
  for (const lines of requests) {
    await untilTaken(async () => {
      const query = { filter_path: 'errors' }
      const { errors } = await client.request<{ errors: boolean }>({ method: 'POST', path: '/_bulk', query, lines })
      return !errors
    })
  }
}

async function writeAll(store: BackendStoreWriter, batch: readonly Upsert[]): Promise<void> {
  await untilTaken(async () => ((await store.write(batch)).deferred ?? []).length === 0)
}

/** `send`: whether all of it was taken. */
async function untilTaken(send: () => Promise<boolean>): Promise<void> {
  for (;;) {
    try {
      if (await send()) return
    } catch (error) {
      if (toStoreError(error).code !== 'overloaded') throw error
    }
    putOff++
    await delay(AGAIN_MS)
  }
}

let putOff = 0

/** What a search waits for where something was written just before it. */
async function measureFreshness(store: Awaited<ReturnType<typeof openEngineStore>>): Promise<void> {
  const pods = podsOf(seededRandom(5), 0, 20).map(upsert)
  const times: number[] = []
  for (const pod of pods) {
    await writeAll(store, [pod])
    const started = performance.now()
    await store.shards()
    times.push(performance.now() - started)
  }
  times.sort((a, b) => a - b)
  print(
    `a search right behind a write: p50 ${(times[10] ?? 0).toFixed(1)} ms, worst ${(times.at(-1) ?? 0).toFixed(1)} ms`,
  )
}

function print(line: string): void {
  process.stdout.write(`  ${line}\n`)
}

const [objects = '40000', ...names] = process.argv.slice(2)
await main(Number(objects), names.length === 0 ? SEARCH_ENGINES : (names as SearchEngineName[]))

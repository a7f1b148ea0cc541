/**
 * Members that send far too much: 200 MB in one list that ignores our page size, one object of 200 MB, a list without end.
 * The program is a process of its own, so that its memory can be told from that of the member.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startFakeMember, type FakeMember, type NewObject } from '../support/fake-member.ts'
import { CACHE, PROXY, QUERY, startLocal, type LocalProcess } from '../support/local-process.ts'
import { podManifest } from '../support/manifests.ts'
import { eventually } from '../support/whole-service.ts'

const MB = 1 << 20
const OBJECTS = 50_000
const OBJECT_BYTES = 4_096
/** Why a cluster is missing, as a Warning says it. */
const TOO_LARGE = /big \([^)]*an object of more than \d+ bytes/
/** What is kept is kept as the member sent it; the rest is what one page, the index and its buffers need. */
const PER_CACHED_BYTE = 1.6
const REST_BYTES = 160 * MB
/** How long anybody else may wait for an answer meanwhile, on a busy machine; without load it is some ms. */
const SLOW_MS = 3_000

describe('members that send too much', () => {
  let folder: string
  let good: FakeMember
  let big: FakeMember
  let up: LocalProcess

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-big-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  beforeEach(async () => {
    good = await startFakeMember({ objects: [podManifest('good-0') as NewObject], name: 'good' })
    big = await startFakeMember({ objects: [podManifest('big-0') as NewObject], name: 'big' })
  })
  afterEach(async () => {
    await up?.stop()
    await Promise.all([good?.close(), big?.close()])
  })

  async function start(): Promise<void> {
    const kubeconfig = path.join(folder, 'kubeconfig')
    const members = [good, big].map(({ url }, i) => ({ name: ['good', 'big'][i]!, cluster: { server: url } }))
    const contexts = members.map(({ name }) => ({ name, context: { cluster: name } }))
    await writeFile(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', clusters: members, contexts }))
    const flags = [`--kubeconfig=${kubeconfig}`, `--data-dir=${await mkdtemp(path.join(folder, 'data-'))}`]
    up = await startLocal('up', { flags, until: 'listening' })
  }

  /** Resident now, in bytes, as its own metrics say. */
  async function resident(): Promise<number> {
    const { text } = await up.request('/metrics')
    return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1])
  }

  async function count(resource: string): Promise<number> {
    const { text } = await up.request(`${CACHE}/api/v1/${resource}?limit=1`)
    const { items, metadata } = JSON.parse(text) as { items: unknown[]; metadata: { remainingItemCount?: number } }
    return items.length + (metadata.remainingItemCount ?? 0)
  }

  /** Asks for the good member's pods again and again until told to stop; returns the longest wait and the highest memory. */
  async function observe(until: Promise<unknown>): Promise<{ slowestMs: number; peakBytes: number; answers: number }> {
    const state = { done: false, slowestMs: 0, peakBytes: 0, answers: 0 }
    const stop = (): void => {
      state.done = true
    }
    until.then(stop, stop)
    while (!state.done) {
      const startedMs = performance.now()
      const answer = await up.request(`${CACHE}/api/v1/pods?cluster=good`)
      state.slowestMs = Math.max(state.slowestMs, performance.now() - startedMs)
      assert.equal(answer.status, 200)
      state.peakBytes = Math.max(state.peakBytes, await resident())
      state.answers += 1
      await delay(10)
    }
    await until
    return state
  }

  it('200 MB in one list: is cached in bounded memory, and everybody else is served meanwhile', async (t) => {
    const isList = { resource: 'configmaps', watch: false }
    await start()
    await eventually(async () => (await count('pods')) === 2, 'the pods')
    const before = await resident()
    big.misbehave({ on: isList, fault: { type: 'stream', pieces: () => listOf(OBJECTS, OBJECT_BYTES, big.version) } })
    big.expireWatches('configmaps')
    const all = eventually(async () => (await count('configmaps')) === OBJECTS, 'all objects', 120_000)
    const { slowestMs, peakBytes, answers } = await observe(all)
    t.diagnostic(
      `${OBJECTS} objects: ${Math.round((peakBytes - before) / MB)} MB more, slowest of ${answers}: ${Math.round(slowestMs)} ms`,
    )
    assert.ok(answers > 10)
    assert.ok(slowestMs < SLOW_MS, `${slowestMs} ms`)
    const allowed = OBJECTS * OBJECT_BYTES * PER_CACHED_BYTE + REST_BYTES
    assert.ok(peakBytes - before < allowed, `${Math.round((peakBytes - before) / MB)} MB more`)
    assert.ok(up.process.running)
    const searched = (await up.ok(`${QUERY}?q=name:good-0`)) as { total: number }
    assert.equal(searched.total, 1)
  })

  it('one object of 200 MB: is refused with its reason, in the memory of none', async (t) => {
    await start()
    await eventually(async () => (await count('pods')) === 2, 'the pods')
    const before = await resident()
    const isList = { resource: 'configmaps', watch: false }
    big.misbehave({ on: isList, fault: { type: 'stream', pieces: () => listOf(1, 200 * MB, big.version) } })
    big.expireWatches('configmaps')
    const refused = eventually(async () => {
      const { headers } = await up.request(`${CACHE}/api/v1/configmaps`)
      return TOO_LARGE.test(String(headers.warning))
    }, 'the reason')
    const { slowestMs, peakBytes } = await observe(refused)
    t.diagnostic(`${Math.round((peakBytes - before) / MB)} MB more, slowest answer ${Math.round(slowestMs)} ms`)
    assert.ok(peakBytes - before < REST_BYTES, `${Math.round((peakBytes - before) / MB)} MB more`)
    assert.ok(slowestMs < SLOW_MS)
    assert.equal(await count('pods'), 2)
  })

  it('200 MB of what nobody registered: a live read is bounded too', async (t) => {
    big.misbehave({
      on: { resource: 'secrets' },
      fault: { type: 'stream', pieces: () => listOf(OBJECTS, OBJECT_BYTES, big.version) },
    })
    await start()
    await eventually(async () => (await count('pods')) === 2, 'the pods')
    const before = await resident()
    const live = up.request(`${PROXY}/api/v1/secrets`)
    const { slowestMs, peakBytes } = await observe(live)
    const { status, text, headers } = await live
    t.diagnostic(
      `${status}, ${Math.round(text.length / MB)} MB: ${Math.round((peakBytes - before) / MB)} MB more, slowest answer ${Math.round(slowestMs)} ms`,
    )
    // All of it, or the others with the reason why it is missing: never a part that looks like the whole.
    assert.equal(status, 200)
    const { items } = JSON.parse(text) as { items: unknown[] }
    if (items.length !== OBJECTS) assert.match(String(headers.warning), /big/)
    assert.ok(peakBytes - before < OBJECTS * OBJECT_BYTES * PER_CACHED_BYTE + REST_BYTES)
    assert.ok(slowestMs < SLOW_MS)
  })
})

/** A list of ConfigMaps, each of about `objectBytes`, as an API server that knows no pages would send it. */
function* listOf(objects: number, objectBytes: number, version: string): Generator<Uint8Array> {
  yield Buffer.from(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"${version}"},"items":[`)
  const piece = Buffer.alloc(Math.min(objectBytes, 64 << 10), 'x')
  for (let i = 0; i < objects; i++) {
    const name = `big-${String(i).padStart(6, '0')}`
    const meta = { name, namespace: 'default', uid: `uid-${i}`, resourceVersion: String(i + 1) }
    yield Buffer.from(`${i === 0 ? '' : ','}{"metadata":${JSON.stringify(meta)},"data":{"text":"`)
    for (let left = objectBytes; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length))
    yield Buffer.from('"}}')
  }
  yield Buffer.from(']}')
}

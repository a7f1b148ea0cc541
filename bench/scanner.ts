/**
 * How fast bytes of objects are walked over, made canonical and split, beside JSON.parse in the same run. The best of many
 * short rounds: what the machine can do when nobody else has it.
 */
import { canonicalize } from '../src/kube/canonical-object.ts'
import type { ObjectIdentity } from '../src/kube/canonical-object.ts'
import { skipValue } from '../src/kube/json-bytes.ts'
import { ListSplitter } from '../src/kube/list-splitter.ts'
import type { ClusterName } from '../src/kube/names.ts'
import { scanHead, scanObject } from '../src/kube/object-scanner.ts'
import { WatchSplitter } from '../src/kube/watch-splitter.ts'
import { benchPod, seededRandom } from './fleet-objects.ts'

const PODS = 500
const ROUNDS = 200
const CHUNK_BYTES = 65_536
const MAX_BYTES = 16 * 1024 * 1024

const identity: ObjectIdentity = { apiVersion: 'v1', kind: 'Pod', cluster: 'member1' as ClusterName }

const random = seededRandom(1)
const canonical = Array.from({ length: PODS }, (_, i) => benchPod(random, 'member1', i).bytes)
/** As a LIST has them: no kind, no apiVersion, no annotations of ours. */
const items = canonical.map((bytes) => {
  const { kind: _kind, apiVersion: _apiVersion, ...pod } = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>
  const { annotations } = pod['metadata'] as { annotations: Record<string, string> }
  for (const key of Object.keys(annotations)) if (key.includes('karmada.io')) delete annotations[key]
  return Buffer.from(JSON.stringify(pod))
})
const list = Buffer.concat([
  Buffer.from('{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":['),
  Buffer.from(items.map((item) => item.toString('utf8')).join(',')),
  Buffer.from(']}'),
])
const stream = Buffer.from(
  canonical.map((bytes) => `{"type":"MODIFIED","object":${bytes.toString('utf8')}}\n`).join(''),
)

function chunksOf(bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let i = 0; i < bytes.length; i += CHUNK_BYTES) chunks.push(bytes.subarray(i, i + CHUNK_BYTES))
  return chunks
}

function report(name: string, bytes: number, round: () => void): void {
  let best = Infinity
  for (let i = 0; i < ROUNDS; i++) {
    const startedAt = performance.now()
    round()
    best = Math.min(best, performance.now() - startedAt)
  }
  const perSecond = Math.round(bytes / best / 1_000)
  const perObject = ((best * 1_000) / PODS).toFixed(1)
  process.stdout.write(`${name.padEnd(40)} ${String(perSecond).padStart(6)} MB/s ${perObject.padStart(8)} µs a pod\n`)
}

function eachOf(name: string, objects: readonly Buffer[], work: (bytes: Buffer) => unknown): void {
  const bytes = objects.reduce((sum, object) => sum + object.length, 0)
  report(name, bytes, () => {
    for (const object of objects) work(object)
  })
}

function splitList(onItem: (bytes: Uint8Array) => void): void {
  const splitter = new ListSplitter({ maxObjectBytes: MAX_BYTES, onItem })
  for (const chunk of listChunks) splitter.push(chunk)
  splitter.end()
}

function splitWatch(onObject: (bytes: Uint8Array) => void): void {
  const splitter = new WatchSplitter({ maxEventBytes: MAX_BYTES })
  for (const chunk of streamChunks) {
    for (const event of splitter.push(chunk)) if ('object' in event) onObject(event.object)
  }
  splitter.end()
}

const listChunks = chunksOf(list)
const streamChunks = chunksOf(stream)
const nothing = (): void => undefined

process.stdout.write(`${PODS} pods of ${Math.round(list.length / PODS)} bytes\n`)
eachOf('JSON.parse of an object', items, (bytes) => JSON.parse(bytes.toString('utf8')))
eachOf('JSON.parse and JSON.stringify', items, (bytes) =>
  Buffer.from(JSON.stringify(JSON.parse(bytes.toString('utf8')))),
)
eachOf('skipValue over an object', items, (bytes) => skipValue(bytes, 0))
eachOf('scanObject', items, scanObject)
eachOf('scanHead of a canonical object', canonical, scanHead)
eachOf('canonicalize', items, (bytes) => canonicalize(bytes, identity))
report('ListSplitter', list.length, () => splitList(nothing))
report('ListSplitter and canonicalize', list.length, () => splitList((bytes) => canonicalize(bytes, identity)))
report('WatchSplitter', stream.length, () => splitWatch(nothing))
report('WatchSplitter and canonicalize', stream.length, () => splitWatch((bytes) => canonicalize(bytes, identity)))

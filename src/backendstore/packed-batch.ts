/** A batch of changes as it goes to the writer's thread: bodies in one transferred buffer, strings in one array. */
import type { Change, ShardIdentity } from './backend-store.ts'
import { BufferPool } from './buffer-pool.ts'

export interface PackedBatch {
  readonly shards: readonly ShardIdentity[]
  /** Four for each change: namespace, name, UID and version (both empty for a delete). */
  readonly strings: readonly string[]
  /** Three for each change: its shard, begin and end of its body (-1 for a delete). */
  readonly numbers: Int32Array<ArrayBuffer>
  readonly bodies: Uint8Array<ArrayBuffer>
}

const STRINGS = 4
const NUMBERS = 3

/** Copies the bodies, so that the cache may go on; into memory of `pool`, which is larger than they are. */
export function packBatch(batch: readonly Change[], pool = new BufferPool()): PackedBatch {
  const shards = new Map<string, { index: number; shard: ShardIdentity }>()
  const strings: string[] = []
  const numbers = new Int32Array(batch.length * NUMBERS)
  const bodies = new Uint8Array(pool.take(batch.reduce((sum, change) => sum + bodyOf(change).length, 0)))
  let end = 0
  for (const [i, change] of batch.entries()) {
    const key = `${change.cluster}\n${change.group}\n${change.version}\n${change.resource}`
    const known = shards.get(key) ?? { index: shards.size, shard: change }
    shards.set(key, known)
    const upsert = change.type === 'upsert'
    strings.push(change.namespace, change.name, upsert ? change.uid : '', upsert ? change.resourceVersion : '')
    const body = bodyOf(change)
    bodies.set(body, end)
    numbers.set([known.index, upsert ? end : -1, end + body.length], i * NUMBERS)
    end += body.length
  }
  return { shards: [...shards.values()].map(({ shard }) => identityOf(shard)), strings, numbers, bodies }
}

/** What is handed over with it. */
export function buffersOf({ bodies, numbers }: PackedBatch): ArrayBuffer[] {
  return [bodies.buffer, numbers.buffer]
}

export function* unpackBatch({ shards, strings, numbers, bodies }: PackedBatch): Generator<Change> {
  for (let i = 0; i * NUMBERS < numbers.length; i++) {
    const [index = 0, start = -1, end = 0] = numbers.subarray(i * NUMBERS, (i + 1) * NUMBERS)
    const [namespace = '', name = '', uid = '', resourceVersion = ''] = strings.slice(i * STRINGS, (i + 1) * STRINGS)
    const shard = shards[index]
    if (shard === undefined) continue
    if (start < 0) yield { type: 'delete', ...shard, namespace, name }
    else yield { type: 'upsert', ...shard, namespace, name, uid, resourceVersion, bytes: bodies.subarray(start, end) }
  }
}

const NOTHING = new Uint8Array()

function bodyOf(change: Change): Uint8Array {
  return change.type === 'upsert' ? change.bytes : NOTHING
}

function identityOf({ cluster, group, version, resource, kind }: ShardIdentity): ShardIdentity {
  return { cluster, group, version, resource, kind }
}

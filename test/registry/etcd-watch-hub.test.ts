import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStatusError } from '../../src/kube/status-error.ts'
import { versionTooOld } from '../../src/registry/errors.ts'
import type { Batch } from '../../src/registry/etcd/follow.ts'
import { WatchHub, type HubItem } from '../../src/registry/etcd/watch-hub.ts'
import { settle } from '../support/fake-clock.ts'

/** What etcd is to a hub: a history, and streams that follow it from any revision that is kept. */
class History {
  readonly batches: Batch[] = []
  compacted = 0n
  readonly streams: bigint[] = []
  open = 0
  #wake: (() => void)[] = []

  write(revision: number, bytes = 1): void {
    const kv = {
      key: `/r/${revision}`,
      value: Buffer.alloc(bytes, 'x'),
      createRevision: 1n,
      modRevision: BigInt(revision),
      version: 1n,
    }
    this.#push({ events: [{ type: 'put', kv, previous: undefined }], revision: BigInt(revision) })
  }

  progress(revision: number): void {
    this.#push({ events: [], revision: BigInt(revision) })
  }

  compact(revision: number): void {
    this.compacted = BigInt(revision)
    this.#wakeAll()
  }

  async *follow(from: bigint, signal: AbortSignal): AsyncGenerator<Batch> {
    this.streams.push(from)
    this.open += 1
    const abort = (): void => {
      this.#wakeAll()
    }
    signal.addEventListener('abort', abort)
    try {
      for (let at = from; !signal.aborted;) {
        const next = this.batches.find(({ revision }) => revision > at)
        if (this.compacted > at) throw versionTooOld(String(at), String(this.compacted))
        if (next === undefined) await new Promise<void>((resolve) => this.#wake.push(resolve))
        else {
          at = next.revision
          yield next
        }
      }
    } finally {
      signal.removeEventListener('abort', abort)
      this.open -= 1
    }
  }

  #push(batch: Batch): void {
    this.batches.push(batch)
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

function collect(hub: WatchHub, from: number) {
  const abort = new AbortController()
  const items: HubItem[] = []
  const read = async (): Promise<void> => {
    for await (const item of hub.watch(BigInt(from), abort.signal)) items.push(item)
  }
  const ended = read()
  ended.catch(() => undefined)
  return {
    ended,
    seen: () => items.map(({ revision, event }) => (event === undefined ? `to ${revision}` : Number(revision))),
    async stop(): Promise<void> {
      abort.abort()
      await ended
    },
  }
}

function setUp(options: { keptEvents?: number; keptBytes?: number } = {}) {
  const history = new History()
  const hub = new WatchHub({ follow: (from, signal) => history.follow(from, signal), ...options })
  return { history, hub }
}

test('a thousand watchers are one watch of etcd, and each gets everything behind its version once', async () => {
  const { history, hub } = setUp()
  const watchers = Array.from({ length: 1_000 }, (_, i) => collect(hub, 10 + (i % 3)))
  for (const revision of [11, 12, 13]) history.write(revision)
  history.progress(20)
  await settle(10)
  assert.deepEqual(history.streams, [10n])
  const all = [11, 12, 13, 'to 20']
  for (const [i, watcher] of watchers.entries()) assert.deepEqual(watcher.seen(), all.slice(i % 3))
  const late = collect(hub, 11)
  await settle()
  assert.deepEqual(late.seen(), [12, 13], 'from memory')
  assert.deepEqual(history.streams, [10n])
  await Promise.all([...watchers, late].map((watcher) => watcher.stop()))
  await settle()
  assert.equal(history.open, 0, 'without watchers etcd is left alone')
})

test('a watcher from further back has a watch of its own until it has caught up', async () => {
  const { history, hub } = setUp()
  for (const revision of [5, 6]) history.write(revision)
  const live = collect(hub, 6)
  const old = collect(hub, 4)
  await settle()
  assert.deepEqual(history.streams, [6n, 4n])
  assert.deepEqual(old.seen(), [5, 6])
  await settle()
  assert.equal(history.open, 1, 'caught up at 6')
  history.write(7)
  await settle()
  assert.deepEqual(old.seen(), [5, 6, 7])
  assert.deepEqual(live.seen(), [7])
  await Promise.all([live.stop(), old.stop()])
})

test('memory is bounded by events and by bytes, and what was dropped is read from etcd', async () => {
  for (const options of [{ keptEvents: 3 }, { keptBytes: 30 }]) {
    const { history, hub } = setUp(options)
    const live = collect(hub, 0)
    for (let revision = 1; revision <= 9; revision++) {
      history.write(revision, 10)
      await settle()
    }
    const inside = collect(hub, 6)
    const outside = collect(hub, 5)
    await settle(5)
    assert.deepEqual(inside.seen(), [7, 8, 9])
    assert.deepEqual(outside.seen(), [6, 7, 8, 9])
    assert.deepEqual(history.streams, [0n, 5n])
    await Promise.all([live, inside, outside].map((watcher) => watcher.stop()))
  }
})

test('a compaction ends every watcher that needs what is gone, and the next begins anew', async () => {
  const { history, hub } = setUp()
  const first = collect(hub, 1)
  const second = collect(hub, 2)
  await settle()
  history.compact(9)
  const expired = (error: unknown): boolean => isStatusError(error, 'expired')
  await assert.rejects(first.ended, expired)
  await assert.rejects(second.ended, expired)
  await assert.rejects(collect(hub, 5).ended, expired)
  const again = collect(hub, 9)
  history.write(10)
  await settle()
  assert.deepEqual(again.seen(), [10])
  await again.stop()
})

test('a watcher that does not read is cut, the others go on', async () => {
  const { history, hub } = setUp({ keptEvents: 5 })
  const abort = new AbortController()
  const idle = hub.watch(0n, abort.signal)
  const live = collect(hub, 0)
  history.write(1)
  await idle.next()
  for (let revision = 2; revision <= 12; revision++) {
    history.write(revision)
    await settle(1)
  }
  await settle()
  await assert.rejects(idle.next(), (error) => isStatusError(error, 'expired'))
  assert.equal(live.seen().length, 12)
  await live.stop()
})

test('closing ends the watch of etcd', async () => {
  const { history, hub } = setUp()
  const watcher = collect(hub, 0)
  await settle()
  assert.equal(history.open, 1)
  await hub.close()
  assert.equal(history.open, 0)
  await watcher.stop()
})

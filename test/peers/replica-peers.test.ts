/** No replica answers a read without knowing what another has answered: whatever happens to them, in virtual time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PeerMessage } from '../../src/peers/channel.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { peersByChance } from './by-chance.ts'
import { World, type ReplicaProcess } from './peer-world.ts'

async function world(names: readonly string[]): Promise<{ world: World; replicas: ReplicaProcess[] }> {
  const made = new World(new FakeClock())
  const replicas = names.map((name) => made.start(name))
  await made.clock.advanceUntil(() => replicas.every(({ peers }) => peers.covered() && peers.refusal() === undefined))
  await made.clock.advance(5_000)
  return { world: made, replicas }
}

/** How a write goes, and how long it takes. */
async function timed(
  { clock }: World,
  replica: ReplicaProcess,
  notice: string,
): Promise<{ outcome: string; ms: number }> {
  const start = clock.monotonicMs()
  let outcome: string | undefined
  void replica.write(notice).then((result) => (outcome = result))
  await clock.advanceUntil(() => outcome !== undefined, 10)
  return { outcome: outcome!, ms: clock.monotonicMs() - start }
}

const gauge = async ({ metrics }: ReplicaProcess, line: RegExp): Promise<string | undefined> =>
  line.exec(await metrics.metrics())?.[1]

describe('replicas that hear each other', () => {
  it('know of a write before it is answered', async () => {
    const { world: made, replicas } = await world(['a', 'b', 'c'])
    const [a, b, c] = replicas as [ReplicaProcess, ReplicaProcess, ReplicaProcess]
    const { outcome, ms } = await timed(made, a, 'x')
    assert.equal(outcome, 'answered')
    assert.ok(ms <= 20, `${ms} ms`)
    assert.deepEqual([b.known.has('x'), c.known.has('x')], [true, true])
    assert.equal(await gauge(a, /fleetsearch_peers\{state="heard"\} (\d+)/), '2')
    assert.equal(await gauge(a, /announcements_total\{outcome="heard"\} (\d+)/), '1')
    await made.end()
  })

  it('one alone waits for nobody, and is not one before it is registered', async () => {
    const made = new World(new FakeClock())
    const a = made.start('a')
    assert.equal(a.peers.covered(), false)
    assert.match(a.peers.refusal() ?? '', /not registered/)
    await made.clock.advance(100)
    assert.equal(a.peers.covered(), true)
    assert.deepEqual(await timed(made, a, 'x'), { outcome: 'answered', ms: 0 })
    await made.end()
  })

  it('a new one is told of the past minute before it answers anything', async () => {
    const { world: made, replicas } = await world(['a'])
    await replicas[0]!.write('x')
    await made.clock.advance(50_000)
    const b = made.start('b')
    await made.clock.advanceUntil(() => b.peers.covered(), 1)
    assert.ok(b.known.has('x'))
    await made.end()
  })

  it('one that leaves takes nobody’s coverage with it, and leaves no entry', async () => {
    const { world: made, replicas } = await world(['a', 'b'])
    const [a, b] = replicas as [ReplicaProcess, ReplicaProcess]
    b.terminate()
    for (let ms = 0; ms < 5_000; ms += 10) {
      await made.clock.advance(10)
      assert.ok(a.peers.covered(), `after ${ms} ms`)
    }
    await b.ended
    assert.equal(b.peers.covered(), false)
    assert.match(b.peers.refusal() ?? '', /shutting down/)
    assert.deepEqual(await timed(made, a, 'x'), { outcome: 'answered', ms: 0 })
    assert.doesNotMatch(made.directory.text, /dev\/b"/)
    await made.end()
  })
})

describe('a replica that has stopped', () => {
  it('keeps nobody waiting for what it cannot announce any more', async () => {
    const { world: made, replicas } = await world(['a', 'b'])
    const [a, b] = replicas as [ReplicaProcess, ReplicaProcess]
    b.freeze()
    const underWay = timed(made, a, 'x')
    a.terminate()
    const { outcome, ms } = await underWay
    assert.equal(outcome, 'unknown')
    assert.ok(ms < 1_000, `${ms} ms`)
    await a.ended
    await assert.rejects(a.peers.announce('y'), /shutting down/)
    await made.end()
  })
})

describe('a replica that is', () => {
  it('dead: a write waits for its grant to run out, reads go to the members until its entry has run out or it is back', async () => {
    const { world: made, replicas } = await world(['a', 'b'])
    const [a, b] = replicas as [ReplicaProcess, ReplicaProcess]
    b.kill()
    const { outcome, ms } = await timed(made, a, 'x')
    assert.equal(outcome, 'answered')
    assert.ok(ms > 1_000 && ms < 2_500, `${ms} ms`)
    assert.ok((await timed(made, a, 'y')).ms === 0, 'the next one waits for nobody')
    await made.clock.advance(1_000)
    assert.equal(a.peers.covered(), false)
    const again = made.start('b')
    await made.clock.advanceUntil(() => a.peers.covered(), 10)
    assert.ok(made.clock.monotonicMs() < 15_000)
    assert.ok(again.known.has('y'))
    again.kill()
    await made.clock.advance(2_500)
    assert.equal(a.peers.covered(), false)
    const from = made.clock.monotonicMs()
    await made.clock.advanceUntil(() => a.peers.covered(), 100)
    assert.ok(made.clock.monotonicMs() - from < 20_000)
    await made.end()
  })

  it('dead, under many writes at once: they share what is written of it to the control plane', async () => {
    const { world: made, replicas } = await world(['a', 'b'])
    const [a, b] = replicas as [ReplicaProcess, ReplicaProcess]
    b.kill()
    const before = Number(made.directory.version)
    const outcomes: string[] = []
    for (let n = 0; n < 100; n++) void a.write(`x${n}`).then((outcome) => outcomes.push(outcome))
    await made.clock.advanceUntil(() => outcomes.length === 100, 10)
    assert.deepEqual([...new Set(outcomes)], ['answered'])
    const renewals = Number(made.directory.version) - before
    assert.ok(renewals <= 5, `${renewals} renewals`) // two for all writes, and one every two seconds
    await made.end()
  })

  it('partitioned from the other, both alive: both read from the members, writes go on', async () => {
    const { world: made, replicas } = await world(['a', 'b'])
    const [a, b] = replicas as [ReplicaProcess, ReplicaProcess]
    made.network.cut('a', 'b')
    assert.equal((await timed(made, a, 'x')).outcome, 'answered')
    await made.clock.advance(60_000)
    assert.deepEqual([a.peers.covered(), b.peers.covered()], [false, false])
    assert.equal((await timed(made, b, 'y')).outcome, 'answered')
    assert.equal(await gauge(a, /fleetsearch_peers\{state="silent"\} (\d+)/), '1')
    made.network.mend('a', 'b')
    await made.clock.advanceUntil(() => a.peers.covered() && b.peers.covered(), 100)
    assert.ok(a.known.has('y'))
    await made.end()
  })

  it('cut off from the control plane: no longer sure who is there, it reads from the members and sends no write', async () => {
    const { world: made, replicas } = await world(['a', 'b'])
    const [a, b] = replicas as [ReplicaProcess, ReplicaProcess]
    for (const fault of ['hangs', 'refuses', 'unanswered'] as const) {
      b.controlPlane = fault
      await made.clock.advanceUntil(() => !b.peers.covered(), 100)
      assert.equal(await b.write('x'), 'refused')
      assert.equal(await gauge(b, /fleetsearch_peer_registered (\d)/), '0')
      await made.clock.advance(30_000)
      assert.ok(a.peers.covered(), 'its entry has run out, or it still tells what it does')
      b.controlPlane = 'well'
      await made.clock.advanceUntil(() => b.peers.covered() && b.peers.refusal() === undefined, 10)
      assert.equal((await timed(made, b, `after ${fault}`)).outcome, 'answered')
      assert.ok(a.known.has(`after ${fault}`))
    }
    await made.end()
  })

  it('slow: it is waited for no longer than its grant, and reads from the members meanwhile', async () => {
    const { world: made, replicas } = await world(['a', 'b'])
    const [a, b] = replicas as [ReplicaProcess, ReplicaProcess]
    b.freeze()
    const { outcome, ms } = await timed(made, a, 'x')
    assert.equal(outcome, 'answered')
    assert.ok(ms < 2_500, `${ms} ms`)
    assert.equal(b.peers.covered(), false, 'by its clock, whatever has not been delivered to it')
    b.thaw()
    assert.equal(b.peers.covered(), false)
    await made.clock.advanceUntil(() => b.peers.covered(), 10)
    assert.ok(b.known.has('x'))
    await made.end()
  })

  const lies: Readonly<Record<string, (message: PeerMessage) => PeerMessage | undefined>> = {
    'never says that it has heard': (message) => (message.type === 'ack' ? undefined : message),
    'says it of something else': (message) => (message.type === 'ack' ? { ...message, n: message.n + 1_000 } : message),
    'takes the other for somebody else': (message) =>
      message.type === 'hello' ? { ...message, incarnation: 'nobody' } : message,
    'answers questions that were not asked': (message) =>
      message.type === 'pong' ? { ...message, n: message.n + 1 } : message,
    'sends what only the other side sends': (message) =>
      message.type === 'ping' ? { type: 'pong', n: message.n } : message,
    'tells the same again and again': (message) =>
      message.type === 'notice' ? { ...message, notice: 'the same' } : message,
  }
  for (const [lie, tamper] of Object.entries(lies)) {
    it(`lying (${lie}): it is wrong itself at worst, and holds up a write for 3 s at most`, async () => {
      const made = new World(new FakeClock())
      const a = made.start('a')
      await made.clock.advance(1_000)
      const b = made.start('b', { tamper })
      await made.clock.advance(5_000)
      if (a.peers.refusal() !== undefined) {
        // It has never named us: whether it answers reads nobody can tell.
        assert.equal(await a.write('x'), 'refused')
      } else {
        for (let i = 0; i < 5; i++) {
          const { outcome, ms } = await timed(made, a, `x${i}`)
          assert.equal(outcome, 'answered')
          assert.ok(ms < 3_000, `${ms} ms`)
          assert.ok(!b.peers.covered() || b.known.has(`x${i}`))
        }
      }
      await made.end()
    })
  }
})

peersByChance(Array.from({ length: 12 }, (_, i) => i + 1))

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeClock, seededRandom } from '../support/fake-clock.ts'
import { Candidate, LeaseServer, type Fault } from './lease-world.ts'

class World {
  readonly clock = new FakeClock()
  readonly server = new LeaseServer()
  readonly candidates: Candidate[] = []

  candidate(name: string, options?: ConstructorParameters<typeof Candidate>[3]): Candidate {
    const candidate = new Candidate(name, this.clock, this.server, options).start()
    this.candidates.push(candidate)
    return candidate
  }

  /** Looks at all of them at each step: never do two lead. Returns after how long the condition held. */
  async until(condition: () => boolean, limitMs = 60_000): Promise<number> {
    const start = this.clock.monotonicMs()
    while (!condition()) {
      const passed = this.clock.monotonicMs() - start
      assert.ok(
        passed < limitMs,
        `not within ${limitMs} ms; leader ${String(this.server.stored?.spec['holderIdentity'])}`,
      )
      await this.advance(100)
    }
    return this.clock.monotonicMs() - start
  }

  async advance(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await this.clock.advance(stepMs)
      const leading = this.candidates.filter((each) => !each.frozen && each.leads).map(({ name }) => name)
      assert.ok(leading.length <= 1, `both lead: ${leading.join(', ')}`)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.candidates) {
      each.thaw()
      await each.stop()
    }
    assert.equal(this.clock.pending, 0)
  }
}

describe('the Lease', () => {
  it('is created as Kubernetes’ own components write it, and renewed every 2 s', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    assert.deepEqual(world.server.stored?.spec, {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-11-30T00:00:00.000001Z',
      renewTime: '2026-11-30T00:00:00.000001Z',
      leaseTransitions: 0,
    })
    await world.advance(10_000)
    assert.deepEqual(world.server.requests, [
      'GET 404',
      'POST 201',
      'PUT 200',
      'PUT 200',
      'PUT 200',
      'PUT 200',
      'PUT 200',
    ])
    const { acquireTime, renewTime } = world.server.stored.spec
    assert.deepEqual([acquireTime, renewTime], ['2026-11-30T00:00:00.000001Z', '2026-11-30T00:00:10.000006Z'])
    assert.match(await a.metrics.metrics(), /leader_election_master_status\{name="fleetsearch"\} 1/)
  })

  it('keeps what others wrote into the object', async () => {
    await using world = new World()
    world.server.edit({ holderIdentity: '', preferredHolder: 'x' })
    world.server.stored!.metadata['labels'] = { team: 'a' }
    const a = world.candidate('a')
    await world.until(() => a.leads)
    assert.deepEqual(world.server.stored?.metadata['labels'], { team: 'a' })
    assert.equal(world.server.stored?.spec['preferredHolder'], 'x')
  })

  it('is let go at the end, so that the next leads within one period', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    const b = world.candidate('b')
    await world.advance(20_000)
    assert.ok(!b.leads)
    await a.stop()
    assert.deepEqual(a.told, [true, false])
    assert.ok((await world.until(() => b.leads)) <= 4_400)
    assert.equal(world.server.stored?.spec['leaseTransitions'], 1)
    assert.match(await a.metrics.metrics(), /leader_election_master_status\{name="fleetsearch"\} 0/)
  })

  it('of a leader that dies is taken 15 s after its last renewal was seen, not earlier', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    const b = world.candidate('b')
    await world.advance(20_000)
    a.freeze()
    const took = await world.until(() => b.leads)
    assert.ok(took >= 11_000 && took <= 20_000, String(took))
  })

  it('is not taken from a silent leader by one who has only just come', async () => {
    await using world = new World()
    world.server.edit({ holderIdentity: 'gone', leaseDurationSeconds: 15, renewTime: '1999-01-01T00:00:00.000000Z' })
    const b = world.candidate('b')
    const took = await world.until(() => b.leads)
    assert.ok(took >= 15_000 && took <= 20_000, `${took}: what another’s wall clock wrote says nothing`)
  })

  it('whose duration its holder set longer is waited for as long', async () => {
    await using world = new World()
    world.server.edit({ holderIdentity: 'slow', leaseDurationSeconds: 60 })
    const b = world.candidate('b')
    assert.ok((await world.until(() => b.leads, 90_000)) >= 60_000)
  })

  it('that was deleted is made anew by its holder', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    world.server.stored = undefined
    await world.advance(4_000)
    assert.equal(world.server.stored!.spec['holderIdentity'], 'a')
    assert.deepEqual(a.told, [true])
  })

  it('that somebody else wrote himself into is given up at once', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    world.server.edit({ holderIdentity: 'operator' })
    assert.ok((await world.until(() => !a.leads)) <= 2_100)
    assert.deepEqual(a.told, [true, false])
    assert.deepEqual(a.warnings, ['the lease is another’s; no longer the leader'])
  })
})

describe('an API server that misbehaves', () => {
  const one: Fault[] = ['lost', 'unanswered', 'broken', 'slow', 'garbage', 409, 429, 500, 503, 403]
  for (const fault of one) {
    it(`${fault}: once, costs neither the leader its lease nor a candidate its turn`, async () => {
      await using world = new World()
      const a = world.candidate('a')
      a.faults.push(fault, fault)
      await world.until(() => a.leads)
      await world.advance(6_000)
      a.faults.push(fault)
      await world.advance(30_000)
      assert.deepEqual(a.told, [true])
      assert.equal(world.server.stored?.spec['holderIdentity'], 'a')
      assert.equal(world.server.stored?.spec['leaseTransitions'], 0)
      if (fault === 409) assert.deepEqual(a.warnings, [], 'a race that was lost is no news')
    })

    it(`${fault}: for good, ends leadership before another may begin it`, async () => {
      await using world = new World()
      const a = world.candidate('a')
      await world.until(() => a.leads)
      const b = world.candidate('b')
      await world.advance(10_000)
      a.always = fault
      // A write that is carried out and not answered keeps the lease, and nobody is harmed by that.
      const keeps = fault === 'unanswered' || fault === 'broken' || fault === 'garbage'
      if (fault === 'slow') {
        await world.advance(60_000)
        return assert.deepEqual(a.told, [true])
      }
      const lost = await world.until(() => !a.leads)
      assert.ok(lost <= 10_000, String(lost))
      if (!keeps) await world.until(() => b.leads)
      a.always = undefined
      await world.until(() => a.leads || b.leads)
    })
  }

  it('whose lost answer made a candidate the leader tells it so at the next try', async () => {
    await using world = new World()
    const a = world.candidate('a')
    a.faults.push('unanswered')
    const took = await world.until(() => a.leads)
    assert.ok(took <= 10_000, String(took))
    assert.deepEqual(world.server.requests, ['GET 404', 'POST 201', 'GET 200', 'PUT 200'])
  })

  it('is told of once, and again when the reason is another', async () => {
    await using world = new World()
    const a = world.candidate('a')
    a.always = 403
    await world.advance(20_000)
    a.always = 503
    await world.advance(20_000)
    assert.equal(a.warnings.length, 2)
    a.always = undefined
    await world.until(() => a.leads)
    assert.equal(a.warnings.length, 2)
  })

  it('that is down at the end does not hold it up', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    a.always = 'lost'
    await a.stop()
    assert.ok(!a.leads)
  })

  it('counts renewals that had to read first', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    a.faults.push(409)
    await world.advance(5_000)
    assert.match(await a.metrics.metrics(), /leader_election_slowpath_total\{name="fleetsearch"\} 1/)
  })
})

describe('clocks', () => {
  it('of the wall may jump or stand still: nobody’s lease is longer or shorter for it', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    const b = world.candidate('b')
    for (const jumpMs of [3_600_000, -7_200_000, 86_400_000_000]) {
      a.wallOffsetMs += jumpMs
      b.wallOffsetMs -= jumpMs
      await world.advance(20_000)
    }
    a.wallStandsAtMs = a.nowMs()
    await world.advance(60_000)
    assert.deepEqual(a.told, [true])
    assert.deepEqual(b.told, [])
  })

  it('that run a quarter faster at the backup do not make two leaders', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    const b = world.candidate('b', { rate: 1.25 })
    await world.advance(10_000)
    a.always = 'lost'
    await world.until(() => b.leads)
  })

  it('count from when a renewal was sent: a slow answer does not lengthen the lease', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    const b = world.candidate('b', { rate: 1.25 })
    await world.advance(10_000)
    a.faults.push('slow')
    await world.until(() => a.faults.length === 0)
    a.always = 'lost'
    await world.until(() => b.leads)
  })

  it('are asked by a leader that was stopped: it is none when it goes on, before any timer fires', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    const b = world.candidate('b')
    await world.advance(5_000)
    a.freeze()
    await world.until(() => b.leads)
    assert.ok(!a.leads, 'before it is let go on')
    a.thaw()
    await world.advance(30_000)
    assert.deepEqual([a.leads, b.leads], [false, true])
  })

  it('a backup that was stopped takes no lease that was renewed meanwhile', async () => {
    await using world = new World()
    const a = world.candidate('a')
    await world.until(() => a.leads)
    const b = world.candidate('b')
    for (let round = 0; round < 10; round++) {
      await world.advance(3_700)
      b.freeze()
      await world.advance(40_000)
      b.thaw()
    }
    assert.deepEqual(b.told, [])
    assert.deepEqual(a.told, [true])
  })
})

it('three candidates, random faults, stops and clock rates: never two leaders, and one when all is well again', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = seededRandom(seed)
    await using world = new World()
    for (const name of ['a', 'b', 'c']) world.candidate(name, { random, rate: 0.9 + random() / 5 })
    const faults: (Fault | undefined)[] = [
      undefined,
      undefined,
      'lost',
      'unanswered',
      'broken',
      'garbage',
      409,
      500,
      503,
    ]
    for (let step = 0; step < 120; step++) {
      const candidate = world.candidates[Math.floor(random() * 3)]!
      const choice = random()
      if (choice < 0.5) candidate.always = faults[Math.floor(random() * faults.length)]
      else if (choice < 0.7) candidate.freeze()
      else candidate.thaw()
      if (random() < 0.1) candidate.wallOffsetMs += (random() - 0.5) * 1e7
      await world.advance(Math.floor(random() * 6_000), 500)
    }
    for (const candidate of world.candidates) {
      candidate.always = undefined
      candidate.thaw()
    }
    await world.until(() => world.candidates.some(({ leads }) => leads))
    await world.advance(30_000)
  }
})

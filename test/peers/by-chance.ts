/** Replicas that are cut off, stand still, stop, die and come back by chance, while all of them are written through. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeClock, seededRandom } from '../support/fake-clock.ts'
import { World, type ReplicaProcess } from './peer-world.ts'

const NAMES = ['a', 'b', 'c']
const STEPS = 900

export function peersByChance(seeds: readonly number[]): void {
  describe('whatever happens to replicas', () => {
    for (const seed of seeds) {
      it(`a read that the cache answers knows of every write that was answered before (seed ${seed})`, async (t) => {
        const fleet = new Fleet(seed)
        await fleet.run()
        const { counts } = fleet
        t.diagnostic(JSON.stringify(counts))
        assert.ok(counts.answered > 20 && counts.covered > 100, JSON.stringify(counts))
      })
    }
  })
}

class Fleet {
  readonly counts = { answered: 0, refused: 0, unknown: 0, covered: 0, uncovered: 0 }
  readonly #random: () => number
  readonly #world = new World(new FakeClock())
  readonly #current: Map<string, ReplicaProcess>
  readonly #answered: { readonly notice: string; readonly atMs: number }[] = []
  #writes = 0

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    this.#current = new Map(NAMES.map((name) => [name, this.#start(name)]))
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      await this.#step()
      this.#look()
      await this.#world.clock.advance(Math.floor(this.#random() * 200))
      this.#look()
    }
    await this.#world.end()
  }

  #start(name: string): ReplicaProcess {
    return this.#world.start(name, { rate: 0.96 + this.#random() * 0.08 })
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!
  }

  async #step(): Promise<void> {
    const { network } = this.#world
    const name = this.#pick(NAMES)
    const replica = this.#current.get(name)!
    const other = this.#pick(NAMES.filter((each) => each !== name))
    const chance = this.#random()
    if (chance < 0.03) network.cut(name, other)
    else if (chance < 0.09) network.mend(name, other)
    else if (chance < 0.1) network.gone.add(`${name}>${other}`)
    else if (chance < 0.12) replica.controlPlane = this.#pick(['hangs', 'refuses', 'unanswered'])
    else if (chance < 0.18) replica.controlPlane = 'well'
    else if (chance < 0.19) replica.freeze()
    else if (chance < 0.24) replica.thaw()
    else if (chance < 0.25 || (chance < 0.255 && replica.frozen)) this.#replace(replica)
    else if (chance < 0.255) {
      replica.terminate()
      await this.#world.clock.advance(2_500)
      this.#replace(replica)
    } else if (chance < 0.6 && !replica.frozen) this.#write(replica)
  }

  #replace(replica: ReplicaProcess): void {
    replica.kill()
    this.#current.set(replica.name, this.#start(replica.name))
  }

  #write(replica: ReplicaProcess): void {
    const notice = `w${++this.#writes}`
    void replica.write(notice).then((outcome) => {
      if (replica.dead) return // nobody hears what it would have said
      this.counts[outcome]++
      if (outcome === 'answered') this.#answered.push({ notice, atMs: this.#world.clock.monotonicMs() })
    })
  }

  #look(): void {
    const nowMs = this.#world.clock.monotonicMs()
    for (const replica of this.#current.values()) {
      // One that stands still is looked at in the moment in which it goes on.
      if (replica.frozen || replica.dead) continue
      const isCovered = replica.peers.covered()
      this.counts[isCovered ? 'covered' : 'uncovered']++
      if (!isCovered) continue
      // What was written before it began is in what it has listed since.
      const missed = this.#answered.find(
        ({ notice, atMs }) => nowMs - atMs < 55_000 && atMs > replica.bornMs && !replica.known.has(notice),
      )
      if (missed !== undefined) assert.fail(`${replica.name} misses ${missed.notice} at ${nowMs}`)
    }
  }
}

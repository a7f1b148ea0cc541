/** Chance that repeats itself: the same seed gives the same fleet. */
import type { Random } from '../../util/clock.ts'

/** The characters of generated names in Kubernetes: no vowels, no look-alikes. */
const NAME_CHARACTERS = 'bcdfghjklmnpqrstvwxz2456789'

export class SeededRandom {
  #state: number

  /** Seeds that differ by a word give unrelated sequences. */
  constructor(seed: number, word = '') {
    this.#state = hash(`${seed}/${word}`)
  }

  /** In [0, 1). The mulberry32 generator: 32 bits of state, good enough to look at. */
  readonly next: Random = () => {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Throws where there is nothing to pick from. */
  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.int(0, choices.length - 1)]
    if (choice === undefined) throw new Error('nothing to pick from')
    return choice
  }

  /** `x7k2p`: what a controller appends to a name. */
  suffix(length = 5): string {
    return this.#characters(NAME_CHARACTERS, length)
  }

  hex(length: number): string {
    return this.#characters('0123456789abcdef', length)
  }

  uuid(): string {
    const variant = this.pick(['8', '9', 'a', 'b'])
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-${variant}${this.hex(3)}-${this.hex(12)}`
  }

  #characters(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.int(0, alphabet.length - 1)]).join('')
  }
}

/** FNV-1a, 32 bits. */
export function hash(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}

/** A hash in the characters of generated names, as `pod-template-hash` has it. */
export function nameHash(text: string, length = 10): string {
  const random = new SeededRandom(hash(text), 'name')
  return random.suffix(length)
}

/** 64 hexadecimal digits that belong to a text, as the digest of an image. */
export function digestOf(text: string): string {
  return new SeededRandom(hash(text), 'digest').hex(64)
}

/**
 * 64 bits that say of a set of labels what cannot be in it: one bit for each key, two for each pair. A selector's answer
 * follows from them alone for most sets; where bits collide or a pair seems to be there, it is `maybe`.
 */
import type { LabelSelector, Requirement } from '../kube/label-selector.ts'

/** Two words of 32 bits. */
export interface Signature {
  low: number
  high: number
}

export type Verdict = 'no' | 'maybe' | 'yes'

export function addLabel(signature: Signature, key: string, value: string): void {
  const keyHash = hash(FNV_OFFSET, key)
  setBit(signature, keyHash)
  addPair(signature, keyHash, value)
}

/** What one requirement's labels would set. */
interface Mask {
  readonly requirement: Requirement
  readonly key: Signature
  readonly pairs: readonly Signature[]
}

/** A selector made ready to be held against many signatures. */
export class SignatureFilter {
  readonly #masks: readonly Mask[]

  constructor(selector: LabelSelector) {
    this.#masks = selector.requirements.map((requirement) => {
      const keyHash = hash(FNV_OFFSET, requirement.key)
      const key = { low: 0, high: 0 }
      setBit(key, keyHash)
      const pairs = requirement.values.map((value) => {
        const pair = { low: 0, high: 0 }
        addPair(pair, keyHash, value)
        return pair
      })
      return { requirement, key, pairs }
    })
  }

  verdict(low: number, high: number): Verdict {
    let result: Verdict = 'yes'
    for (const mask of this.#masks) {
      const verdict = verdictOf(mask, low, high)
      if (verdict === 'no') return 'no'
      if (verdict === 'maybe') result = 'maybe'
    }
    return result
  }
}

function verdictOf({ requirement, key, pairs }: Mask, low: number, high: number): Verdict {
  const hasKey = covers(low, high, key)
  switch (requirement.operator) {
    case 'in':
      return hasKey && anyCovered(low, high, pairs) ? 'maybe' : 'no'
    case 'notin':
      return hasKey && anyCovered(low, high, pairs) ? 'maybe' : 'yes'
    case 'exists':
    case 'gt':
    case 'lt':
      return hasKey ? 'maybe' : 'no'
    case '!':
      return hasKey ? 'maybe' : 'yes'
  }
}

function anyCovered(low: number, high: number, masks: readonly Signature[]): boolean {
  for (const mask of masks) if (covers(low, high, mask)) return true
  return false
}

function covers(low: number, high: number, mask: Signature): boolean {
  return (low & mask.low) === mask.low && (high & mask.high) === mask.high
}

function addPair(signature: Signature, keyHash: number, value: string): void {
  const pairHash = hash(keyHash, value)
  setBit(signature, pairHash)
  setBit(signature, pairHash >>> 6)
}

/** Of the hash's last six bits, the last picks the word. */
function setBit(signature: Signature, from: number): void {
  const bit = 1 << ((from >>> 1) & 31)
  if ((from & 1) === 0) signature.low |= bit
  else signature.high |= bit
}

const FNV_OFFSET = 0x811c9dc5

/** FNV-1a over UTF-16 units with a final mix, as its last bits alone are poor. */
function hash(seed: number, text: string): number {
  let h = seed ^ text.length
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h ^= h >>> 15
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  return h >>> 0
}

/** Names made of a prefix, as `metadata.generateName` asks for. Source: apiserver pkg/storage/names. */
import type { Random } from '../util/clock.ts'

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789' // no vowels and no look-alikes, so that no words come out
const SUFFIX = 5
const MAX_PREFIX = 63 - SUFFIX // so that the name still fits a label's value

export function generateName(prefix: string, random: Random): string {
  let name = prefix.slice(0, MAX_PREFIX)
  for (let i = 0; i < SUFFIX; i++) name += ALPHABET.charAt(Math.floor(random() * ALPHABET.length))
  return name
}

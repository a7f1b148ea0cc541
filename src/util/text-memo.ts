/**
 * What was made of texts that come again and again (names of nodes, images, labels, quantities), in a table where a text
 * displaces the one in its slot. A `Map` that is emptied when full makes random texts expensive: it grows anew each time.
 */

/** Longer texts hardly come again, and would be most of the memory. */
const MAX_CHARS = 256

/** 16 B each, and what is kept. A table grows only while texts do come again, so that random ones stay at the least. */
const MIN_SLOTS = 256
const MAX_SLOTS = 4_096
/** Grows where it knew one text for so many that it did not. */
const MISSES_PER_HIT = 64

/** Looked at by the hash: all of most names, the ends of the longer ones, which is where neighbours differ. */
const HEAD_CHARS = 24
const TAIL_CHARS = 16

let slotsInUse = 0
/** Tables that nobody has any more. */
const gone = new FinalizationRegistry((table: { readonly slots: number }) => (slotsInUse -= table.slots))

/** Of all tables of this thread. */
export function memoSlots(): number {
  return slotsInUse
}

/** `compute` must depend on its text alone. */
export function textMemo<Value>(compute: (text: string) => Value): (text: string) => Value {
  let slots = MIN_SLOTS
  const table = { slots }
  slotsInUse += slots
  let keys = emptySlots<string>(slots)
  let values = emptySlots<Value>(slots)
  let hits = 0
  let misses = 0
  const grow = (): void => {
    if (slots < MAX_SLOTS && hits * MISSES_PER_HIT >= misses) {
      slotsInUse += slots
      slots *= 2
      table.slots = slots
      keys = emptySlots(slots)
      values = emptySlots(slots)
    }
    hits = 0
    misses = 0
  }
  const remembered = (text: string): Value => {
    if (text.length > MAX_CHARS) return compute(text)
    const slot = hashOf(text) & (slots - 1)
    if (keys[slot] === text) {
      hits++
      return values[slot] as Value
    }
    const value = compute(text)
    keys[slot] = text
    values[slot] = value
    if (++misses > 2 * slots) grow()
    return value
  }
  gone.register(remembered, table)
  return remembered
}

function emptySlots<Value>(count: number): (Value | undefined)[] {
  return new Array<Value | undefined>(count).fill(undefined)
}

/** 32 bits. */
function hashOf(text: string): number {
  const { length } = text
  const head = length < HEAD_CHARS ? length : HEAD_CHARS
  let hash = length
  for (let i = 0; i < head; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  for (let i = Math.max(head, length - TAIL_CHARS); i < length; i++)
    hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash ^ (hash >>> 15)
}

/** Sets of rows: a byte for each, 1 where it is in the set. Joined four at a time. */

export type Mask = Uint8Array

/** Room for whole groups of four; `length` rows of it count. */
export function emptyMask(length: number): Mask {
  return new Uint8Array((length + 3) & ~3)
}

/** Into the first. */
export function intersect(mask: Mask, other: Mask): Mask {
  const [into, from] = [wide(mask), wide(other)]
  for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) & (from[i] as number)
  return mask
}

/** Into the first. */
export function unite(mask: Mask, other: Mask): Mask {
  const [into, from] = [wide(mask), wide(other)]
  for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) | (from[i] as number)
  return mask
}

/** Itself, turned round. */
export function invert(mask: Mask): Mask {
  const into = wide(mask)
  for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) ^ 0x01010101
  return mask
}

export function isEmpty(mask: Mask): boolean {
  return wide(mask).every((group) => group === 0)
}

/** The rows of the set below `length`, ascending. */
export function rowsOf(mask: Mask, length: number): Uint32Array {
  let count = 0
  for (let row = 0; row < length; row++) count += mask[row] as number
  const rows = new Uint32Array(count)
  let next = 0
  for (let row = 0; next < count; row++) if (mask[row] === 1) rows[next++] = row
  return rows
}

function wide(mask: Mask): Uint32Array {
  return new Uint32Array(mask.buffer, mask.byteOffset, mask.length >>> 2)
}

import fc from 'fast-check'

/** Cuts bytes into chunks at arbitrary places, also inside a character; some chunks may be empty. */
export function cutInto(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

export const cuts: fc.Arbitrary<number[]> = fc.array(fc.nat(), { maxLength: 12 })

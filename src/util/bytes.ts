/** Orders byte strings as etcd and a kube-apiserver order keys: by unsigned bytes, the shorter first on a tie. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b)
}

/** Orders two strings by their UTF-8 bytes (JavaScript's own `<` orders by UTF-16 units, which differs above U+FFFF). */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates (U+10000 and above) sort after every other unit in UTF-8, yet U+E000–U+FFFF is above them in UTF-16.
    const xSurrogate = x >= 0xd800 && x <= 0xdfff
    const ySurrogate = y >= 0xd800 && y <= 0xdfff
    if (xSurrogate !== ySurrogate) return xSurrogate ? 1 : -1
    return x - y
  }
  return a.length - b.length
}

/** All of them as one: without a copy where they stand behind each other in the same memory. */
export function joinedBytes(parts: readonly Uint8Array[]): Buffer {
  const [first] = parts
  if (first === undefined) return Buffer.alloc(0)
  let end = first.byteOffset
  for (const { buffer, byteOffset, length } of parts) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(parts)
    end += length
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset)
}

import { BACKSLASH } from './json-bytes.ts'
import { stringText } from './json-bytes.ts'

/** Recognises a few known keys among the bytes of an object, escapes in them (`na\u006de`) included. */
export class KeyMatcher<Key extends string> {
  readonly #known: readonly { readonly key: Key; readonly bytes: Buffer }[]

  constructor(keys: readonly Key[]) {
    this.#known = keys.map((key) => ({ key, bytes: Buffer.from(key, 'utf8') }))
  }

  /** `start` and `end` exclude the quotes. */
  match(bytes: Buffer, start: number, end: number): Key | undefined {
    for (const known of this.#known) {
      if (known.bytes.length === end - start && sameBytes(bytes, start, known.bytes)) return known.key
    }
    if (!hasBackslash(bytes, start, end)) return undefined
    const text = stringText(bytes, start, end)
    return this.#known.find(({ key }) => key === text)?.key
  }
}

function sameBytes(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let i = 0; i < expected.length; i++) {
    if (bytes[at + i] !== expected[i]) return false
  }
  return true
}

function hasBackslash(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    if (bytes[i] === BACKSLASH) return true
  }
  return false
}

/** Looks a label up in the JSON text of a set of labels, without decoding the others. */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const CLOSE_BRACE = 0x7d

/**
 * The value of `key` in `bytes[start, end)`, which is a well-formed object of strings or nothing at all; undefined where it
 * is not there. A text with blanks, escapes or nulls, as no API server writes it, is parsed.
 */
export function labelValue(bytes: Buffer, start: number, end: number, key: string): string | undefined {
  if (start === end) return undefined
  let i = start + 1
  let value: string | undefined
  while (bytes[i] === QUOTE) {
    const keyEnd = stringEnd(bytes, i + 1)
    if (keyEnd === NOT_PLAIN || bytes[keyEnd + 1] !== COLON || bytes[keyEnd + 2] !== QUOTE) break
    const valueEnd = stringEnd(bytes, keyEnd + 3)
    if (valueEnd === NOT_PLAIN) break
    // Of two equal keys the last one counts.
    if (isText(bytes, i + 1, keyEnd, key)) value = bytes.toString('utf8', keyEnd + 3, valueEnd)
    i = valueEnd + 1
    if (bytes[i] === COMMA) i += 1
  }
  if (bytes[i] === CLOSE_BRACE && i === end - 1) return value
  const labels = JSON.parse(bytes.toString('utf8', start, end)) as Record<string, string | null>
  return Object.hasOwn(labels, key) ? (labels[key] ?? '') : undefined
}

const NOT_PLAIN = -1

/** Where the string that begins at `i` ends; `NOT_PLAIN` where it has escapes. */
function stringEnd(bytes: Buffer, i: number): number {
  for (;;) {
    const byte = bytes[i]
    if (byte === QUOTE) return i
    if (byte === BACKSLASH || byte === undefined) return NOT_PLAIN
    i += 1
  }
}

/** Keys of selectors are ASCII, so bytes are characters; another key is equal to none in plain bytes. */
function isText(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}

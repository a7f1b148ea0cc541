/** Text as Go prints it, where clients see it: in the messages of a kube-apiserver and in its JSON. */

const NAMED: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
}

// Everything that fmt's %q does not print as it is: controls, formats, separators but the plain space, lone surrogates.
const QUOTED = /["\\]|[\p{C}\p{Z}]/gu

/** A string in double quotes, as `fmt.Sprintf("%q", text)`. */
export function goQuote(text: string): string {
  return `"${text.replace(QUOTED, quoteRune)}"`
}

function quoteRune(rune: string): string {
  if (rune === ' ') return rune
  const named = NAMED[rune]
  if (named !== undefined) return named
  const code = rune.codePointAt(0) ?? 0
  if (code < 0x80) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
}

/** A string as Go's encoding/json writes it, which also escapes `<`, `>`, `&` and the two line separators. */
export function goJsonString(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${hex(c.charCodeAt(0), 4)}`)
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}

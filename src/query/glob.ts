/** Patterns of `*` (any run) and `?` (one character), in time bounded by the product of both lengths whatever they are. */

/** Both sides must be folded alike. */
export function globMatcher(pattern: string): (text: string) => boolean {
  const parts = Array.from(pattern)
  return (text) => matches(parts, text)
}

/** Goes on greedily; on a mismatch the last `*` takes one character more. Earlier ones never need to be tried again. */
function matches(parts: readonly string[], text: string): boolean {
  let part = 0
  let at = 0
  let star = -1
  let starAt = 0
  while (at < text.length) {
    const c = characterAt(text, at)
    if (parts[part] === '*') {
      star = part++
      starAt = at
    } else if (parts[part] === '?' || parts[part] === c) {
      part++
      at += c.length
    } else if (star >= 0) {
      part = star + 1
      starAt += characterAt(text, starAt).length
      at = starAt
    } else {
      return false
    }
  }
  while (parts[part] === '*') part++
  return part === parts.length
}

function characterAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 0)
}

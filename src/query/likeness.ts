/** Whether a value is like what was typed: for suggestions and typing errors. Both sides folded. */
import type { Likeness } from './search-request.ts'
import { foldCase, isSeparator } from './tokens.ts'

/** How unlike the value is, 0 the least; undefined where it is not like it. */
export function likenessOf(like: Likeness): (value: string) => number | undefined {
  const text = foldCase(like.text)
  if (like.type === 'near') return (value) => near(text, value, like.edits)
  return (value) => (beginsSomewhere(value, text) ? 0 : undefined)
}

function beginsSomewhere(value: string, text: string): boolean {
  for (let at = value.indexOf(text); at >= 0; at = value.indexOf(text, at + 1)) {
    if (at === 0 || isSeparator(value.charAt(at - 1))) return true
  }
  return false
}

/** Optimal string alignment; undefined beyond so many edits or where the first characters differ. */
function near(text: string, value: string, edits: number): number | undefined {
  if (Math.abs(text.length - value.length) > edits || text.charCodeAt(0) !== value.charCodeAt(0)) return undefined
  let before: number[] = []
  let above = Array.from({ length: value.length + 1 }, (_, k) => k)
  for (let i = 1; i <= text.length; i++) {
    const row = [i]
    let least = i
    for (let k = 1; k <= value.length; k++) {
      const same = text.charCodeAt(i - 1) === value.charCodeAt(k - 1)
      let cost = Math.min((above[k] ?? 0) + 1, (row[k - 1] ?? 0) + 1, (above[k - 1] ?? 0) + (same ? 0 : 1))
      const swapped =
        i > 1 && k > 1 && text[i - 1] === value[k - 2] && text[i - 2] === value[k - 1] ? (before[k - 2] ?? 0) + 1 : cost
      cost = Math.min(cost, swapped)
      row.push(cost)
      least = Math.min(least, cost)
    }
    if (least > edits) return undefined
    before = above
    above = row
  }
  const distance = above[value.length] ?? edits + 1
  return distance <= edits ? distance : undefined
}

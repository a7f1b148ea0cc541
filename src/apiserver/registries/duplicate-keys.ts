/** Keys that stand twice in one object of a JSON text, which `JSON.parse` passes over: the last one counts. */

const MAX_DEPTH = 10_000 // as Go's decoder

export class TooDeepError extends Error {
  constructor() {
    super(`exceeded max depth of ${MAX_DEPTH}`)
  }
}

interface Level {
  /** Undefined: a list. */
  readonly keys: Set<string> | undefined
  /** The key or index that is being read. */
  at: string
}

// Strings, or one of the marks that structure is made of. The text is valid JSON: nothing else matters.
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

/** Their paths (`spec.resourceSelectors[0].kind`), in the order of the text, which must be valid JSON. Throws `TooDeepError`. */
export function duplicateKeys(json: string): string[] {
  const duplicates: string[] = []
  const levels: Level[] = []
  let key: string | undefined // a string that is one if a colon follows
  for (const [token] of json.matchAll(TOKENS)) {
    const level = levels.at(-1)
    switch (token) {
      case '{':
      case '[':
        if (levels.length >= MAX_DEPTH) throw new TooDeepError()
        levels.push({ keys: token === '{' ? new Set() : undefined, at: '0' })
        break
      case '}':
      case ']':
        levels.pop()
        break
      case ',':
        if (level?.keys === undefined && level !== undefined) level.at = String(Number(level.at) + 1)
        break
      case ':':
        if (level?.keys === undefined || key === undefined) break
        level.at = key
        if (level.keys.has(key)) duplicates.push(pathOf(levels))
        level.keys.add(key)
        break
      default:
        key = level?.keys === undefined ? undefined : (JSON.parse(token) as string)
    }
  }
  return duplicates
}

function pathOf(levels: readonly Level[]): string {
  return levels.map(({ keys, at }, i) => (keys === undefined ? `[${at}]` : i === 0 ? at : `.${at}`)).join('')
}

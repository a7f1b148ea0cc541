/** Words of conditions, which seldom change: a status is written where they do. */

const SHOWN = 5 // of a list: a status is read by people
const MESSAGE_CHARS = 1_000 // names may be long

const LAG_STEPS: readonly (readonly [ms: number, text: string])[] = [
  [24 * 3_600_000, 'a day'],
  [6 * 3_600_000, '6 hours'],
  [3_600_000, 'an hour'],
  [15 * 60_000, '15 minutes'],
  [5 * 60_000, '5 minutes'],
  [60_000, 'a minute'],
]

/** `5 minutes`: how long it is at least; undefined below a minute. */
export function lagStep(lagMs: number): string | undefined {
  return LAG_STEPS.find(([ms]) => lagMs >= ms)?.[1]
}

/** Two digits are enough for a person, and change seldom. */
export function objectsText(objects: number): string {
  if (objects < 100) return `${objects} ${objects === 1 ? 'object' : 'objects'}`
  const unit = 10 ** (Math.floor(Math.log10(objects)) - 1)
  return `about ${Math.floor(objects / unit) * unit} objects`
}

/** The first of them, and how many more there are. */
export function bounded(texts: readonly string[], separator: string): string {
  const shown = texts.slice(0, SHOWN)
  const more = texts.length - shown.length
  const text = [...shown, ...(more === 0 ? [] : [`and ${more} more`])].join(separator)
  return text.length <= MESSAGE_CHARS ? text : `${text.slice(0, MESSAGE_CHARS - 1)}…`
}

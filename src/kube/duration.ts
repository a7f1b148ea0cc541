/** Durations as Kubernetes prints and Go reads them. Sources: apimachinery pkg/util/duration, Go's time.ParseDuration. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** An age as kubectl shows it: `3m20s`, `5h`, `2y45d`. Milliseconds; a clock that is up to 2 s behind counts as now. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 60 * 2) return `${seconds}s`
  const minutes = Math.trunc(ms / MINUTE)
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's')
  if (minutes < 60 * 3) return `${minutes}m`
  const hours = Math.trunc(ms / HOUR)
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (hours < 24 * 8) return two(days, 'd', hours % 24, 'h')
  if (hours < 24 * 365 * 2) return `${days}d`
  const years = Math.trunc(hours / 24 / 365)
  if (hours < 24 * 365 * 8) return two(years, 'y', days % 365, 'd')
  return `${years}y`
}

function two(major: number, majorUnit: string, minor: number, minorUnit: string): string {
  return minor === 0 ? `${major}${majorUnit}` : `${major}${majorUnit}${minor}${minorUnit}`
}

const UNIT_NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n, // U+00B5
  μs: 1_000n, // U+03BC
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const NANOSECONDS_PER_MS = 1_000_000
const MAX_NANOSECONDS = 2n ** 63n - 1n

/** `1h30m`, `-1.5h`, `300ms`, `0` to milliseconds (fractions kept); undefined for what Go would not parse. */
export function parseGoDuration(text: string): number | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? ''
  const body = text.slice(sign.length)
  if (body === '0') return 0
  if (body === '') return undefined
  const part = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y
  let total = 0n
  while (part.lastIndex < body.length) {
    const match = part.exec(body)
    if (match === null) return undefined
    const [, whole = '', fraction = '', unit = ''] = match
    if (whole === '' && fraction === '') return undefined
    const perUnit = UNIT_NANOSECONDS[unit] ?? 0n
    total += BigInt(whole === '' ? '0' : whole) * perUnit
    total += fraction === '' ? 0n : (BigInt(fraction) * perUnit) / 10n ** BigInt(fraction.length)
    if (total > MAX_NANOSECONDS) return undefined
  }
  const ms = Number(total) / NANOSECONDS_PER_MS
  return sign === '-' ? -ms : ms
}

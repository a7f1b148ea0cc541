/** Durations as Kubernetes prints and Go reads them. Sources: apimachinery pkg/util/duration, Go's time.ParseDuration. */

interface Unit {
  readonly ms: number
  readonly sign: string
}
const SECOND: Unit = { ms: 1_000, sign: 's' }
const MINUTE: Unit = { ms: 60_000, sign: 'm' }
const HOUR: Unit = { ms: 3_600_000, sign: 'h' }
const DAY: Unit = { ms: 86_400_000, sign: 'd' }
const YEAR: Unit = { ms: 365 * DAY.ms, sign: 'y' }

/** Which units print a duration below `belowMs`; the minor one only where it is not zero. */
const PRECISION: readonly { readonly belowMs: number; readonly major: Unit; readonly minor?: Unit }[] = [
  { belowMs: 2 * MINUTE.ms, major: SECOND },
  { belowMs: 10 * MINUTE.ms, major: MINUTE, minor: SECOND },
  { belowMs: 3 * HOUR.ms, major: MINUTE },
  { belowMs: 8 * HOUR.ms, major: HOUR, minor: MINUTE },
  { belowMs: 2 * DAY.ms, major: HOUR },
  { belowMs: 8 * DAY.ms, major: DAY, minor: HOUR },
  { belowMs: 2 * YEAR.ms, major: DAY },
  { belowMs: 8 * YEAR.ms, major: YEAR, minor: DAY },
]

/** An age as kubectl shows it: `3m20s`, `5h`, `2y45d`. In milliseconds; up to 2 s in the future still count as now. */
export function humanDuration(ms: number): string {
  if (ms <= -2 * SECOND.ms) return '<invalid>'
  if (ms < 0) return '0s'
  const { major, minor } = PRECISION.find(({ belowMs }) => ms < belowMs) ?? { major: YEAR }
  const whole = `${String(Math.floor(ms / major.ms))}${major.sign}`
  const rest = minor === undefined ? 0 : Math.floor((ms % major.ms) / minor.ms)
  return minor === undefined || rest === 0 ? whole : `${whole}${String(rest)}${minor.sign}`
}

const UNIT_NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  '\u00b5s': 1_000n, // micro sign
  '\u03bcs': 1_000n, // Greek mu
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const NANOSECONDS_PER_MS = 1_000_000
const MAX_NANOSECONDS = 2n ** 63n - 1n

/** `1h30m`, `-1.5h`, `300ms`, `0` in milliseconds (fractions kept); undefined for what Go does not parse. */
export function parseGoDuration(text: string): number | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? ''
  const body = text.slice(sign.length)
  if (body === '0') return 0
  const total = nanoseconds(body)
  if (total === undefined || total > MAX_NANOSECONDS + (sign === '-' ? 1n : 0n)) return undefined
  const ms = Number(total) / NANOSECONDS_PER_MS
  return sign === '-' ? -ms : ms
}

function nanoseconds(text: string): bigint | undefined {
  const part = /([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y
  let total: bigint | undefined
  while (part.lastIndex < text.length) {
    const match = part.exec(text)
    if (match === null) return undefined
    const [, whole = '', fraction = '', unit = ''] = match
    if (whole === '' && fraction === '') return undefined
    const perUnit = UNIT_NANOSECONDS[unit] ?? 0n
    const fractional = fraction === '' ? 0n : (BigInt(fraction) * perUnit) / 10n ** BigInt(fraction.length)
    total = (total ?? 0n) + BigInt(whole === '' ? '0' : whole) * perUnit + fractional
  }
  return total
}

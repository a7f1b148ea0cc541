/** Exact decimal numbers: sums of quantities, however many and however fine. */

/** mantissa × 10^exponent. */
export interface Decimal {
  readonly mantissa: bigint
  readonly exponent: number
}

export const ZERO: Decimal = { mantissa: 0n, exponent: 0 }

/** Of `-12.5`, `1e30`; the form that `numberOfKey` gives. Throws `RangeError` for anything else. */
export function decimalOf(text: string): Decimal {
  const [, sign = '', whole, fraction = '', power = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:e(-?[0-9]+))?$/.exec(text) ?? []
  if (whole === undefined) throw new RangeError(`${text} is no decimal number`)
  return { mantissa: BigInt(sign + whole + fraction), exponent: Number(power) - fraction.length }
}

export function add(a: Decimal, b: Decimal): Decimal {
  if (a.exponent > b.exponent) return add(b, a)
  return { mantissa: a.mantissa + b.mantissa * 10n ** BigInt(b.exponent - a.exponent), exponent: a.exponent }
}

export function times(a: Decimal, count: number): Decimal {
  return { mantissa: a.mantissa * BigInt(count), exponent: a.exponent }
}

/** Negative: `a` is smaller. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const { mantissa } = add(a, { mantissa: -b.mantissa, exponent: b.exponent })
  return mantissa < 0n ? -1 : mantissa > 0n ? 1 : 0
}

/** In digits; with an exponent where those would be more than 40. A JSON number. */
export function decimalText({ mantissa, exponent }: Decimal): string {
  const negative = mantissa < 0n
  const all = (negative ? -mantissa : mantissa).toString()
  const digits = all.replace(/0+$/, '')
  if (digits === '') return '0'
  const zeros = exponent + all.length - digits.length
  const sign = negative ? '-' : ''
  if (zeros > 40 || zeros < -40) return `${sign}${digits}e${zeros}`
  if (zeros >= 0) return sign + digits + '0'.repeat(zeros)
  const padded = digits.padStart(1 - zeros, '0')
  return `${sign}${padded.slice(0, zeros)}.${padded.slice(zeros)}`
}

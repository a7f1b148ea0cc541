/**
 * Quantities (`500m`, `1.5Gi`, `12e6`), exact at any size. Source: apimachinery pkg/api/resource.
 *
 * Stricter than there: a number has a digit (`Ki` alone is none). Other than there: a decimal beyond exa prints with an
 * exponent (`1e21`), where Go leaves the magnitude out.
 */

/** How a quantity was written, and so how it is printed. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

/** `mantissa` × 10^`exponent`; the mantissa ends in no 0, zero is 0 × 10^0. */
export interface Quantity {
  readonly mantissa: bigint
  readonly exponent: number
  readonly format: QuantityFormat
}

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
])
const DECIMAL_BY_EXPONENT: ReadonlyMap<number, string> = new Map([...DECIMAL_SUFFIXES].map(([s, e]) => [e, s]))
/** The nth stands for 1024^n. */
const BINARY_SUFFIXES: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

const QUANTITY = /^([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?([numkMGTPE]?|[KMGTPE]i|[eE]([+-]?[0-9]+))$/

const NANO = -9
const MAX_BINARY = 2n ** 63n - 1n
const MAX_EXPONENT = 2 ** 31 - 1
/** Longer than anyone writes; keeps the integers small. */
const MAX_LENGTH = 1_000

/** Undefined for what is none. Digits below a billionth round away from zero, as Kubernetes does. */
export function parseQuantity(text: string): Quantity | undefined {
  const match = text.length > MAX_LENGTH ? null : QUANTITY.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', suffix = '', power] = match
  const digits = BigInt(`${whole}${fraction}`)
  const binary = power === undefined && suffix.endsWith('i')
  const shift = power === undefined ? (DECIMAL_SUFFIXES.get(suffix) ?? 0) : Number(power)
  if (Math.abs(shift) > MAX_EXPONENT) return undefined
  const factor = binary ? 1024n ** BigInt(BINARY_SUFFIXES.indexOf(suffix)) : 1n
  const value = toNano(digits * factor, shift - fraction.length)
  const format = power !== undefined ? 'DecimalExponent' : binary && !isBelowOne(value) ? 'BinarySI' : 'DecimalSI'
  const capped = binary ? cap(value) : value
  return { ...capped, mantissa: sign === '-' ? -capped.mantissa : capped.mantissa, format }
}

interface Decimal {
  readonly mantissa: bigint
  readonly exponent: number
}

function normalized(mantissa: bigint, exponent: number): Decimal {
  if (mantissa === 0n) return { mantissa, exponent: 0 }
  const zeros = /0*$/.exec(mantissa.toString())?.[0].length ?? 0
  return zeros === 0
    ? { mantissa, exponent }
    : { mantissa: mantissa / 10n ** BigInt(zeros), exponent: exponent + zeros }
}

/** Rounded up to whole nanos; of a value that is not negative. */
function toNano(mantissa: bigint, exponent: number): Decimal {
  if (exponent >= NANO || mantissa === 0n) return normalized(mantissa, exponent)
  const dropped = NANO - exponent
  // More digits dropped than there are: however small, something is left.
  if (dropped > mantissa.toString().length) return { mantissa: 1n, exponent: NANO }
  return normalized(divideUp(mantissa, 10n ** BigInt(dropped)), NANO)
}

function divideUp(value: bigint, by: bigint): bigint {
  return value / by + (value % by === 0n ? 0n : 1n)
}

function isBelowOne({ mantissa, exponent }: Decimal): boolean {
  return mantissa !== 0n && magnitude(mantissa, exponent) <= 0
}

/** n for a value from 10^(n-1) to below 10^n. */
function magnitude(mantissa: bigint, exponent: number): number {
  return mantissa.toString().length - (mantissa < 0n ? 1 : 0) + exponent
}

function cap(value: Decimal): Decimal {
  return compareDecimals(value, { mantissa: MAX_BINARY, exponent: 0 }) > 0 ? normalized(MAX_BINARY, 0) : value
}

/** Negative, 0 or positive. How they were written does not matter: `1Ki` equals `1024`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return compareDecimals(a, b)
}

function compareDecimals(a: Decimal, b: Decimal): number {
  const sign = signOf(a.mantissa)
  if (sign !== signOf(b.mantissa)) return sign - signOf(b.mantissa)
  // Powers of ten apart: decided without writing out either.
  const apart = magnitude(a.mantissa, a.exponent) - magnitude(b.mantissa, b.exponent)
  if (apart !== 0) return apart * sign
  const exponent = Math.min(a.exponent, b.exponent)
  return signOf(scaled(a, exponent) - scaled(b, exponent))
}

function signOf(value: bigint): number {
  return value === 0n ? 0 : value < 0n ? -1 : 1
}

function scaled({ mantissa, exponent }: Decimal, to: number): bigint {
  return mantissa * 10n ** BigInt(exponent - to)
}

/**
 * In units of 10^`exponent`, rounded away from zero: `quantityIn(q, 0)` bytes, `quantityIn(q, -3)` millicores. Undefined
 * beyond 10^100, which no one means.
 */
export function quantityIn(quantity: Quantity, exponent: number): bigint | undefined {
  const { mantissa } = quantity
  const shift = quantity.exponent - exponent
  if (magnitude(mantissa, shift) > MAX_DIGITS) return undefined
  if (shift >= 0) return mantissa * 10n ** BigInt(shift)
  if (-shift > mantissa.toString().length) return BigInt(signOf(mantissa))
  const divided = divideUp(mantissa < 0n ? -mantissa : mantissa, 10n ** BigInt(-shift))
  return mantissa < 0n ? -divided : divided
}

const MAX_DIGITS = 100

/** The nearest number; Infinity for what is larger than any. For sorting and sums where a rounding does no harm. */
export function quantityToNumber({ mantissa, exponent }: Quantity): number {
  return Number(`${mantissa.toString()}e${String(exponent)}`)
}

/** The canonical text, in the format it was written in where that loses nothing. */
export function formatQuantity(quantity: Quantity): string {
  if (quantity.mantissa === 0n) return '0'
  const binary = quantity.format === 'BinarySI' ? binaryText(quantity) : undefined
  return binary ?? decimalText(quantity)
}

/** Undefined for what is smaller than 1Ki or has a fraction. */
function binaryText(quantity: Quantity): string | undefined {
  if (quantity.exponent < 0) return undefined
  let value = quantityIn(quantity, 0)
  if (value === undefined || (value > -1024n && value < 1024n)) return undefined
  let power = 0
  while (value % 1024n === 0n && power < BINARY_SUFFIXES.length - 1) {
    value /= 1024n
    power++
  }
  return `${value.toString()}${BINARY_SUFFIXES[power] ?? ''}`
}

function decimalText({ mantissa, exponent, format }: Quantity): string {
  const excess = ((exponent % 3) + 3) % 3
  const digits = (mantissa * 10n ** BigInt(excess)).toString()
  const power = exponent - excess
  const suffix = format === 'DecimalExponent' ? undefined : DECIMAL_BY_EXPONENT.get(power)
  if (suffix !== undefined) return `${digits}${suffix}`
  return power === 0 ? digits : `${digits}e${String(power)}`
}

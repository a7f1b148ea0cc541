/** JSON.parse that keeps integers beyond 2^53 exact, and numbers as Go prints them. */
import { parseDeep } from './json-deep.ts'

/** Sixteen digits in a row may be more than a JavaScript number holds; a string that has them costs only time. */
const MANY_DIGITS = /[0-9]{16}/
const INTEGER = /^-?[0-9]+$/

/** Go's `%v` decides for an exponent as if it wrote so many digits. */
const SHORTEST_PRECISION = 6

/** Beyond 64 bits Go reads a floating-point number. */
const MAX_INT64 = 2n ** 63n - 1n

/** As `JSON.parse`, however deep, but integers that are not safe and fit 64 bits become bigints. Throws SyntaxError. */
export function parseExact(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  if (!MANY_DIGITS.test(text)) return JSON.parse(text) as unknown
  try {
    return JSON.parse(text, exactInteger) as unknown
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return parseDeep(text, exactNumber) // deeper than a reviver has stack for, and valid: revivers come behind parsing
  }
}

function exactInteger(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value !== 'number' || source === undefined ? value : exactNumber(source)
}

function exactNumber(digits: string): number | bigint {
  const value = Number(digits)
  if (Number.isSafeInteger(value) || !INTEGER.test(digits)) return value
  const exact = BigInt(digits)
  return exact > MAX_INT64 || exact < -MAX_INT64 - 1n ? value : exact
}

/** A number as Go prints it: whole ones in digits, others with an exponent from 1e6 on and below 1e-4. */
export function goNumber(value: number): string {
  const [digits = '', power = ''] = value.toExponential().split('e')
  const exponent = Number(power)
  if (value === 0 || Number.isSafeInteger(value) || (exponent >= -4 && exponent < SHORTEST_PRECISION))
    return String(value)
  return `${digits}e${power.charAt(0)}${power.slice(1).padStart(2, '0')}`
}

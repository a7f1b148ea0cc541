/**
 * Numbers, times, versions and addresses as text whose byte order is their order, exact for any number of digits: what
 * every store can compare, sort and range over as a plain keyword.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { isPossibleTime } from '../kube/calendar.ts'
import { parseQuantity } from '../kube/quantity.ts'
import { foldCase } from './tokens.ts'

/** What a key begins with says of which sort it is; keys of two sorts are never compared. */
export type SortableMark = '#' | '@' | '^' | '%'
export const NUMBER = '#' satisfies SortableMark
export const TIME = '@' satisfies SortableMark
export const VERSION = '^' satisfies SortableMark
export const IP = '%' satisfies SortableMark

/** Longer ones are no numbers anyone compares. */
const MAX_NUMBER_CHARS = 64
const DECIMAL = /^([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,3}))?$/

/** Biases the decimal exponent (a JSON number goes to e308, a quantity further by 18) to three digits. */
const EXPONENT_BIAS = 500

/**
 * A decimal number or a Kubernetes quantity (`-1.5`, `1e3`, `100m`, `1.5Gi`); undefined for anything else.
 * `p` + biased exponent + digits; `o` for zero; negative ones `n` with all digits complemented and a `~` that puts the
 * shorter (larger) of two behind.
 */
export function sortableNumber(text: string): string | undefined {
  if (text.length > MAX_NUMBER_CHARS) return undefined
  const match = DECIMAL.exec(text)
  if (match !== null) {
    const [, sign, whole = '', fraction = '', power = '0'] = match
    return encodeDecimal(sign === '-', whole + fraction, Number(power) - fraction.length)
  }
  const quantity = parseQuantity(text)
  if (quantity === undefined) return undefined
  const digits = quantity.mantissa.toString()
  const negative = digits.startsWith('-')
  return encodeDecimal(negative, negative ? digits.slice(1) : digits, quantity.exponent)
}

/** The number ±digits × 10^scale. */
function encodeDecimal(negative: boolean, digits: string, scale: number): string | undefined {
  const significant = digits.replace(/^0+/, '')
  if (significant === '') return 'o'
  const exponent = significant.length + scale + EXPONENT_BIAS
  if (exponent < 0 || exponent > 999) return undefined
  const text = String(exponent).padStart(3, '0') + significant.replace(/0+$/, '')
  return negative ? `n${complement(text)}~` : `p${text}`
}

function complement(digits: string): string {
  return digits.replace(/[0-9]/g, (digit) => String(9 - Number(digit)))
}

const RFC3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$/

/** A zone may lead out of the years of four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59Z')

/** As Kubernetes writes nearly all of its times. */
const WHOLE_SECONDS = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/

/**
 * An RFC 3339 time, in UTC with its fraction: `20260102030405.123456`; undefined for anything else, as for days and times
 * that there are not.
 */
export function sortableTime(text: string): string | undefined {
  if (text.length < 20 || text.charCodeAt(4) !== 0x2d) return undefined
  if (text.length === 20 && WHOLE_SECONDS.test(text)) return isPossibleTime(text) ? secondsOf(text) : undefined
  const match = RFC3339.exec(text)
  if (match === null || !isPossibleTime(text)) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match
  const digits = `${year}${month}${day}${hour}${minute}${second}`
  const rest = fraction.replace(/\.?0+$/, '')
  if (zone === 'Z' || zone === 'z') return digits + rest
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`)
  return ms >= FIRST_MS && ms <= LAST_MS ? sortableMs(ms) + rest : undefined
}

function secondsOf(text: string): string {
  const date = text.slice(0, 4) + text.slice(5, 7) + text.slice(8, 10)
  return date + text.slice(11, 13) + text.slice(14, 16) + text.slice(17, 19)
}

/** Milliseconds since the epoch as a time's key. */
export function sortableMs(ms: number): string {
  const digits = new Date(ms).toISOString().replace(/[-:TZ]/g, '')
  return digits.replace(/\.?0+$/, '') // always has a fraction, so only its zeros go
}

const VERSION_TEXT = /^[vV]?([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

/** `v1.9` before `v1.10`; a pre-release before its release; the build last. Undefined for what is no version. */
export function sortableVersion(text: string): string | undefined {
  const match = VERSION_TEXT.exec(text)
  if (match === null) return undefined
  const [, core = '', pre = '', build = ''] = match
  const numbers = core.split('.')
  while (numbers.length < 4) numbers.push('0')
  return `${numbers.map(lengthFirst).join('')}${pre === '' ? '~' : foldCase(pre)}${foldCase(build)}`
}

/** `a9`, `b10`: the letter is the number of digits. */
function lengthFirst(digits: string): string {
  const significant = digits.replace(/^0+(?=.)/, '')
  return String.fromCharCode(0x60 + significant.length) + significant
}

/** An IPv4 or IPv6 address in hexadecimal, v4 first; undefined for anything else. */
export function sortableIp(text: string): string | undefined {
  if (isIPv4(text))
    return `4${text
      .split('.')
      .map((part) => hex(Number(part), 2))
      .join('')}`
  return isIPv6(text) ? `6${expandIPv6(text)}` : undefined
}

function expandIPv6(text: string): string {
  const [address = ''] = text.split('%') // without its zone
  const [head = '', tail] = hexTail(address).split('::')
  const left = groups(head)
  const right = groups(tail ?? '')
  const zeros = new Array<string>(8 - left.length - right.length).fill('0000')
  return [...left, ...zeros, ...right].join('')
}

/** `::ffff:1.2.3.4` as `::ffff:0102:0304`. */
function hexTail(address: string): string {
  const dotted = /[0-9.]+\.[0-9]+$/.exec(address)
  if (dotted === null) return address
  const [a = 0, b = 0, c = 0, d = 0] = dotted[0].split('.').map(Number)
  return `${address.slice(0, dotted.index)}${hex(a * 256 + b, 4)}:${hex(c * 256 + d, 4)}`
}

function groups(text: string): string[] {
  return text
    .split(':')
    .filter((group) => group !== '')
    .map((group) => group.toLowerCase().padStart(4, '0'))
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

/** Text sorts without regard to case, then by its UTF-8 bytes. */
export function sortableText(text: string): string {
  return `${foldCase(text)}\u0001${text}`
}

/** The number of a key, in digits or, far from 1, with an exponent: `0.1`, `1024`, `1e30`. */
export function numberOfKey(key: string): string {
  if (key === 'o') return '0'
  const negative = key.startsWith('n')
  const text = negative ? complement(key.slice(1, -1)) : key.slice(1)
  const point = Number(text.slice(0, 3)) - EXPONENT_BIAS
  return (negative ? '-' : '') + decimalText(text.slice(3), point)
}

/** 0.digits × 10^point. */
function decimalText(digits: string, point: number): string {
  if (point > 21 || point < -6)
    return `${digits.slice(0, 1)}${digits.length > 1 ? `.${digits.slice(1)}` : ''}e${point - 1}`
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`
  const whole = digits.slice(0, point).padEnd(point, '0')
  return digits.length > point ? `${whole}.${digits.slice(point)}` : whole
}

/** The time of a key in RFC 3339, UTC. */
export function timeOfKey(key: string): string {
  const [, year, month, day, hour, minute, second, fraction = ''] =
    /^(.{4})(..)(..)(..)(..)(..)(\..*)?$/.exec(key) ?? []
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}Z`
}

/** The version of a key, with all four of its numbers. */
export function versionOfKey(key: string): string {
  const numbers: string[] = []
  let at = 0
  for (; numbers.length < 4 && at < key.length; at += 1) {
    const length = key.charCodeAt(at) - 0x60
    numbers.push(key.slice(at + 1, at + 1 + length))
    at += length
  }
  return numbers.join('.') + key.slice(at).replace('~', '')
}

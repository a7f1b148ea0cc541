/** Log records for somebody at a terminal: time, level, message, what belongs to it; errors in the lines below. */
import { styleText } from 'node:util'

export interface TextOptions {
  /** Escapes for colours. */
  readonly colours: boolean
}

type Style = Parameters<typeof styleText>[0]

const LEVELS: Readonly<Record<number, readonly [name: string, style: Style]>> = {
  20: ['debug', 'dim'],
  30: ['info', 'cyan'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
}

/** Longest value shown of one key; who wants all of it takes JSON. */
const MAX_VALUE = 300

interface ShownError {
  readonly type?: string
  readonly message?: string
  readonly stack?: string
}

/** One record of `createLogger`, as JSON with its line end; what is none comes back as it is. */
export function logText(line: string, { colours }: TextOptions): string {
  const record = parse(line)
  if (record === undefined) return line
  const paint = (style: Style, text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text
  const { level, time, msg, err, ...rest } = record
  const [name, style] = LEVELS[Number(level)] ?? [String(level), 'reset']
  const details = Object.entries(rest).map(([key, value]) => ` ${paint('dim', `${key}=`)}${shown(value)}`)
  const head = `${paint('dim', clockTime(String(time)))} ${paint(style, name.padEnd(5))} ${String(msg)}`
  const fault = err === undefined ? '' : faultLines(err as ShownError, Number(level) >= 50)
  return `${head}${details.length === 0 ? '' : ` ${details.join('')}`}\n${fault}`
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && 'level' in value
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** `08:21:23`, by the user's own clock. */
function clockTime(iso: string): string {
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? iso : date.toTimeString().slice(0, 8)
}

function shown(value: unknown): string {
  if (typeof value === 'number') return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)))
  const plain = typeof value === 'string' && /^[^\s"=]+$/.test(value)
  const text = plain ? value : JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text
}

/** Where it came from only for what is our fault, or ends the program. */
function faultLines({ type, message, stack }: ShownError, withStack: boolean): string {
  const text = withStack && stack !== undefined ? stack : `${type ?? 'Error'}: ${message ?? ''}`
  return text
    .split('\n')
    .map((line) => `         ${line}\n`)
    .join('')
}

/**
 * JSON of any depth without recursion: members nest objects up to 10,000 levels, for which calls in calls have no stack
 * (about 2,500 levels for `JSON.parse` with a reviver), and one such object must not fail what is asked of all.
 */
import { compareUtf8 } from '../util/bytes.ts'
import { goJsonString } from './go-text.ts'

const TOKEN = /[\s,:]*("[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|true|false|null|[{}[\]])/y

interface Open {
  readonly value: unknown[] | Record<string, unknown>
  /** Of the value that comes next in an object. */
  key: string | undefined
}

/** As `JSON.parse`, with every number made by `numberOf` of its digits. `text` must be valid JSON. */
export function parseDeep(text: string, numberOf: (digits: string) => unknown): unknown {
  const root: Open = { value: [], key: undefined }
  const open = [root]
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const token = match[1] as string
    const inside = open.at(-1) as Open
    if (token === '}' || token === ']') open.pop()
    else if (!Array.isArray(inside.value) && inside.key === undefined) inside.key = JSON.parse(token) as string
    else {
      const value = token === '{' ? {} : token === '[' ? [] : scalarOf(token, numberOf)
      put(inside, value)
      if (token === '{' || token === '[') open.push({ value: value as Open['value'], key: undefined })
    }
  }
  return (root.value as unknown[])[0]
}

function scalarOf(token: string, numberOf: (digits: string) => unknown): unknown {
  return /^[-0-9]/.test(token) ? numberOf(token) : (JSON.parse(token) as unknown)
}

function put(open: Open, value: unknown): void {
  if (Array.isArray(open.value)) return void open.value.push(value)
  // Not by assignment, which `__proto__` would take for something else.
  Object.defineProperty(open.value, open.key as string, { value, writable: true, enumerable: true, configurable: true })
  open.key = undefined
}

/** Text that is written as it is. */
class Written {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** As Go's encoding/json writes a map or a list: keys sorted by their bytes, `<`, `>` and `&` escaped. */
export function goJson(value: unknown): string {
  const written: string[] = []
  const ahead: unknown[] = [value]
  while (ahead.length > 0) {
    const next = ahead.pop()
    if (next instanceof Written) written.push(next.text)
    else if (typeof next === 'object' && next !== null) for (const part of partsOf(next).reverse()) ahead.push(part)
    else written.push(goScalar(next))
  }
  return written.join('')
}

function goScalar(value: unknown): string {
  if (typeof value === 'string') return goJsonString(value)
  return typeof value === 'bigint' ? value.toString() : (JSON.stringify(value) ?? 'null')
}

function partsOf(value: object): unknown[] {
  if (Array.isArray(value)) {
    const items = value.flatMap((item: unknown, i) => (i === 0 ? [item] : [new Written(','), item]))
    return [new Written('['), ...items, new Written(']')]
  }
  const entries = Object.entries(value).toSorted(([a], [b]) => compareUtf8(a, b))
  const members = entries.flatMap(([key, item], i) => [
    new Written(`${i === 0 ? '' : ','}${goJsonString(key)}:`),
    item as unknown,
  ])
  return [new Written('{'), ...members, new Written('}')]
}

/** Networks of addresses (`10.0.0.0/8`, `2001:db8::/32`) as the beginnings of the keys of their addresses. */
import { sortableIp } from './sortable.ts'

/** Up to 8 beginnings, since a key has a hexadecimal digit for every 4 bits; undefined for what is no network. */
export function ipNetwork(text: string): readonly string[] | undefined {
  const [, address = '', length = ''] = /^([0-9a-fA-F.:]+)\/([0-9]{1,3})$/.exec(text) ?? []
  const key = sortableIp(address)
  if (key === undefined) return undefined
  const bits = Number(length)
  const family = key.charAt(0)
  if (bits > (family === '4' ? 32 : 128)) return undefined
  const whole = Math.floor(bits / 4)
  const beginning = key.slice(0, 1 + whole)
  const rest = bits % 4
  if (rest === 0) return [beginning]
  const count = 2 ** (4 - rest)
  const first = Math.floor(Number.parseInt(key.charAt(1 + whole), 16) / count) * count
  return Array.from({ length: count }, (_, i) => beginning + (first + i).toString(16))
}

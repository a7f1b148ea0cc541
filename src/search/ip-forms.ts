/** An address in the forms in which it may stand in objects. */
import { isIPv6 } from 'node:net'
import { sortableIp } from '../query/sortable.ts'

export interface IpForms {
  /** As `sortableIp` writes it: two where an IPv4 address is asked for as IPv6 (`::ffff:10.0.0.1`), as which Go reads it. */
  readonly keys: readonly string[]
  /** As typed, and as RFC 5952 writes it. */
  readonly texts: readonly string[]
}

/** Of what `isIP` takes; a zone (`%eth0`) is left out. */
export function ipForms(text: string): IpForms {
  const [typed = ''] = text.split('%')
  const key = sortableIp(typed) ?? ''
  if (!isIPv6(typed)) return { keys: [key], texts: [typed] }
  const texts = new Set([typed, new URL(`http://[${typed}]`).hostname.slice(1, -1)])
  const hex = /^60{20}ffff([0-9a-f]{8})$/.exec(key)?.[1]
  if (hex === undefined) return { keys: [key], texts: [...texts] }
  const short = [0, 2, 4, 6].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join('.')
  return { keys: [key, `4${hex}`], texts: [...texts, short] }
}

/**
 * Request headers as they came over the wire, line by line: Node joins or drops repeated ones elsewhere, and a group's name
 * may hold a comma. HTTP carries bytes, which Node shows as latin1; identities are UTF-8.
 */
import type { IncomingMessage } from 'node:http'
import { StatusError } from '../../kube/status-error.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true })
const ASCII = /^[\0-\x7f]*$/

export interface HeaderLine {
  /** In lower case. */
  readonly name: string
  /** As latin1; `headerText` decodes it. */
  readonly value: string
}

/** Every header line in order; HTTP/2's pseudo headers are left out. */
export function headerLines({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): HeaderLine[] {
  const lines: HeaderLine[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase()
    if (!name.startsWith(':')) lines.push({ name, value: rawHeaders[at + 1] as string })
  }
  return lines
}

/** A value that is part of an identity. Throws `unauthorized` where it is not UTF-8: two names must not become one. */
export function headerText(value: string): string {
  if (ASCII.test(value)) return value
  try {
    return UTF8.decode(Buffer.from(value, 'latin1'))
  } catch {
    throw new StatusError('unauthorized', 'Unauthorized')
  }
}

/** What follows a header's prefix: percent-encoded, since a header's name cannot hold every character. */
export function headerKey(name: string, prefix: string): string {
  const key = name.slice(prefix.length)
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

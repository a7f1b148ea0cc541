/**
 * The headers of an upgrade on its way to a cluster and back: everything that the two ends have to say to each other, line by
 * line, and nothing that is between one of them and us.
 */
import { withoutTokens } from '../../http/websocket-protocols.ts'
import { isApplication } from '../forward/streaming.ts'
import type { ProxyRequest } from '../plugin.ts'

/** Of one connection (RFC 9110, 7.6.1), made anew for the next; and the caller's proof of who he is, which is for us alone. */
const OURS =
  /^(connection|upgrade|keep-alive|proxy-.*|te|trailer|transfer-encoding|content-length|expect|http2-settings|host|authorization|audit-id|impersonate-.*|x-remote-.*|fleetsearch-.*)$/

const PROTOCOLS = 'sec-websocket-protocol'

/** Values of one name stay apart and in order. A cookie of our host is for an application behind `proxy` at most. */
export function upgradeRequestHeaders(request: Pick<ProxyRequest, 'request' | 'resource'>): Record<string, string[]> {
  const { rawHeaders, headers: joined } = request.request.incoming
  const named = (joined.connection ?? '').toLowerCase().split(/\s*,\s*/)
  const dropped = (key: string): boolean =>
    OURS.test(key) || named.includes(key) || (key === 'cookie' && !isApplication(request))
  const headers: Record<string, string[]> = {}
  for (const [name, sent] of pairs(rawHeaders)) {
    const key = name.toLowerCase()
    if (dropped(key)) continue
    const value = key === PROTOCOLS ? withoutTokens(sent) : sent
    if (value !== '' || sent === '') (headers[key] ??= []).push(value)
  }
  return headers
}

/** What the client is sent of a cluster's 101: the lines as they came, but for what is said of our own server. */
export function upgradeAnswerLines(lines: readonly string[]): string[] {
  return pairs(lines).flatMap(([name, value]) =>
    /^(audit-id|strict-transport-security)$/i.test(name) ? [] : [name, value],
  )
}

function pairs(lines: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let at = 0; at + 1 < lines.length; at += 2) found.push([lines[at] as string, lines[at + 1] as string])
  return found
}

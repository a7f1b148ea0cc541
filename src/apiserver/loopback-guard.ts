/**
 * Keeps web pages away from a server on loopback. A page on another site can make a browser send requests here, and by DNS
 * rebinding even under a name that resolves to 127.0.0.1: so the Host must be a loopback name, and an Origin, where a
 * browser sends one, must be ours.
 */
import type { IncomingMessage } from 'node:http'
import { StatusError } from '../kube/status-error.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Throws `forbidden` for a foreign Host or Origin. What may be changed is for authz/read-only.ts to say. */
export function guardLoopback(request: IncomingMessage): void {
  const host = hostName(request.headers.host)
  if (host === undefined || !LOOPBACK.has(host)) {
    throw new StatusError('forbidden', 'this server answers only under a loopback name (Host: localhost or 127.0.0.1)')
  }
  const { origin } = request.headers
  if (origin !== undefined && !isOwnOrigin(origin, request.headers.host)) {
    throw new StatusError('forbidden', `requests of pages from ${JSON.stringify(origin)} are not answered`)
  }
  const site = request.headers['sec-fetch-site']
  if (site === 'cross-site' || site === 'same-site') {
    throw new StatusError('forbidden', 'requests of pages of other sites are not answered')
  }
}

function isOwnOrigin(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host
}

function hostName(host: string | undefined): string | undefined {
  if (host === undefined || !URL.canParse(`http://${host}`)) return undefined
  const url = new URL(`http://${host}`)
  return url.pathname === '/' && url.username === '' ? url.hostname : undefined
}

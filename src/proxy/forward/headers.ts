/** Which headers of a request go on to a cluster, and which of its answer come back. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { MemberResponse } from '../../fleet/member.ts'
import type { ProxyRequest } from '../plugin.ts'
import { isApplication } from './streaming.ts'

/** Of one connection only. Source: RFC 9110 §7.6.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * What an API server understands of a request. Everything else stays here: headers that say who the caller is (whatever
 * their configured names are), cookies of our own host, `Fleetsearch-Cluster`.
 */
const API_REQUEST: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'baggage',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'kubectl-command',
  'kubectl-session',
  'range',
  'traceparent',
  'tracestate',
  'user-agent',
  'warning',
])

/** What an application behind a `proxy` subresource does not get either: who the caller is, and our own parameters. */
const NEVER = /^(?::|authorization$|host$|impersonate-|x-remote-|fleetsearch-)/

export type Headers = Record<string, string | string[]>

export function requestHeaders(request: ProxyRequest): Headers {
  const { headers } = request.request.incoming
  const named = connectionNames(headers)
  const application = isApplication(request)
  const kept: Headers = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP_BY_HOP.has(name) || named.has(name) || NEVER.test(name)) continue
    if (application || API_REQUEST.has(name)) kept[name] = value
  }
  return kept
}

/** Of our server, not the member's, or said by whoever writes the answer out. */
const OWN_ANSWER: ReadonlySet<string> = new Set(['alt-svc', 'date', 'strict-transport-security'])

export function answerHeaders({ prefix, response }: ProxyRequest, { headers }: MemberResponse): OutgoingHttpHeaders {
  const named = connectionNames(headers)
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP_BY_HOP.has(name) || named.has(name) || OWN_ANSWER.has(name)) continue
    if (name === 'audit-id' && response.hasHeader('audit-id')) continue
    kept[name] = value
  }
  const location = headers['location']
  // A redirect to another path of the same server must not lose the prefix under which that server is seen.
  if (typeof location === 'string' && /^\/(?!\/)/.test(location)) kept['location'] = prefix + location
  return kept
}

function connectionNames({ connection }: IncomingHttpHeaders | MemberResponse['headers']): ReadonlySet<string> {
  const names = Array.isArray(connection) ? connection.join(',') : (connection ?? '')
  return new Set(names.split(',').map((name) => name.trim().toLowerCase()))
}

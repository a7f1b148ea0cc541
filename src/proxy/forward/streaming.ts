/** Which requests last, carry bytes of any kind, or reach into a workload. */
import { parseBool } from '../../http/list-options.ts'
import type { ProxyRequest } from '../plugin.ts'

/** The first part of the subresource; empty without one. */
export function subresourceOf({ resource }: Pick<ProxyRequest, 'resource'>): string {
  return (resource?.subresource ?? '').split('/', 1)[0] ?? ''
}

/** What answers is an application behind a `proxy` subresource: method, headers and bodies are its own affair. */
export function isApplication(request: Pick<ProxyRequest, 'resource'>): boolean {
  return subresourceOf(request) === 'proxy'
}

const SESSIONS: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward'])

/** `exec`, `attach`, `port-forward`. */
export function isSession(request: Pick<ProxyRequest, 'resource'>): boolean {
  return SESSIONS.has(subresourceOf(request))
}

/** A subresource by which a workload is reached, whatever the method. */
export function reachesIn(subresource: string | undefined): boolean {
  return subresource !== undefined && (subresource === 'proxy' || SESSIONS.has(subresource))
}

/** Its answer has no end of its own: no silence in it is too long. */
export function isStreaming(request: Pick<ProxyRequest, 'resource' | 'verb' | 'request'>): boolean {
  if (request.verb === 'watch' || isApplication(request) || isSession(request)) return true
  return subresourceOf(request) === 'log' && parseBool(request.request.query.get('follow')) === true
}

/**
 * It changes something, or may: everything but reads, and what reaches into a workload whatever its method (a session is
 * opened by GET over WebSocket; behind `proxy` of a node is its kubelet, exec included).
 */
export function mayChange(request: Pick<ProxyRequest, 'resource' | 'verb'>): boolean {
  if (isApplication(request) || isSession(request)) return true
  return !['get', 'list', 'watch', 'options'].includes(request.verb)
}

/** The span of a request: what of it may be shown. */
import type { IncomingMessage } from 'node:http'
import { tracedPath, type SpanStart } from '../telemetry/tracing.ts'

const MAX_USER_AGENT = 256

/** `prefix` is that of its route; empty: none. */
export function spanOf(request: IncomingMessage, path: string, prefix: string): SpanStart {
  const { headers, httpVersion, method = 'GET' } = request
  const { traceparent, tracestate, 'user-agent': userAgent } = headers
  return {
    name: prefix === '' ? method : `${method} ${prefix}`,
    kind: 'server',
    attributes: {
      'http.request.method': method,
      'url.path': tracedPath(path),
      'url.scheme': isEncrypted(request) ? 'https' : 'http',
      'network.protocol.version': httpVersion,
      ...(prefix === '' ? {} : { 'http.route': prefix }),
      ...(userAgent === undefined ? {} : { 'user_agent.original': userAgent.slice(0, MAX_USER_AGENT) }),
    },
    caller: {
      ...(typeof traceparent === 'string' ? { traceparent } : {}),
      ...(typeof tracestate === 'string' ? { tracestate } : {}),
    },
  }
}

/** Over HTTP/2 a request whose connection is gone has no socket. */
function isEncrypted({ socket }: { readonly socket: object | undefined }): boolean {
  return socket !== undefined && 'encrypted' in socket
}

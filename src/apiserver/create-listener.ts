/**
 * Makes what answers a server's requests (exchange.ts): plain handlers throughout, so that HTTP/1.1 and HTTP/2 are one.
 * Never listens by itself: tests call it with a server of their own.
 */
import type { RequestListener } from 'node:http'
import { traceServer } from '../telemetry/tracing.ts'
import { Exchange } from './exchange.ts'
import { InFlight } from './in-flight.ts'
import type { ListenerOptions } from './listener-options.ts'
import type { Route } from './route.ts'
import { OpenRequests } from './open-requests.ts'
import { OutageLog } from './outage-log.ts'

export function createListener(options: ListenerOptions): RequestListener {
  const routes = [...options.routes].sort((a, b) => b.prefix.length - a.prefix.length)
  const fallback: Route = { prefix: '', handler: options.fallback }
  const inFlight = new InFlight(options.inFlight)
  const open = options.requests ?? openUntil(options)
  const outages = new OutageLog(options.log, options.clock)
  const routeOf = (path: string): Route =>
    routes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`)) ?? fallback
  return (request, response) => {
    options.prepare?.(request)
    const exchange = new Exchange(options, routeOf, inFlight, open, outages, request, response)
    void traceServer(
      () => exchange.traced(),
      (span) => exchange.run(span),
    )
  }
}

/** Watches end all at once with the signal. */
function openUntil({ signal, clock }: ListenerOptions): OpenRequests {
  const open = new OpenRequests()
  const end = (): void => void open.watches.end(0, clock)
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  return open
}

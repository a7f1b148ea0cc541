/**
 * Carries a request about one cluster's object to that cluster: its body translated, its answer shown as reads show objects.
 */
import { createForwarder, relayAnswer, type Forwarder, type ForwarderOptions } from '../forward/forward.ts'
import { memberDestination } from '../forward/destination.ts'
import type { OwnerRoute } from '../forward/route.ts'
import { isApplication, isSession, mayChange, subresourceOf } from '../forward/streaming.ts'
import { auditCluster, type ProxyRequest } from '../plugin.ts'
import { bodyFormat, translateBody } from '../translate/body.ts'
import { ownersVersion } from '../translate/rules.ts'
import { memberAccept, sendAnswer } from './answer.ts'
import { Fences, type FencesOptions } from './fences.ts'
import { ownAnnotations } from './own-annotations.ts'
import { readWholeBody } from './request-body.ts'

export interface WriteServices {
  readonly forwarder: Forwarder
  readonly fences: Fences
}

/** Bytes of any kind, that nobody here looks into. */
const isOpaque = (request: ProxyRequest): boolean =>
  isApplication(request) || isSession(request) || subresourceOf(request) === 'log'

export async function serveOwned(services: WriteServices, request: ProxyRequest, route: OwnerRoute): Promise<void> {
  auditCluster(request, route.cluster)
  const destination = memberDestination(route.member)
  if (isOpaque(request)) return services.forwarder.forward(request, destination)
  const { forwarder, fences } = services
  const accept = memberAccept(request.request.incoming.headers.accept)
  const body = await translated(services, request, route)
  const rawQuery = ownersQuery(request, route)
  const carriedOut = mayChange(request) ? fences.begin(request, route) : undefined
  const answer = await forwarder.ask(request, destination, { headers: { accept }, body, rawQuery, decoded: true })
  const isObject = answer.status < 300 && /json/.test(String(answer.headers['content-type']))
  if (!isObject) return relayAnswer(request, answer)
  await sendAnswer(request, answer, route.cluster, accept, async (told) => carriedOut?.(told))
}

async function translated(
  { forwarder }: WriteServices,
  request: ProxyRequest,
  { cluster, member, object }: OwnerRoute,
): Promise<Buffer | undefined> {
  if (!mayChange(request)) return undefined
  const body = await readWholeBody(request)
  if (body.length === 0) return undefined
  const format = bodyFormat(request)
  const own = await ownAnnotations(forwarder, request, memberDestination(member), object)
  return translateBody(body, format, request, { owner: cluster, ...own })
}

const VERSION_PARAMETER = /(^|&)(resourceVersion=)([^&]*)/g

/** The query byte for byte, but for a version of many clusters that a read or a deletion of a collection names. */
function ownersQuery({ request: { rawQuery } }: ProxyRequest, { cluster }: OwnerRoute): string {
  return rawQuery.replace(VERSION_PARAMETER, (all: string, before: string, name: string, value: string) => {
    if (/^[0-9]*$/.test(value) || !/^[A-Za-z0-9_-]+$/.test(value)) return all
    return `${before}${name}${encodeURIComponent(ownersVersion(value, { owner: cluster }))}`
  })
}

export interface WriteServicesOptions extends ForwarderOptions, Omit<FencesOptions, 'clock'> {}

/** One for the whole server: every plugin has to see the same fences. */
export function createWriteServices(options: WriteServicesOptions): WriteServices {
  return { forwarder: createForwarder(options), fences: new Fences(options) }
}

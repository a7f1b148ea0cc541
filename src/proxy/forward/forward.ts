/**
 * Forwards a request to one cluster as the caller and relays the answer: path, query and body byte for byte, both bodies
 * streamed with back-pressure, nothing sent twice. A client that goes away aborts the request to the cluster at once.
 */
import type { Readable } from 'node:stream'
import type { MemberRequest, MemberResponse } from '../../fleet/member.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import type { ProxyRequest } from '../plugin.ts'
import { streamAnswer } from '../stream-answer.ts'
import { callerHeaders } from './caller-headers.ts'
import type { Destination } from './destination.ts'
import { faultedAnswer } from './faulted-answer.ts'
import { forwardFault } from './forward-fault.ts'
import { answerHeaders, requestHeaders, type Headers } from './headers.ts'
import { HeldPrivileges } from './held-privileges.ts'
import { isApplication, isStreaming } from './streaming.ts'
import { relayUpgrade } from '../streams/relay-upgrade.ts'
import { unboundedStreams, type Streams } from '../streams/streams.ts'

/** A kube-apiserver gives a request 60 s itself. */
const HEAD_MS = 65_000

export interface ForwardOptions {
  /** Default: the request's own. */
  readonly method?: string
  /** Instead of the request's own query. */
  readonly rawQuery?: string
  /** Instead of the request's own body, which then has been read; undefined: none at all. */
  readonly body?: Uint8Array | undefined
  /** Instead of those of the request; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** The answer will be read here, not relayed: unpacked. Default false. */
  readonly decoded?: boolean
}

export interface Forwarder {
  /**
   * The cluster's answer, whatever its status. Rejects with a `StatusError` where there is none, and where it refuses the
   * credentials that act for the caller (401): that is not the caller's fault. Reading its body throws `StatusError` too.
   */
  ask(request: ProxyRequest, destination: Destination, options?: ForwardOptions): Promise<MemberResponse>
  /** Asks, and hands the answer on as it comes; of what streams, an upgrade's connection too. */
  forward(request: ProxyRequest, destination: Destination, options?: ForwardOptions): Promise<void>
  /** The headers that say who the caller is, for whoever opens connections of its own (upgrades). */
  identity(request: ProxyRequest, destination: Destination): Promise<Headers>
}

export interface ForwarderOptions {
  readonly clock: Clock
  /** Default: other protocols are neither bounded nor counted. */
  readonly streams?: Streams
}

export function createForwarder({ clock, streams = unboundedStreams() }: ForwarderOptions): Forwarder {
  const privileges = new HeldPrivileges(clock)
  const identity: Forwarder['identity'] = ({ request }, destination) =>
    callerHeaders(request.user, destination, privileges)
  const ask: Forwarder['ask'] = async (request, destination, options = {}) => {
    const caller = await identity(request, destination)
    const answer = await send(request, destination, { ...options, caller })
    return accepted(request, destination, answer)
  }
  return {
    identity,
    ask,
    async forward(request, destination, options) {
      const { upgrade } = request.request
      if (upgrade === undefined || !isStreaming(request)) {
        return relayAnswer(request, await ask(request, destination, options))
      }
      const caller = await identity(request, destination)
      const answer = await relayUpgrade(request, destination, { upgrade, identity: caller, streams, clock })
      if (answer !== undefined) await relayAnswer(request, await accepted(request, destination, answer))
    },
  }
}

/** 401 says of our credentials that they are no good, unless an application says it of its caller's. */
async function accepted(request: ProxyRequest, { name }: Destination, answer: MemberResponse): Promise<MemberResponse> {
  if (answer.status !== 401 || isApplication(request)) return answer
  await answer.bytes().catch(() => undefined)
  throw new StatusError('badGateway', `${name} does not accept the credentials it is reached with`)
}

interface SendOptions extends ForwardOptions {
  readonly caller: Headers
}

async function send(request: ProxyRequest, to: Destination, options: SendOptions): Promise<MemberResponse> {
  const { path, request: asked } = request
  const own = { signal: asked.signal, left: to.signal }
  const signal = own.left === undefined ? own.signal : AbortSignal.any([own.signal, own.left])
  const streaming = isStreaming(request)
  const body = 'body' in options ? options.body : streamedBody(request)
  const { method = asked.method, rawQuery = asked.rawQuery } = options
  const message: MemberRequest = {
    method,
    path: rawQuery === '' ? path : `${path}?${rawQuery}`,
    headers: headersOf(request, options),
    ...(body === undefined ? {} : { body }),
    raw: options.decoded !== true,
    headersTimeoutMs: streaming ? 0 : HEAD_MS,
    ...(streaming ? { idleMs: 0 } : {}),
    signal,
  }
  const fault = (error: unknown): unknown => forwardFault(error, request, to)
  try {
    return faultedAnswer(await to.client.request(message), fault)
  } catch (error) {
    throw fault(error)
  }
}

function headersOf(request: ProxyRequest, options: SendOptions): Headers {
  const { body, headers = {}, decoded, caller } = options
  const sent = requestHeaders(request)
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) delete sent[name]
    else sent[name] = value
  }
  if (decoded === true) delete sent['accept-encoding']
  if ('body' in options) {
    delete sent['content-encoding']
    delete sent['content-length']
    if (body !== undefined) sent['content-length'] = String(body.length)
  }
  return { ...sent, ...caller }
}

/** Undefined where the request has none: a GET must not be sent with an empty one. */
function streamedBody({ request: { incoming } }: ProxyRequest): Readable | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding } = incoming.headers
  if (length !== undefined) return Number(length) === 0 ? undefined : incoming
  if (encoding !== undefined) return incoming
  const { stream } = incoming as { readonly stream?: { readonly endAfterHeaders: boolean } }
  return stream === undefined || stream.endAfterHeaders ? undefined : incoming
}

/** Hands an answer on as it comes. */
export function relayAnswer(request: ProxyRequest, answer: MemberResponse): Promise<void> {
  return streamAnswer(request.response, answer, answerHeaders(request, answer))
}

/**
 * Exec, attach, port-forward and whatever else a client wants to speak to a cluster over a connection of its own (SPDY/3.1,
 * WebSocket): the request for it goes on as the caller's, and once the cluster agrees the two connections are joined. What
 * is spoken on them is theirs.
 */
import type { MemberResponse, MemberUpgrade } from '../../fleet/member.ts'
import type { Upgrade } from '../../http/upgrade.ts'
import { notImplemented } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import type { Destination } from '../forward/destination.ts'
import { faultedAnswer } from '../forward/faulted-answer.ts'
import { forwardFault } from '../forward/forward-fault.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { OpenStream, Streams } from './streams.ts'
import { tunnel } from './tunnel.ts'
import { upgradeAnswerLines, upgradeRequestHeaders } from './upgrade-headers.ts'

export interface RelayUpgradeOptions {
  readonly upgrade: Upgrade
  /** Headers that say who the caller is. */
  readonly identity: Readonly<Record<string, string | string[]>>
  readonly streams: Streams
  readonly clock: Clock
}

/**
 * Resolves when both connections are closed. A cluster that does not agree has its plain answer given back, for clients fall
 * back by it. Rejects with `tooManyRequests`, or with a `StatusError` where there is no answer.
 */
export async function relayUpgrade(
  request: ProxyRequest,
  destination: Destination,
  { upgrade, identity, streams, clock }: RelayUpgradeOptions,
): Promise<MemberResponse | undefined> {
  const stream = streams.enter(upgrade.protocol, request.request.user.name)
  try {
    const headers = { ...upgradeRequestHeaders(request), ...auditId(request), ...identity }
    const answer = await ask(request, destination, upgrade.protocol, headers)
    stream.answered(answer.status)
    if (!('socket' in answer)) return answer
    await join(request, destination, upgrade, answer, stream, clock)
    return undefined
  } finally {
    stream.end()
  }
}

type Answer = Awaited<ReturnType<NonNullable<Destination['client']['upgrade']>>>

async function ask(
  request: ProxyRequest,
  destination: Destination,
  protocol: string,
  headers: MemberUpgrade['headers'],
): Promise<Answer> {
  const { client, name, signal: left } = destination
  const { method, rawQuery, signal: gone } = request.request
  if (client.upgrade === undefined) throw notImplemented(`${name} takes no other protocols`)
  const path = rawQuery === '' ? request.path : `${request.path}?${rawQuery}`
  const signal = left === undefined ? gone : AbortSignal.any([gone, left])
  const fault = (error: unknown): unknown => forwardFault(error, request, destination)
  try {
    const answer = await client.upgrade({ method, path, protocol, headers, signal })
    return 'socket' in answer ? answer : faultedAnswer(answer, fault)
  } catch (error) {
    throw fault(error)
  }
}

async function join(
  { response }: ProxyRequest,
  { signal: left }: Destination,
  upgrade: Upgrade,
  { socket: member, headerLines }: Extract<Answer, { readonly socket: unknown }>,
  stream: OpenStream,
  clock: Clock,
): Promise<void> {
  if (response.destroyed) return void member.destroy()
  const client = upgrade.accept(upgradeAnswerLines(headerLines))
  // Not by the request's own signal: a session may go on while the server drains, until its connection is cut.
  await tunnel(client, member, { clock, signal: left })
  stream.moved(member.bytesWritten, member.bytesRead)
}

/** The cluster's audit log then names the request by our id. */
function auditId({ response }: ProxyRequest): Record<string, string> {
  const id = response.getHeader('audit-id')
  return typeof id === 'string' ? { 'audit-id': id } : {}
}

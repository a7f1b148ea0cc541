/** Hands a member's or the control plane's answer on, body and all. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { MemberResponse } from '../../fleet/member.ts'
import { sendBody } from '../../http/answer.ts'
import type { ProxyRequest } from '../plugin.ts'
import { streamAnswer } from '../stream-answer.ts'

/** What of an answer's head concerns the client; the rest belongs to the connection, or names the other server. */
const RELAYED = ['content-type', 'etag', 'last-modified', 'cache-control', 'retry-after', 'warning', 'audit-id', 'vary']

/** Request headers that decide what comes back. */
const FORWARDED = ['accept', 'if-none-match', 'if-modified-since', 'user-agent']

export function forwardedHeaders({ request }: ProxyRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of FORWARDED) {
    const value = request.incoming.headers[name]
    if (typeof value === 'string') headers[name] = value
  }
  return headers
}

/** Sends a whole answer. Bodies that end are compressed anew if the client wants that. */
export async function relay(request: ProxyRequest, answer: MemberResponse): Promise<void> {
  const options = { status: answer.status, headers: relayedHeaders(request, answer) }
  if (answer.status === 304 || answer.status === 204 || request.request.method === 'HEAD') {
    await answer.bytes()
    request.response.writeHead(answer.status, options.headers).end()
    return
  }
  await sendBody(request, options, async (body) => {
    for await (const chunk of answer.body) {
      body.write(chunk)
      const wait = body.ready()
      if (wait !== undefined) await wait
    }
  })
}

/** Sends an answer as it comes, piece by piece: a watch. */
export function relayStream(request: ProxyRequest, answer: MemberResponse): Promise<void> {
  return streamAnswer(request.response, answer, relayedHeaders(request, answer))
}

function relayedHeaders({ prefix }: ProxyRequest, { headers }: MemberResponse): OutgoingHttpHeaders {
  const relayed: Record<string, string | string[]> = {}
  for (const name of RELAYED) {
    const value = headers[name]
    if (value !== undefined) relayed[name] = value
  }
  const location = headers['location']
  // A redirect to another path of the same server must not lose the prefix under which that server is seen.
  if (typeof location === 'string') relayed['location'] = location.startsWith('/') ? prefix + location : location
  return relayed as OutgoingHttpHeaders
}

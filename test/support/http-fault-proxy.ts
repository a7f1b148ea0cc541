/**
 * An HTTP proxy in front of a real search engine, which breaks what it is told to: answers that come from the proxy (429, 503,
 * a read-only index), requests that are carried out and whose answers are lost, and an engine that cannot be reached, a password.
 */
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type HttpFault = 'overloaded' | 'unavailable' | 'readOnly' | 'dropReplies' | 'down'

export interface HttpFaultProxy {
  readonly url: string
  /** From now on; undefined: none. Requests under way are cut where it is `down`. */
  fault: HttpFault | undefined
  /** Whoever says another is told 401; undefined: nobody is asked. */
  user: { readonly username: string; readonly password: string } | undefined
  /** How often each struck. */
  readonly struck: ReadonlyMap<HttpFault, number>
  close(): Promise<void>
}

const ANSWERS: Readonly<Partial<Record<HttpFault, readonly [status: number, type: string]>>> = {
  overloaded: [429, 'es_rejected_execution_exception'],
  unavailable: [503, 'unavailable_shards_exception'],
  readOnly: [403, 'cluster_block_exception'],
}

/** `target`: `http://HOST:PORT`. */
export async function startHttpFaultProxy(target: string): Promise<HttpFaultProxy> {
  const { hostname, port } = new URL(target)
  const agent = new Agent({ keepAlive: true })
  const struck = new Map<HttpFault, number>()
  let fault: HttpFault | undefined
  let expected: string | undefined
  let user: HttpFaultProxy['user']
  const server = createServer((incoming, response) => {
    if (expected !== undefined && incoming.headers.authorization !== expected) {
      return refuse(incoming, response, [401, 'security_exception'])
    }
    // Reads go on while an index is read-only.
    const now = fault === 'readOnly' && !isWrite(incoming) ? undefined : fault
    if (now !== undefined) struck.set(now, (struck.get(now) ?? 0) + 1)
    const answer = now === undefined ? undefined : ANSWERS[now]
    if (now === 'down') return incoming.socket.destroy()
    if (answer !== undefined) return refuse(incoming, response, answer)
    pass(incoming, response, now === 'dropReplies')
  })
  const pass = (incoming: IncomingMessage, response: ServerResponse, isDropped: boolean): void => {
    const { method, url: path, headers } = incoming
    const outgoing = httpRequest({ hostname, port, method, path, headers, agent }, (reply) => {
      if (isDropped) {
        reply.resume().once('end', () => incoming.socket.destroy())
        return
      }
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    outgoing.once('error', () => incoming.socket.destroy())
    incoming.pipe(outgoing)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    struck,
    get user() {
      return user
    },
    set user(next) {
      user = next
      expected = next && `Basic ${Buffer.from(`${next.username}:${next.password}`).toString('base64')}`
    },
    get fault() {
      return fault
    },
    set fault(next) {
      fault = next
      if (next === 'down') server.closeAllConnections()
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      agent.destroy()
    },
  }
}

function isWrite({ method, url = '' }: IncomingMessage): boolean {
  return /_bulk|_delete_by_query/.test(url) || method === 'PUT' || method === 'DELETE'
}

function refuse(incoming: IncomingMessage, response: ServerResponse, [status, type]: readonly [number, string]): void {
  incoming.resume().once('end', () => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' })
    response.end(JSON.stringify({ error: { type, reason: 'injected', root_cause: [] }, status }))
  })
}

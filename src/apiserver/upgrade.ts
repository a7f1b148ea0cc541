/**
 * Requests that ask for another protocol pass the way of all others: they get a response to be answered by, which can be
 * turned into the bare connection instead. Only HTTP/1.1 has them; its parser is gone once one has come, so that a plain
 * answer is the connection's last.
 */
import { ServerResponse, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { Upgrade } from '../http/upgrade.ts'
import type { Clock } from '../util/clock.ts'

/** A client that is refused has this long to read why and to go. */
const LINGER_MS = 2_000
/** Notices a client whose host or network is gone; how long one may be silent is nobody's business here. */
const KEEP_ALIVE_PROBE_AFTER_MS = 15_000

/** Handles a server's `upgrade` events by what handles its requests. */
export function upgradeListener(listener: RequestListener, clock: Clock) {
  return (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    listener(request, new UpgradeResponse(request, socket, head, clock))
  }
}

/** `h2c` is offered by clients that take a plain answer just as well. For `shouldUpgradeCallback`. */
export function isWantedUpgrade({ headers: { upgrade = '' } }: IncomingMessage): boolean {
  return !upgrade.split(',').some((protocol) => protocol.trim().toLowerCase() === 'h2c')
}

const ignore = (): void => undefined

export class UpgradeResponse extends ServerResponse implements Upgrade {
  readonly protocol: string
  readonly #connection: Socket
  readonly #head: Buffer

  constructor(request: IncomingMessage, socket: Socket, head: Buffer, clock: Clock) {
    super(request)
    this.protocol = request.headers.upgrade ?? ''
    this.#connection = socket
    this.#head = head
    this.shouldKeepAlive = false
    this.assignSocket(socket)
    socket.on('error', ignore) // it closes then, and the response with it
    // Read from, so that a client that goes before it is answered is noticed.
    socket.allowHalfOpen = false
    socket.on('readable', ignore)
    this.once('finish', () => {
      linger(socket, clock)
    })
  }

  accept(headerLines: readonly string[]): Socket {
    const socket = this.#connection
    this.sendDate = false // the other server's is among the lines
    this.writeHead(101, [...headerLines])
    this.flushHeaders()
    socket.allowHalfOpen = true
    socket.off('readable', ignore)
    socket.setTimeout(0)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_AFTER_MS)
    if (this.#head.length > 0) socket.unshift(this.#head)
    return socket
  }
}

/** What the client still sends is read and thrown away: a connection closed with unread bytes is reset, answer and all. */
function linger(socket: Socket, clock: Clock): void {
  socket.off('readable', ignore)
  socket.resume()
  socket.end()
  const cancel = clock.setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', cancel)
}

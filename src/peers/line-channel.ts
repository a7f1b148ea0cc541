/** Messages as lines of JSON on a socket. */
import type { Duplex } from 'node:stream'
import { decodeMessage, type Channel } from './channel.ts'

/** A notice is a few hundred bytes. */
const MAX_LINE_BYTES = 16 * 1024
/** So much may wait to be read by the other end: thousands of notices. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

export function lineChannel(socket: Duplex): Channel {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  return {
    listen(onMessage, onClose) {
      socket.on('close', onClose)
      socket.on('data', (chunk: Buffer) => {
        rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
        for (let end = rest.indexOf(10); end >= 0 && !socket.destroyed; end = rest.indexOf(10)) {
          const message = end > MAX_LINE_BYTES ? undefined : decodeMessage(rest.toString('utf8', 0, end))
          rest = rest.subarray(end + 1)
          if (message === undefined) socket.destroy()
          else onMessage(message)
        }
        if (rest.length > MAX_LINE_BYTES) socket.destroy()
      })
      if (socket.destroyed) onClose()
    },
    send(message) {
      if (socket.destroyed || !socket.writable) return
      socket.write(`${JSON.stringify(message)}\n`)
      if (socket.writableLength > MAX_WAITING_BYTES) socket.destroy()
    },
    close() {
      socket.destroy()
    },
  }
}

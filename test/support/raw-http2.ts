/** HTTP/2 frames by hand, for what no client would send. */
import { connect, type TLSSocket } from 'node:tls'
import { once } from 'node:events'

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
}
export const END_STREAM = 1
export const END_HEADERS = 4

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

export interface RawHttp2 {
  readonly socket: TLSSocket
  /** What the server sent so far. */
  readonly frames: readonly Frame[]
  readonly closed: Promise<void>
  send(...frames: readonly Buffer[]): void
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A header block without Huffman coding or the table: `name` and `value` as they are. */
export function headerBlock(headers: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), hpackText(name), hpackText(value)]))
}

function hpackText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([hpackLength(bytes.length), bytes])
}

function hpackLength(length: number): Buffer {
  if (length < 127) return Buffer.from([length])
  const bytes = [127]
  for (let rest = length - 127; ; rest >>>= 7) {
    if (rest < 128) {
      bytes.push(rest)
      return Buffer.from(bytes)
    }
    bytes.push((rest & 127) | 128)
  }
}

export function get(path: string): Buffer {
  return headerBlock([
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', path],
    [':authority', 'localhost'],
  ])
}

export async function connectRaw(port: number): Promise<RawHttp2> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const frames: Frame[] = []
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3)
      frames.push({
        type: rest.readUInt8(3),
        flags: rest.readUInt8(4),
        stream: rest.readUInt32BE(5),
        payload: rest.subarray(9, end),
      })
      rest = rest.subarray(end)
    }
  })
  await once(socket, 'secureConnect')
  const raw: RawHttp2 = {
    socket,
    frames,
    closed,
    send(...all) {
      if (!socket.destroyed) socket.write(Buffer.concat(all))
    },
  }
  socket.write(PREFACE)
  raw.send(frame(FRAME.settings, 0, 0))
  return raw
}

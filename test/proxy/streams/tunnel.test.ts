import assert from 'node:assert/strict'
import { createHash, randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, describe, it } from 'node:test'
import { tunnel } from '../../../src/proxy/streams/tunnel.ts'
import { systemClock, type Clock } from '../../../src/util/clock.ts'
import { FakeClock, until } from '../../support/fake-clock.ts'
import { readToEnd } from '../../support/upgrade-client.ts'

/** Two ends of one connection, each with a half that may stay open when the other ends. */
async function connection(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const near = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  for (const socket of [near, far]) socket.on('error', () => undefined)
  return { near, far }
}

/** Takes nothing of what is written to it until it is told to. */
class Held extends Duplex {
  readonly bytesRead = 0
  heard = ''
  #waiting: (() => void) | undefined
  #takes = false

  get socket(): Socket {
    return this as unknown as Socket
  }

  swallow(): void {
    this.#takes = true
    this.#waiting?.()
  }

  override _read(): void {
    // Pushed from outside.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const taken = (): void => {
      this.heard += String(chunk)
      done()
    }
    if (this.#takes) taken()
    else this.#waiting = taken
  }
}

describe('a tunnel', () => {
  const open: Socket[] = []
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy()
  })

  async function start(clock: Clock = systemClock) {
    const [left, right] = await Promise.all([connection(), connection()])
    open.push(left.near, left.far, right.near, right.far)
    const abort = new AbortController()
    const over = tunnel(left.far, right.far, { clock, signal: abort.signal })
    // What the client and the member hold in their hands.
    return { client: left.near, member: right.near, inner: [left.far, right.far] as const, over, abort }
  }

  it('carries bytes both ways, and each end over to the other', async () => {
    const { client, member, over } = await start()
    const asked = readToEnd(member)
    const answered = readToEnd(client)
    client.write('ls')
    client.end(' -l')
    assert.equal(await asked, 'ls -l')
    member.end('total 0')
    assert.equal(await answered, 'total 0')
    await over
  })

  it('lets a member end first, and still brings it what the client says', async () => {
    const { client, member, over } = await start()
    member.end('done')
    assert.equal(await readToEnd(client), 'done')
    const rest = readToEnd(member)
    client.end('thanks')
    assert.equal(await rest, 'thanks')
    await over
  })

  it('stays open for as long as both are silent', async () => {
    const clock = new FakeClock()
    const { client, member, over, inner } = await start(clock)
    client.write('a')
    await once(member, 'data')
    await clock.advance(24 * 3_600_000)
    assert.equal(clock.pending, 0, 'no timer of ours looks at it')
    assert.deepEqual(
      inner.map((socket) => [socket.destroyed, socket.timeout ?? 0]),
      [
        [false, 0],
        [false, 0],
      ],
    )
    client.write('b')
    assert.equal(String((await once(member, 'data'))[0]), 'b')
    client.destroy()
    member.destroy()
    await over
  })

  it('gives a side up that says nothing after the other has ended', async () => {
    const clock = new FakeClock()
    const { client, member, over } = await start(clock)
    let closed = false
    member.on('close', () => (closed = true))
    client.end()
    await once(member.resume(), 'end')
    await until(() => clock.pending === 1)
    await clock.advance(499)
    member.write('one')
    await once(client, 'data')
    await clock.advance(1)
    member.write('two')
    await once(client, 'data')
    await clock.advance(500)
    await clock.advance(499)
    assert.ok(!closed, 'it had something to say')
    await clock.advance(1)
    await over
    assert.equal(clock.pending, 0)
    client.destroy()
    member.destroy()
  })

  it('waits for a slow reader of the last bytes, and not for one that takes nothing', async () => {
    for (const takes of [true, false]) {
      const clock = new FakeClock()
      const [client, member] = [new Held(), new Held()]
      const over = tunnel(client.socket, member.socket, { clock, signal: undefined })
      member.push('last words')
      member.push(null)
      await clock.advance(9_999)
      assert.equal(client.heard, '')
      assert.ok(!client.destroyed)
      if (takes) {
        client.swallow()
        client.push(null)
        member.swallow()
      }
      await clock.advance(takes ? 0 : 501)
      await over
      assert.equal(client.heard, takes ? 'last words' : '')
      assert.equal(client.writableFinished, takes)
      assert.equal(clock.pending, 0)
    }
  })

  it('breaks both when one breaks, and when its signal aborts', async () => {
    for (const which of ['client', 'member', 'signal'] as const) {
      const { client, member, over, abort } = await start()
      client.write('x')
      await once(member, 'data')
      const other = which === 'member' ? client : member
      const gone = once(other.resume(), 'close')
      if (which === 'signal') abort.abort()
      else if (which === 'client') client.resetAndDestroy()
      else member.resetAndDestroy()
      await over
      other.end()
      await gone
    }
  })

  for (const [name, from, to] of [
    ['to the member', 'client', 'member'],
    ['to the client', 'member', 'client'],
  ] as const) {
    it(`reads no further than the other end takes: ${name}`, async () => {
      const pair = await start()
      const writer = pair[from]
      const reader = pair[to]
      const chunk = Buffer.alloc(1 << 20)
      // Full: buffers of the kernel on both sides, and ours. Pushed further, nothing more may pile up here.
      for (let i = 0; i < 64; i++) writer.write(chunk)
      let before = -1
      const held = () => pair.inner.reduce((sum, socket) => sum + socket.readableLength + socket.writableLength, 0)
      await until(() => {
        const { bytesRead } = pair.inner[from === 'client' ? 0 : 1]
        const still = bytesRead === before
        before = bytesRead
        return still && bytesRead > 0 && pair.inner.some((socket) => socket.writableNeedDrain)
      })
      assert.ok(held() <= 512 * 1024, `${held()} bytes are held`)
      reader.resume()
      await until(() => writer.writableLength === 0, 'the rest')
      writer.destroy()
      reader.destroy()
      await pair.over
    })
  }

  it('D6: brings 50 MB over unchanged, both ways at once', async () => {
    const { client, member, over } = await start()
    const sent = randomFillSync(Buffer.alloc(50_000_000))
    const expected = createHash('sha256').update(sent).digest('hex')
    const sum = async (socket: Socket) => {
      const hash = createHash('sha256')
      socket.on('data', (chunk: Buffer) => hash.update(chunk))
      await once(socket, 'end')
      return hash.digest('hex')
    }
    const sums = Promise.all([sum(client), sum(member)])
    client.end(sent)
    member.end(sent)
    assert.deepEqual(await sums, [expected, expected])
    await over
  })
})

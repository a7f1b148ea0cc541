/** Who may speak to a replica, over real connections: only one whose certificate the directory names, and only to that one. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import tls from 'node:tls'
import { selfSigned } from '../../src/app/self-signed.ts'
import type { Channel, PeerMessage } from '../../src/peers/channel.ts'
import type { Replica } from '../../src/peers/directory.ts'
import {
  dialPeer,
  fingerprintOf,
  listenForPeers,
  type OnPeer,
  type PeerIdentity,
  type PeerListener,
} from '../../src/peers/tls-transport.ts'
import { MAX_STRANGERS, STRANGER_MS } from '../../src/peers/strangers.ts'
import { FakeClock, until } from '../support/fake-clock.ts'

const NOW_MS = Date.UTC(2026, 10, 30)

async function identity(name: string): Promise<PeerIdentity> {
  const { certificate, key, raw } = await selfSigned(name, [], NOW_MS)
  return { certificate, key, fingerprint: fingerprintOf(raw) }
}

describe('connections between replicas', () => {
  let a: PeerIdentity
  let b: PeerIdentity
  let listener: PeerListener
  const taken: { readonly fingerprint: string; readonly messages: PeerMessage[]; readonly channel: Channel }[] = []
  let closed = 0

  before(async () => {
    ;[a, b] = await Promise.all([identity('a'), identity('b')])
    const onPeer: OnPeer = (fingerprint, channel) => {
      const messages: PeerMessage[] = []
      channel.listen(
        (message) => messages.push(message),
        () => closed++,
      )
      taken.push({ fingerprint, messages, channel })
      return Promise.resolve(true)
    }
    listener = await listenForPeers(a, { host: '127.0.0.1', port: 0 }, onPeer, new FakeClock())
  })
  after(() => listener.close())

  const target = (fingerprint: string): Replica => ({
    id: 'a',
    incarnation: '1',
    address: `127.0.0.1:${listener.port}`,
    fingerprint,
  })
  const dial = (fingerprint: string): Promise<Channel> => dialPeer(b, target(fingerprint), new AbortController().signal)

  it('each side knows the other by the certificate that it shows, and messages arrive whole', async () => {
    const channel = await dial(a.fingerprint)
    const back: PeerMessage[] = []
    channel.listen(
      (message) => back.push(message),
      () => undefined,
    )
    for (let n = 0; n < 200; n++) channel.send({ type: 'ping', n })
    await until(() => taken.at(-1)?.messages.length === 200)
    assert.equal(taken.at(-1)!.fingerprint, b.fingerprint)
    taken.at(-1)!.channel.send({ type: 'notice', n: 1, ageMs: 2, notice: { 'ü\n': ['x'] } })
    await until(() => back.length === 1)
    assert.deepEqual(back, [{ type: 'notice', n: 1, ageMs: 2, notice: { 'ü\n': ['x'] } }])
    channel.close()
    await until(() => closed === 1)
  })

  it('nothing is said to a server that shows another certificate', async () => {
    const before = taken.length
    await assert.rejects(dial(b.fingerprint), /not the replica that is registered there/)
    const again = await dial(a.fingerprint)
    again.send({ type: 'ping', n: 7 }) // by now the other has been heard out
    await until(() => taken.at(-1)?.messages.length === 1)
    again.close()
    assert.deepEqual(
      taken.slice(before).flatMap(({ messages }) => messages),
      [{ type: 'ping', n: 7 }],
    )
  })

  it('who shows no certificate, or speaks no TLS, is closed without being heard', async () => {
    const before = taken.length
    const bare = tls.connect({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false })
    bare.on('error', () => undefined)
    bare.write('{"type":"hello","incarnation":"1"}\n')
    const plain = connect(listener.port, '127.0.0.1')
    plain.on('error', () => undefined)
    plain.write('GET / HTTP/1.1\r\n\r\n')
    await Promise.all([bare, plain].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    assert.equal(taken.length, before)
  })

  for (const [what, bytes] of [
    ['a line that is no message', '{"type":"ping"}\n'],
    ['no JSON', 'hello\n'],
    ['a line without an end', 'x'.repeat(64 * 1024)],
  ] as const) {
    it(`${what} closes the connection`, async () => {
      const before = closed
      const socket = tls.connect({
        host: '127.0.0.1',
        port: listener.port,
        rejectUnauthorized: false,
        cert: b.certificate,
        key: b.key,
      })
      socket.on('error', () => undefined)
      socket.write(bytes)
      await until(() => closed === before + 1)
      assert.deepEqual(taken.at(-1)!.messages, [])
      socket.destroy()
    })
  }

  it('an address that is none, or where nobody listens, is a fault', async () => {
    for (const address of ['', 'x', 'x:', 'x:99999', '127.0.0.1:1']) {
      await assert.rejects(dialPeer(b, { ...target(a.fingerprint), address }, new AbortController().signal))
    }
  })
})

describe('connections of strangers', () => {
  const clock = new FakeClock()
  const sockets: Socket[] = []
  let own: PeerIdentity
  let replica: PeerIdentity
  let stranger: PeerIdentity
  let listener: PeerListener

  /** Of whoever shows another certificate than the replica's, it is never known whether that is one. */
  const onPeer: OnPeer = (fingerprint, channel) => {
    channel.listen(
      () => undefined,
      () => undefined,
    )
    return fingerprint === replica.fingerprint ? Promise.resolve(true) : new Promise(() => undefined)
  }
  const dialAs = (identity: PeerIdentity): Promise<Channel> =>
    dialPeer(
      identity,
      { id: 'a', incarnation: '1', address: `127.0.0.1:${listener.port}`, fingerprint: own.fingerprint },
      new AbortController().signal,
    )
  const idle = async (): Promise<void> => {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined)
    sockets.push(socket)
    await once(socket, 'connect')
  }
  const heldBy = (channel: Channel): { closed: boolean } => {
    const held = { closed: false }
    channel.listen(
      () => undefined,
      () => (held.closed = true),
    )
    return held
  }

  before(async () => {
    ;[own, replica, stranger] = await Promise.all([identity('own'), identity('replica'), identity('stranger')])
    listener = await listenForPeers(own, { host: '127.0.0.1', port: 0 }, onPeer, clock)
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await listener.close()
  })

  it('take no place of a replica, and the longest waiting goes when there are too many', async () => {
    const kept = heldBy(await dialAs(replica))
    const first = heldBy(await dialAs(stranger))
    for (let i = 1; i < MAX_STRANGERS; i++) await idle()
    const another = heldBy(await dialAs(replica))
    await until(() => first.closed)
    assert.deepEqual([kept.closed, another.closed], [false, false])
  })

  it('are closed when it is not known in time who they are; replicas stay', async () => {
    const kept = heldBy(await dialAs(replica))
    const waiting = heldBy(await dialAs(stranger))
    await clock.advance(STRANGER_MS - 1)
    assert.equal(waiting.closed, false)
    await clock.advance(1)
    await until(() => waiting.closed)
    assert.equal(kept.closed, false)
  })
})

/** Ten thousand connections that do nothing: held cheaply while they last, let go, and nobody else waits for them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { createTestClient, type TestClient } from '../support/real-parts/http.ts'
import { startTlsService, type TlsServiceProcess } from '../support/tls-service.ts'

const PODS = '/apis/search.karmada.io/v1alpha1/search/cache/api/v1/pods'
const COUNT = 10_000
const AT_ONCE = 100
/** Headers that do not come are waited for 10 s, so that connections are made faster than they are let go. */
const WORTH_BYTES = 120_000

describe('idle connections', () => {
  let service: TlsServiceProcess
  let client: TestClient

  before(async () => {
    service = await startTlsService()
    client = createTestClient({ url: service.url, caPem: service.caPem })
  })
  after(async () => {
    await client.close()
    await service.stop()
  })

  async function open(protocol: string): Promise<TLSSocket> {
    const socket = connect({ host: '127.0.0.1', port: service.port, ca: service.caPem, ALPNProtocols: [protocol] })
    socket.on('error', () => undefined)
    socket.resume()
    await once(socket, 'secureConnect')
    return socket
  }

  /** Opens them all; somebody else asks meanwhile and is told how long he waited at most, ms. */
  async function openAll(protocol: string): Promise<{ sockets: TLSSocket[]; slowestMs: number }> {
    const sockets: TLSSocket[] = []
    let slowestMs = 0
    while (sockets.length < COUNT) {
      const batch = Array.from({ length: AT_ONCE }, async () => {
        const socket = await open(protocol)
        // Between two requests a connection may idle for 2 min; one without any is let go after 10 s.
        if (protocol === 'http/1.1') socket.write(`GET ${PODS} HTTP/1.1\r\nHost: x\r\n\r\n`)
        return socket
      })
      sockets.push(...(await Promise.all(batch)))
      const startedMs = performance.now()
      await client.ok(PODS)
      slowestMs = Math.max(slowestMs, performance.now() - startedMs)
    }
    return { sockets, slowestMs }
  }

  for (const protocol of ['http/1.1', 'h2']) {
    it(`ten thousand over ${protocol}`, async () => {
      await client.ok(PODS)
      const before = await service.residentBytes()
      const left: number[] = []
      for (let round = 0; round < 3; round++) {
        const { sockets, slowestMs } = await openAll(protocol)
        const grown = (await service.residentBytes()) - before
        const held = sockets.filter((socket) => !socket.destroyed).length
        process.stdout.write(
          `${held} connections over ${protocol}: ${(grown / held / 1024).toFixed(1)} KiB each; ` +
            `the slowest of other requests meanwhile ${slowestMs.toFixed(0)} ms\n`,
        )
        assert.ok(held > COUNT * 0.99, `${held} are held`)
        assert.ok(grown / held < WORTH_BYTES, `${grown / held} bytes for each connection`)
        assert.ok(slowestMs < 5_000, `${slowestMs} ms`)
        for (const socket of sockets) socket.destroy()
        await delay(10_000) // for the server to notice
        left.push(await service.liveBytes())
      }
      // Not of resident bytes: those grow for many rounds, ever more slowly, by what the allocator cannot put together.
      const [first = 0, , last = 0] = left
      // Of two rounds; less than any object of a connection.
      assert.ok(last < first + 2 * 250 * COUNT, `${left.join(', ')} bytes are alive after each round`)
      await client.ok(PODS)
    })
  }
})

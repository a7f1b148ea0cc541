import assert from 'node:assert/strict'
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { listen, ListenError } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/util/clock.ts'

const LOOPBACK = { host: '127.0.0.1', port: 0 }

describe('the server', () => {
  it('lets a connection go as soon as its last answer has ended, though the client would keep it', async () => {
    let held: ServerResponse | undefined
    const hold = (_request: IncomingMessage, response: ServerResponse): void => {
      held = response
      response.write('a')
    }
    const server = await listen(hold, LOOPBACK, systemClock)
    const agent = new Agent({ keepAlive: true })
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(server.url, { agent }, resolve).on('error', reject)
    })
    answer.resume()
    const startedMs = performance.now()
    const closed = server.close(30_000)
    held?.end('b')
    await closed
    assert.ok(performance.now() - startedMs < 5_000, 'not after the whole grace period')
    assert.ok(answer.complete, 'the answer was not cut')
    agent.destroy()
  })

  it('names an address that it cannot have', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve)
    })
    const { port } = other.address() as AddressInfo
    try {
      await assert.rejects(
        listen(() => undefined, { ...LOOPBACK, port }, systemClock),
        (error) =>
          error instanceof ListenError &&
          error.message === `cannot listen on 127.0.0.1:${port}: the port is in use by another program`,
      )
    } finally {
      await new Promise((resolve) => other.close(resolve))
    }
  })
})

import assert from 'node:assert/strict'
import http2 from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { sendBody } from '../../src/http/answer.ts'
import { ADMIN } from './loopback.ts'

test('over HTTP/2 too, a reader that stands still stops the writer, and its leaving ends the answer quietly', async () => {
  let written = 0
  let over: (value: unknown) => void = () => undefined
  const finished = new Promise((resolve) => (over = resolve))
  const server = http2.createServer((incoming, outgoing) => {
    const response = outgoing as unknown as ServerResponse
    const signal = new AbortController().signal
    const request = { method: 'GET', path: '/', rawQuery: '', query: new URLSearchParams(), user: ADMIN, signal }
    const exchange = { request: { ...request, incoming: incoming as unknown as IncomingMessage }, response }
    sendBody(exchange, { headers: { 'content-type': 'text/plain' } }, async (body) => {
      for (let i = 0; i < 4_000; i++) {
        body.write(Buffer.alloc(64 * 1024))
        written += 64 * 1024
        const wait = body.ready()
        if (wait !== undefined) await wait
      }
    }).then(over, over)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const stream = client.request({ ':path': '/' })
  stream.on('error', () => undefined)
  stream.pause()
  for (let last = -1; last !== written;) {
    last = written
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.ok(written > 0 && written < 60_000_000, `back-pressure: ${written} of 262144000 bytes`)
  stream.close(http2.constants.NGHTTP2_CANCEL)
  assert.equal(await finished, undefined)
  client.destroy()
  await new Promise<void>((resolve) => server.close(() => resolve()))
})

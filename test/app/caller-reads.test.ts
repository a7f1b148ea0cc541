import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, test } from 'node:test'
import { callerReads } from '../../src/app/caller-reads.ts'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { ControlPlane } from '../../src/search/control-plane.ts'
import { systemClock } from '../../src/util/clock.ts'

const PATH = '/apis/work.karmada.io/v1alpha1/works?limit=50'
const JANE = { name: 'jane', uid: 'u1', groups: ['team', 'system:authenticated'], extra: { scopes: ['read'] } }

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function planeAt(listener: RequestListener): Promise<ControlPlane> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const client = createMemberClient({ server: url, credentials: noCredentials, qps: 0, clock: systemClock })
  ends.push(async () => {
    await client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return callerReads(client)
}

test('a read is the caller’s, whatever its status', async () => {
  const seen: IncomingMessage[] = []
  const plane = await planeAt((request, response) => {
    seen.push(request)
    response.writeHead(403).end('{"kind":"Status"}')
  })
  const { status, body } = await plane.get(PATH, JANE, new AbortController().signal)
  assert.deepEqual([status, String(body)], [403, '{"kind":"Status"}'])
  const [{ method, url, headers } = assert.fail()] = seen
  assert.deepEqual([method, url], ['GET', PATH])
  assert.equal(headers['impersonate-user'], 'jane')
  assert.equal(headers['impersonate-group'], 'team')
  assert.equal(headers['impersonate-uid'], 'u1')
  assert.equal(headers['impersonate-extra-scopes'], 'read')
})

test('nobody is asked for a caller without a name: it would be read as ourselves', async () => {
  const plane = await planeAt(() => assert.fail())
  await assert.rejects(plane.get(PATH, { ...JANE, name: '' }, new AbortController().signal), { code: 'forbidden' })
})

test('an answer that ends early is none, and one that hangs ends with the signal', async () => {
  const plane = await planeAt((request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('{"items":[')
    if (request.url === '/cut') setImmediate(() => request.socket.destroy())
  })
  await assert.rejects(plane.get('/cut', JANE, new AbortController().signal))
  const stop = new AbortController()
  const hanging = plane.get(PATH, JANE, stop.signal)
  setImmediate(() => stop.abort(new Error('enough')))
  await assert.rejects(hanging)
})

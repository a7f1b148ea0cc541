import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, test } from 'node:test'
import { callerReads } from '../../src/app/caller-reads.ts'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { StatusError } from '../../src/kube/status-error.ts'
import type { ControlPlane } from '../../src/search/control-plane.ts'
import { systemClock } from '../../src/util/clock.ts'

const PATH = '/apis/work.karmada.io/v1alpha1/works?limit=50'
const JANE = { name: 'jane', uid: 'u1', groups: ['team', 'system:authenticated'], extra: { scopes: ['read'] } }

const MAX = 1_000

const told: StatusError[] = []
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  told.length = 0
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
  return callerReads(client, { failed: (error) => told.push(error) })
}

test('a read is the caller’s, whatever its status', async () => {
  const seen: IncomingMessage[] = []
  const plane = await planeAt((request, response) => {
    seen.push(request)
    response.writeHead(403).end('{"kind":"Status"}')
  })
  const { status, body } = await plane.get(PATH, JANE, MAX, new AbortController().signal)
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
  await assert.rejects(plane.get(PATH, { ...JANE, name: '' }, MAX, new AbortController().signal), { code: 'forbidden' })
})

test('an answer that ends early is none, and one that hangs ends with the signal', async () => {
  const plane = await planeAt((request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('{"items":[')
    if (request.url === '/cut') setImmediate(() => request.socket.destroy())
  })
  await assert.rejects(plane.get('/cut', JANE, MAX, new AbortController().signal))
  const stop = new AbortController()
  const hanging = plane.get(PATH, JANE, MAX, stop.signal)
  setImmediate(() => stop.abort(new Error('enough')))
  await assert.rejects(hanging)
})

const DEPLOYMENT = '/apis/apps/v1/namespaces/shop/deployments/web'
const ROBOT = '/api/v1/namespaces/shop/serviceaccounts/robot'
const AUTHENTICATION = 'authentication.k8s.io'

/** As a kube-apiserver answers with, of what is in `details`. */
async function refused(path: string, details: object): Promise<number> {
  const plane = await planeAt((_, response) => {
    const status = { kind: 'Status', status: 'Failure', reason: 'Forbidden', details, code: 403 }
    response.writeHead(403).end(JSON.stringify(status))
  })
  return (await plane.get(path, JANE, MAX, new AbortController().signal)).status
}

test('who may not act as the caller is refused himself: that is no answer to the caller', async () => {
  const ours = [
    { name: 'jane', kind: 'users' },
    { name: 'team', kind: 'groups' },
    { name: 'robot', kind: 'serviceaccounts' },
    { name: 'u1', group: AUTHENTICATION, kind: 'uids' },
    { name: 'read', group: AUTHENTICATION, kind: 'userextras' },
    { name: 'jane', group: AUTHENTICATION, kind: 'users' },
  ]
  for (const details of ours)
    for (const path of [PATH, DEPLOYMENT])
      await assert.rejects(refused(path, details), (error: StatusError) => {
        assert.match(error.message, new RegExp(`may not impersonate ${details.kind}`))
        assert.doesNotMatch(error.message, /jane|team|robot|u1/, 'told once for all callers')
        return true
      })
  await assert.rejects(refused(ROBOT, { name: 'builder', kind: 'serviceaccounts' }))
})

test('what names what was asked for, or nobody, is an answer to the caller', async () => {
  assert.equal(await refused(PATH, { group: 'work.karmada.io', kind: 'works' }), 403)
  assert.equal(await refused(DEPLOYMENT, { name: 'web', group: 'apps', kind: 'deployments' }), 403)
  assert.equal(await refused(ROBOT, { name: 'robot', kind: 'serviceaccounts' }), 403)
  assert.equal(await refused(PATH, { name: 'jane', group: 'user.openshift.io', kind: 'users' }), 403)
  const plane = await planeAt((_, response) => response.writeHead(403).end('<html>no</html>'))
  assert.equal((await plane.get(PATH, JANE, MAX, new AbortController().signal)).status, 403)
})

test('a body is read as far as it may be, and why reads fail is told with its cause', async () => {
  const plane = await planeAt((_, response) => response.end('x'.repeat(MAX + 1)))
  const { signal } = new AbortController()
  assert.deepEqual(await plane.get(PATH, JANE, MAX, signal), { status: 200, body: undefined })
  assert.equal((await plane.get(PATH, JANE, MAX + 1, signal)).body?.length, MAX + 1)
  const cause = new Error('why')
  plane.failed(cause)
  assert.deepEqual(
    told.map((error) => [error.code, error.cause]),
    [['serviceUnavailable', cause]],
  )
})

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { NewObject } from '../../../src/fleet/demo/stored-object.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startFakeMember, type FakeMember, type Fault } from '../../support/fake-member.ts'
import { openLines } from './lines.ts'

let clock: FakeClock
let member: FakeMember

beforeEach(async () => {
  clock = new FakeClock()
  member = await startFakeMember({ clock, objects: [pod('a'), pod('b')] })
})

afterEach(() => member.close())

function pod(name: string): NewObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: {}, status: {} }
}

function list(fault?: Fault): Promise<Response> {
  if (fault !== undefined) member.misbehave({ on: { resource: 'pods', watch: false }, times: 1, fault })
  return fetch(`${member.url}/api/v1/pods`)
}

test('an error Status carries its code, reason and Retry-After; it strikes as often as told', async () => {
  const limited = await list({ type: 'status', code: 429, retryAfterSeconds: 7 })
  assert.equal(limited.status, 429)
  assert.equal(limited.headers.get('retry-after'), '7')
  assert.equal(((await limited.json()) as { reason: string }).reason, 'TooManyRequests')
  const gone = await list({ type: 'status', code: 410, continueToken: 'X' })
  assert.deepEqual(((await gone.json()) as { metadata: unknown }).metadata, { continue: 'X' })
  const fine = await list()
  assert.equal(fine.status, 200)
  await fine.arrayBuffer()
})

test('a dropped answer and a cut body break the connection; a truncated body ends cleanly', async () => {
  await assert.rejects(list({ type: 'drop' }))
  for (const bytes of [0, 40]) {
    const cut = await list({ type: 'cutAfter', bytes })
    await assert.rejects(cut.text())
    const truncated = await list({ type: 'truncateAfter', bytes })
    assert.equal((await truncated.text()).length, bytes)
  }
})

test('a body that stalls says nothing more; a split one is whole in the end', async () => {
  const stalled = await list({ type: 'stallAfter', bytes: 25 })
  const reader = stalled.body?.getReader()
  const first = await reader?.read()
  assert.equal(Buffer.from(first?.value ?? []).toString(), '{"kind":"PodList","apiVer')
  await reader?.cancel()
  const split = await list({ type: 'split', bytes: 3 })
  assert.equal(((await split.json()) as { items: unknown[] }).items.length, 2)
})

test('a slow answer waits for the clock, a stalled one for ever', async () => {
  let answered = false
  const slow = list({ type: 'slow', ms: 5_000 }).then(async (response) => {
    answered = true
    return (await response.text()).length
  })
  await member.until(() => clock.pending === 1)
  assert.equal(answered, false)
  await clock.advance(5_000)
  assert.ok((await slow) > 100)
  const stalled = list({ type: 'stall' })
  await member.until(() => member.requests.length === 2)
  await member.stop()
  await assert.rejects(stalled)
  await member.start()
})

test('watches end, break in mid-line, expire and fall silent as told', async () => {
  const url = `${member.url}/api/v1/pods?watch=1&resourceVersion=${member.version}`
  const open = async (): ReturnType<typeof openLines> => {
    const count = member.watches('pods').length
    const lines = await openLines(url)
    await member.until(() => member.watches('pods').length > count)
    return lines
  }
  const ended = await open()
  member.endWatches('pods')
  assert.equal(await ended.ended(), 'clean')
  const cut = await open()
  member.cutWatches('pods', '{"type":"ADD')
  assert.equal(await cut.ended(), 'broken')
  assert.equal(cut.rest(), '{"type":"ADD')
  const expired = await open()
  member.expireWatches('pods')
  assert.equal((await expired.take(1))[0]?.type, 'ERROR')
  assert.equal(await expired.ended(), 'clean')
  const held = await open()
  member.holdWatches('pods')
  member.put(pod('c'))
  member.bookmark('pods')
  for (const watch of member.watches('pods')) watch.resume()
  assert.deepEqual(
    (await held.take(2)).map(({ type }) => type),
    ['ADDED', 'BOOKMARK'],
  )
  held.close()
})

test('an ERROR event as the whole answer of a watch', async () => {
  member.misbehave({ on: { watch: true }, fault: { type: 'errorEvent', code: 410 } })
  const lines = await openLines(`${member.url}/api/v1/pods?watch=1`)
  const [event] = await lines.take(1)
  assert.deepEqual([event?.type, (event?.object as unknown as { reason: string }).reason], ['ERROR', 'Expired'])
})

test('requests are logged byte for byte; a lifted misbehaviour no longer strikes', async () => {
  const lift = member.misbehave({ on: { path: /limit=5/ }, fault: { type: 'status', code: 403 } })
  const path = '/api/v1/namespaces/default/pods?limit=5&labelSelector=a%20in%20(b)'
  assert.equal(((await (await fetch(member.url + path)).json()) as { code: number }).code, 403)
  lift()
  const again = await fetch(`${member.url}/api/v1/pods?limit=5`)
  assert.equal(again.status, 200)
  await again.arrayBuffer()
  assert.deepEqual(
    member.requested({ resource: 'pods', watch: false }).map(({ url }) => url),
    [path, '/api/v1/pods?limit=5'],
  )
})

test('it comes back under its URL, with its objects after a stop, without them after a lost etcd', async () => {
  const { url } = member
  await member.stop()
  await assert.rejects(list())
  await member.start()
  assert.equal(member.url, url)
  assert.equal(((await (await list()).json()) as { items: unknown[] }).items.length, 2)
  await member.restartEmpty(5)
  const empty = (await (await list()).json()) as { items: unknown[]; metadata: { resourceVersion: string } }
  assert.deepEqual([empty.items.length, empty.metadata.resourceVersion], [0, '5'])
})

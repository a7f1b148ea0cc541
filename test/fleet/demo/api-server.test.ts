import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { NewObject } from '../../../src/fleet/demo/stored-object.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { customType, startFakeMember, type FakeMember } from '../../support/fake-member.ts'
import { openLines, type Lines } from './lines.ts'

let clock: FakeClock
let member: FakeMember
let watches: Lines[]

beforeEach(async () => {
  clock = new FakeClock()
  watches = []
  member = await startFakeMember({ clock, extraTypes: [customType('Foo')] })
})

afterEach(async () => {
  for (const watch of watches) watch.close()
  await member.close()
})

function pod(name: string, labels: Record<string, string> = {}, nodeName = 'n1'): NewObject {
  const metadata = { name, namespace: 'default', labels }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName, containers: [] }, status: { phase: 'Running' } }
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: { [key: string]: unknown } & List
}

interface List {
  readonly items: { metadata: { name: string }; kind?: string; apiVersion?: string }[]
  readonly metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number }
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(member.url + path, { headers })
  const text = await response.text()
  const body = text.startsWith('{') ? (JSON.parse(text) as Answer['body']) : ({} as Answer['body'])
  return { status: response.status, headers: response.headers, text, body }
}

async function watch(path: string): Promise<Lines> {
  const lines = await openLines(`${member.url}${path}`)
  watches.push(lines)
  return lines
}

function names({ body }: Answer): string[] {
  return body.items.map((item) => item.metadata.name)
}

test('pages are those of the first page’s version, whatever changes meanwhile', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) member.put(pod(name))
  const first = await get('/api/v1/pods?limit=2')
  assert.deepEqual(names(first), ['a', 'b'])
  assert.equal(first.body.metadata.remainingItemCount, 3)
  member.delete('Pod', 'default', 'c')
  member.put(pod('bb'))
  const second = await get(`/api/v1/pods?limit=2&continue=${first.body.metadata.continue ?? ''}`)
  const third = await get(`/api/v1/pods?limit=2&continue=${second.body.metadata.continue ?? ''}`)
  assert.deepEqual([...names(second), ...names(third)], ['c', 'd', 'e'])
  assert.equal(third.body.metadata.resourceVersion, first.body.metadata.resourceVersion)
  assert.equal(third.body.metadata.continue, undefined)
})

test('A5: a continue token older than the history is 410 with a token that goes on', async () => {
  for (const name of ['a', 'b', 'c']) member.put(pod(name))
  const first = await get('/api/v1/pods?limit=1')
  member.put(pod('aa'))
  member.compact()
  const expired = await get(`/api/v1/pods?limit=1&continue=${first.body.metadata.continue ?? ''}`)
  assert.equal(expired.status, 410)
  assert.equal(expired.body['reason'], 'Expired')
  const rest = await get(`/api/v1/pods?continue=${expired.body.metadata.continue ?? ''}`)
  assert.deepEqual(names(rest), ['aa', 'b', 'c'])
  assert.equal(rest.body.metadata.resourceVersion, member.version)
})

test('a list at version 0 has everything whatever the limit; one from the future is 504', async () => {
  for (const name of ['a', 'b', 'c']) member.put(pod(name))
  assert.equal(names(await get('/api/v1/pods?limit=1&resourceVersion=0')).length, 3)
  const future = await get('/api/v1/pods?resourceVersion=99999')
  assert.equal(future.status, 504)
  assert.deepEqual(
    (future.body['details'] as { causes: { reason: string }[] }).causes[0]?.reason,
    'ResourceVersionTooLarge',
  )
  const exact = await get('/api/v1/pods?resourceVersion=1001&resourceVersionMatch=Exact')
  assert.deepEqual(names(exact), ['a'])
})

test('selectors narrow lists; fields a kind does not have are 400', async () => {
  member.put(pod('a', { tier: 'web' }, 'n1'))
  member.put(pod('b', { tier: 'db' }, 'n2'))
  assert.deepEqual(names(await get('/api/v1/pods?labelSelector=tier!%3Dweb')), ['b'])
  assert.deepEqual(names(await get('/api/v1/pods?fieldSelector=spec.nodeName%3Dn1')), ['a'])
  const unknown = await get('/api/v1/pods?fieldSelector=spec.foo%3D1')
  assert.equal(unknown.status, 400)
  assert.match(String(unknown.body['message']), /field label not supported: spec.foo/)
})

test('built-in list items have no kind, custom ones have, and their lists end with the metadata', async () => {
  member.put(pod('a'))
  member.put({ apiVersion: 'example.io/v1', kind: 'Foo', metadata: { name: 'f', namespace: 'default' }, spec: {} })
  const pods = await get('/api/v1/namespaces/default/pods')
  assert.equal(pods.body['kind'], 'PodList')
  assert.equal(pods.body.items[0]?.kind, undefined)
  const foos = await get('/apis/example.io/v1/foos')
  assert.deepEqual([foos.body.items[0]?.kind, foos.body.items[0]?.apiVersion], ['Foo', 'example.io/v1'])
  assert.deepEqual(Object.keys(foos.body), ['apiVersion', 'items', 'kind', 'metadata'])
})

test('what is not there is a 404 Status; nothing can be written', async () => {
  const object = await get('/api/v1/namespaces/default/pods/nope')
  assert.deepEqual([object.status, object.body['message']], [404, 'pods "nope" not found'])
  assert.equal((await get('/apis/apps/v1/nothings')).status, 404)
  assert.equal((await get('/api/v1/namespaces/default/nodes')).status, 404)
  const written = await fetch(`${member.url}/api/v1/namespaces/default/pods`, { method: 'POST', body: '{}' })
  assert.equal(written.status, 405)
  await written.arrayBuffer()
})

test('a watch goes on from a version; objects that enter or leave the selection are ADDED and DELETED', async () => {
  const from = member.put(pod('a', { tier: 'web' })).version
  member.put(pod('b', { tier: 'web' }))
  const lines = await watch(`/api/v1/pods?watch=1&resourceVersion=${from}&labelSelector=tier%3Dweb`)
  member.put(pod('a', { tier: 'db' }))
  member.put(pod('c', { tier: 'db' }))
  member.put(pod('c', { tier: 'web' }))
  member.delete('Pod', 'default', 'c')
  const events = await lines.take(4)
  assert.deepEqual(
    events.map(({ type, object }) => [type, object.metadata.name, object.metadata.labels?.['tier']]),
    [
      ['ADDED', 'b', 'web'],
      ['DELETED', 'a', 'web'],
      ['ADDED', 'c', 'web'],
      ['DELETED', 'c', 'web'],
    ],
  )
  assert.equal(events[1]?.object.metadata.resourceVersion, String(from + 2))
  assert.equal(events[1]?.object.kind, 'Pod')
})

test('a watch without a version begins with what there is; sendInitialEvents marks its end', async () => {
  member.put(pod('a'))
  const plain = await watch('/api/v1/pods?watch=true')
  assert.deepEqual(
    (await plain.take(1)).map(({ type }) => type),
    ['ADDED'],
  )
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const streamed = await watch(`/api/v1/pods?${query}`)
  const [added, bookmark] = await streamed.take(2)
  assert.equal(added?.type, 'ADDED')
  assert.equal(bookmark?.type, 'BOOKMARK')
  assert.deepEqual(bookmark?.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' })
  assert.equal(bookmark?.object.metadata.resourceVersion, member.version)
})

test('bookmarks come on time, once more before the time-out, and the watch ends cleanly', async () => {
  member.put(pod('a'))
  const lines = await watch(
    `/api/v1/pods?watch=1&resourceVersion=${member.version}&allowWatchBookmarks=true&timeoutSeconds=90`,
  )
  await clock.advance(60_000)
  assert.equal((await lines.take(1))[0]?.type, 'BOOKMARK')
  await clock.advance(28_000)
  assert.equal((await lines.take(1))[0]?.type, 'BOOKMARK')
  await clock.advance(2_000)
  assert.equal(await lines.ended(), 'clean')
  await member.until(() => member.watches().length === 0)
  assert.equal(clock.pending, 0)
})

test('a watch from before the history is told 410 inside the stream; one from the future waits', async () => {
  member.put(pod('a'))
  member.compact()
  const expired = await watch('/api/v1/pods?watch=1&resourceVersion=1000')
  const [event] = await expired.take(1)
  assert.equal(event?.type, 'ERROR')
  assert.equal((event?.object as unknown as { code: number }).code, 410)
  const future = await watch('/api/v1/pods?watch=1&resourceVersion=1003')
  member.put(pod('b'))
  member.put(pod('c'))
  member.put(pod('d'))
  assert.equal((await future.take(1))[0]?.object.metadata.name, 'd')
})

test('discovery, plain and aggregated, tells the same; the ETag spares the body', async () => {
  const plain = await get('/apis/apps/v1')
  const resources = plain.body['resources'] as { name: string; shortNames?: string[] }[]
  assert.deepEqual(resources.find(({ name }) => name === 'deployments')?.shortNames, ['deploy'])
  assert.ok(resources.some(({ name }) => name === 'deployments/scale'))
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
  const aggregated = await get('/apis', { accept })
  assert.match(aggregated.headers.get('content-type') ?? '', /as=APIGroupDiscoveryList/)
  const groups = aggregated.body.items.map(({ metadata }) => metadata.name)
  assert.ok(groups.includes('apps') && groups.includes('example.io'))
  const etag = aggregated.headers.get('etag') ?? ''
  assert.equal((await get('/apis', { accept, 'if-none-match': etag })).status, 304)
  member.addType(customType('Bar'))
  assert.notEqual((await get('/apis', { accept, 'if-none-match': etag })).headers.get('etag'), etag)
  assert.equal((await get('/api', { accept: 'application/json' })).body['kind'], 'APIVersions')
  assert.equal((await get('/apis')).body['kind'], 'APIGroupList')
  assert.equal((await get('/version')).body['gitVersion'], 'v1.36.3')
})

test('Tables and metadata alone, where they are asked for', async () => {
  member.put(pod('a'))
  const table = await get('/api/v1/pods', { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' })
  const columns = table.body['columnDefinitions'] as { name: string }[]
  assert.deepEqual(
    columns.slice(0, 3).map(({ name }) => name),
    ['Name', 'Ready', 'Status'],
  )
  assert.deepEqual((table.body['rows'] as { cells: unknown[] }[])[0]?.cells.slice(0, 3), ['a', '0/0', 'Running'])
  const partial = await get('/api/v1/pods', {
    accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  })
  assert.equal(partial.body['kind'], 'PartialObjectMetadataList')
  assert.deepEqual(Object.keys(partial.body.items[0] ?? {}), ['kind', 'apiVersion', 'metadata'])
  assert.equal((await get('/api/v1/pods', { accept: 'application/vnd.kubernetes.protobuf' })).status, 406)
})

test('big lists are compressed for those who ask, small ones never', async () => {
  member.put(pod('a'))
  assert.equal((await get('/api/v1/pods', { 'accept-encoding': 'gzip' })).headers.get('content-encoding'), null)
  for (let i = 0; i < 600; i++) member.put(pod(`pod-${i}`, { filler: 'x'.repeat(60) }))
  const big = await get('/api/v1/pods', { 'accept-encoding': 'gzip' })
  assert.equal(big.headers.get('content-encoding'), 'gzip')
  assert.equal(big.body.items.length, 601)
})

test('OpenAPI documents lead from a kind to its fields, also for custom kinds', async () => {
  const index = await get('/openapi/v3')
  const paths = index.body['paths'] as Record<string, { serverRelativeURL: string }>
  const document = await get(paths['api/v1']?.serverRelativeURL ?? '')
  const { schemas } = document.body['components'] as {
    schemas: Record<string, { properties: Record<string, unknown> }>
  }
  assert.deepEqual(schemas['V1Pod']?.properties['spec'], { allOf: [{ $ref: '#/components/schemas/V1PodSpec' }] })
  assert.ok(schemas['V1PodSpec']?.properties['containers'])
  assert.equal((await get('/openapi/v3/apis/example.io/v1')).status, 200)
  assert.equal((await get('/openapi/v3/apis/nothing/v1')).status, 404)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { fetchDiscovery, type Discovery } from '../../src/fleet/discovery.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { isMemberError } from '../../src/fleet/member-error.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import { systemClock } from '../../src/util/clock.ts'
import { customType, startFakeMember } from '../support/fake-member.ts'
import { serveHttp } from './test-server.ts'

const signal = AbortSignal.any([])

function clientOf(url: string): MemberClient & AsyncDisposable {
  const client = createMemberClient({ server: url, credentials: noCredentials, qps: 0, clock: systemClock })
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const find = (discovery: Discovery, resource: string, group = '') =>
  discovery.resources.find((candidate) => candidate.resource === resource && candidate.group === group)

/** The same member as one that knows aggregated discovery and as one that does not. */
function plainly(client: MemberClient): MemberClient {
  return {
    request: (request) => client.request({ ...request, headers: { ...request.headers, accept: 'application/json' } }),
    close: () => client.close(),
  }
}

test('aggregated and plain discovery tell the same', async () => {
  const member = await startFakeMember({ extraTypes: [customType('Foo', { shortNames: ['fo'] })] })
  await using client = clientOf(member.url)
  const aggregated = await fetchDiscovery(client, { signal })
  const requests = member.requests.length
  const plain = await fetchDiscovery(plainly(client), { signal })
  assert.equal(requests, 2)
  assert.ok(member.requests.length > 8)
  const sorted = (discovery: Discovery) =>
    discovery.resources
      .map((resource) => JSON.stringify({ ...resource, subresources: [...resource.subresources].sort() }))
      .sort()
  assert.deepEqual(sorted(aggregated), sorted(plain))
  const pods = find(aggregated, 'pods')
  assert.equal(pods?.kind, 'Pod')
  assert.equal(pods?.namespaced, true)
  assert.deepEqual(pods?.shortNames, ['po'])
  assert.ok(pods?.verbs.includes('watch'))
  assert.equal(find(aggregated, 'nodes')?.namespaced, false)
  assert.deepEqual(find(aggregated, 'foos', 'example.io')?.shortNames, ['fo'])
  await member.close()
})

test('a member where nothing changed answers 304, and the result is the same object', async () => {
  const member = await startFakeMember()
  await using client = clientOf(member.url)
  const first = await fetchDiscovery(client, { signal })
  assert.notEqual(first.etag, undefined)
  assert.equal(await fetchDiscovery(client, { previous: first, signal }), first)
  assert.ok(member.requests.slice(2).every((request) => request.headers['if-none-match'] !== undefined))

  member.addType(customType('Foo'))
  const second = await fetchDiscovery(client, { previous: first, signal })
  assert.notEqual(second, first)
  assert.equal(find(second, 'foos', 'example.io')?.kind, 'Foo')
  assert.equal(find(second, 'pods'), find(first, 'pods'), 'the other root is kept as it was')

  const plain = await fetchDiscovery(plainly(client), { signal })
  assert.equal(plain.etag, undefined)
  assert.equal(await fetchDiscovery(plainly(client), { previous: plain, signal }), plain)
  await member.close()
})

test('C6: a group that fails is named, and what the others serve is there', async () => {
  const member = await startFakeMember({ extraTypes: [customType('Foo')] })
  await using client = clientOf(member.url)
  member.misbehave({ on: { path: '/apis/example.io/v1' }, fault: { type: 'status', code: 503 } })
  const plain = await fetchDiscovery(plainly(client), { signal })
  assert.deepEqual(plain.failedGroups, ['example.io'])
  assert.equal(find(plain, 'foos', 'example.io'), undefined)
  assert.notEqual(find(plain, 'deployments', 'apps'), undefined)
  await member.close()
})

test('C6: an aggregated API that is stale counts as failed, whatever it last listed', async () => {
  const version = { version: 'v1beta1', freshness: 'Stale' }
  const items = [{ metadata: { name: 'metrics.k8s.io' }, versions: [version] }]
  await using server = await serveHttp((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ kind: 'APIGroupDiscoveryList', items }))
  })
  await using client = clientOf(server.url)
  const discovery = await fetchDiscovery(client, { signal })
  assert.ok(discovery.failedGroups.includes('metrics.k8s.io'))
  assert.deepEqual(discovery.resources, [])
})

test('a root that answers an error, or no JSON, rejects', async () => {
  const member = await startFakeMember()
  await using client = clientOf(member.url)
  member.misbehave({ on: { path: '/apis' }, times: 1, fault: { type: 'status', code: 500 } })
  await assert.rejects(fetchDiscovery(client, { signal }), (error) => isMemberError(error, 'rejected'))
  for (const text of ['<html>login</html>', '[]', '"x"', '']) {
    member.misbehave({ on: { path: '/apis' }, times: 1, fault: { type: 'body', text } })
    await assert.rejects(fetchDiscovery(client, { signal }), (error) => isMemberError(error, 'protocol'), text)
  }
  assert.ok((await fetchDiscovery(client, { signal })).resources.length > 10)
  await member.close()
})

test('documents of any shape are read without harm', async () => {
  const odd = [
    { kind: 'APIGroupDiscoveryList', items: [null, 1, { metadata: null, versions: [{ resources: [{}, null] }] }] },
    { kind: 'APIVersions', versions: [1, null], groups: [{ versions: 'x' }] },
    { kind: 'APIGroupList' },
    {},
  ]
  for (const document of odd) {
    await using server = await serveHttp((_request, response) => response.end(JSON.stringify(document)))
    await using client = clientOf(server.url)
    assert.deepEqual((await fetchDiscovery(client, { signal })).failedGroups, [])
  }
})

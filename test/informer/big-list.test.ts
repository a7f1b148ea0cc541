/** Lists that are larger than memory should be, and objects that are larger than they can be. */
import assert from 'node:assert/strict'
import { pipeline, Readable } from 'node:stream'
import { test } from 'node:test'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { HttpListerWatcher } from '../../src/informer/http-lister-watcher.ts'
import { MalformedError } from '../../src/kube/malformed-error.ts'
import { systemClock } from '../../src/util/clock.ts'
import { serveHttp } from '../fleet/test-server.ts'

const MIB = 1024 * 1024
const signal = AbortSignal.any([])

/** Serves one page of `count` objects of a mebibyte each. */
function serveList(count: number) {
  const head = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":['
  const object = Buffer.from(`{"metadata":{"name":"big"},"data":{"x":"${'x'.repeat(MIB - 50)}"}}`)
  function* body(): Generator<string | Buffer> {
    yield head
    for (let index = 0; index < count; index++) {
      if (index > 0) yield ','
      yield object
    }
    yield ']}'
  }
  return serveHttp((_request, response) => {
    pipeline(Readable.from(body()), response, () => undefined)
  })
}

function lister(url: string, maxObjectBytes?: number) {
  const client = createMemberClient({ server: url, credentials: noCredentials, clock: systemClock })
  const source = new HttpListerWatcher({
    client,
    cluster: 'member1',
    gvr: { group: '', version: 'v1', resource: 'configmaps' },
    clock: systemClock,
    random: () => 0,
    ...(maxObjectBytes === undefined ? {} : { maxObjectBytes }),
  })
  return { client, source }
}

test('a list of 200 MB passes through in the memory of a few objects', async () => {
  await using server = await serveList(200)
  const { client, source } = lister(server.url)
  let objects = 0
  let bytes = 0
  let peak = 0
  const before = process.memoryUsage()
  const add = (object: Uint8Array): void => {
    objects += 1
    bytes += object.length
    const { heapUsed, external } = process.memoryUsage()
    peak = Math.max(peak, heapUsed + external - before.heapUsed - before.external)
  }
  assert.equal(await source.list({ add, restart: () => assert.fail('restarted') }, signal), '7')
  assert.equal(objects, 200)
  assert.ok(bytes > 199 * MIB, `${bytes} bytes`)
  assert.ok(peak < 100 * MIB, `${Math.round(peak / MIB)} MiB at the peak`)
  await client.close()
})

test('an object beyond the bound is told as such, and the rest of the list is not read', async () => {
  await using server = await serveList(200)
  const { client, source } = lister(server.url, MIB / 2)
  const sink = { add: () => assert.fail('no object is small enough'), restart: () => assert.fail('restarted') }
  await assert.rejects(
    source.list(sink, signal),
    (error) => error instanceof MalformedError && error.code === 'tooLarge',
  )
  await client.close()
})

/** The harness that all tests against real search engines stand on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SEARCH_ENGINES, startSearchEngine } from '../support/real-parts/index.ts'

const VERSIONS = {
  'opensearch-2': /^2\.19/,
  'opensearch-3': /^3\./,
  'elasticsearch-8': /^8\./,
  'elasticsearch-9': /^9\./,
}

for (const name of SEARCH_ENGINES) {
  test(`${name} keeps what it has been told over a kill`, async (t) => {
    const engine = await startSearchEngine(name)
    t.after(() => engine.stop())
    const { version } = await engine.client.ok('/')
    assert.match(version.number, VERSIONS[name])
    await engine.client.ok('/things/_doc/1?refresh=true', { method: 'PUT', body: { a: 1 } })
    await engine.kill()
    await engine.start()
    assert.equal((await engine.client.ok('/things/_count')).count, 1)
  })
}

test('OpenSearch with its security plugin knows who may do what', async (t) => {
  const engine = await startSearchEngine('opensearch-2-security')
  t.after(() => engine.stop())
  const status = async (user: string, password: string, method: string): Promise<number> => {
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    const path = method === 'PUT' ? '/things/_doc/1' : '/things/_count'
    const body = method === 'PUT' ? { body: { a: 1 } } : {}
    return (await engine.client.request(path, { method, headers: { authorization }, ...body })).status
  }
  assert.match(engine.url, /^https:/)
  assert.equal(await status('admin', 'admin', 'PUT'), 201)
  assert.equal(await status('admin', 'wrong', 'GET'), 401)
  const { username, password } = engine.reader!
  assert.equal(await status(username, password, 'GET'), 200)
  assert.equal(await status(username, password, 'PUT'), 403)
})

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { createPlugins } from '../../src/app/proxy-plugins.ts'
import { createProxyHandler } from '../../src/proxy/framework.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { Loopback } from '../http/loopback.ts'

type Parts = Parameters<typeof createPlugins>[1]
const parts = { log: createLogger('silent') } as unknown as Parts

async function withPlugins(paths: readonly string[], run: (api: Loopback) => Promise<void>): Promise<void> {
  const last = {
    name: 'last',
    order: 3000,
    supports: () => true,
    connect: ({ response }: { response: { end(text: string): unknown } }) => Promise.resolve(void response.end('last')),
  }
  const plugins = [last, ...(await createPlugins(paths, parts))]
  const api = await Loopback.start(createProxyHandler({ plugins, fleet: { member: () => undefined } }))
  try {
    await run(api)
  } finally {
    await api.close()
  }
}

async function withModule(text: string, run: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-plugins-'))
  try {
    const file = path.join(folder, 'plugin.mjs')
    await writeFile(file, text)
    await run(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const example = path.join(import.meta.dirname, '../../examples/proxy-plugins/protect-namespaces.mjs')

test('the documented example is loaded, and stands in its place in the chain', () =>
  withPlugins([example], async (api) => {
    const refused = await api.ask('/k/proxy/api/v1/namespaces/a', { method: 'DELETE' })
    assert.deepEqual([refused.status, refused.json.reason], [403, 'Forbidden'])
    assert.match(refused.json.message, /not deleted through the fleet: a/)
    assert.equal((await api.ask('/k/proxy/api/v1/namespaces/a/pods/p', { method: 'DELETE' })).text, 'last')
    assert.equal((await api.ask('/k/proxy/api/v1/namespaces/a')).text, 'last')
  }))

test('what a plugin throws is a 500 Status, whichever of its functions throws it, and the next request is answered', async () => {
  for (const fault of [
    `supports: () => { throw new Error('secret') }, connect() {}`,
    `supports: ({ verb }) => verb === 'delete', connect() { throw new Error('secret') }`,
    `supports: ({ verb }) => verb === 'delete', async connect() { throw 'secret' }`,
    `supports: ({ verb }) => verb === 'delete', connect: () => Promise.reject(undefined)`,
  ]) {
    await withModule(`export default () => ({ name: 'x', order: 1, ${fault} })`, (file) =>
      withPlugins([file], async (api) => {
        const { status, json, text } = await api.ask('/k/proxy/api/v1/namespaces/a', { method: 'DELETE' })
        assert.deepEqual([status, json.kind, json.reason], [500, 'Status', 'InternalError'])
        assert.doesNotMatch(text, /secret/)
        assert.equal((await api.ask('/k/proxy/nothing')).status, fault.startsWith('supports: () =>') ? 500 : 200)
      }),
    )
  }
})

test('a module that cannot be loaded, or makes no plugins, is named', async () => {
  await assert.rejects(createPlugins(['/none.mjs'], parts), /--proxy-plugins: \/none\.mjs cannot be loaded/)
  for (const text of ['export default 1', 'export default () => ({ name: "x" })', 'nonsense(']) {
    await withModule(text, (file) => assert.rejects(createPlugins([file], parts), /--proxy-plugins: .*plugin\.mjs/))
  }
})

/** `demo` that searches in a real engine in place of the embedded store. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { QUERY, startLocal } from '../support/local-process.ts'
import { startSearchEngine, type SearchEngineName } from '../support/real-parts/index.ts'

const ENGINES: readonly SearchEngineName[] = ['opensearch-2-security', 'elasticsearch-9']

for (const name of ENGINES) {
  test(`demo answers queries from ${name}`, async (t) => {
    const engine = await startSearchEngine(name)
    t.after(() => engine.stop())
    const kind = name.startsWith('opensearch') ? 'opensearch' : 'elasticsearch'
    const credentials = { ...engine.admin, ...(engine.caPem === undefined ? {} : { 'ca.crt': engine.caPem }) }
    const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-demo-engine-'))
    t.after(() => rm(folder, { recursive: true }))
    const file = path.join(folder, 'credentials.yaml')
    await writeFile(file, JSON.stringify(credentials), { mode: 0o600 }) // JSON is YAML
    const flags = [`--${kind}-url=${engine.url}`, `--search-credentials-file=${file}`]
    const demo = await startLocal('demo', { flags })
    t.after(() => demo.stop())
    const deadline = performance.now() + 60_000
    let answer = await demo.request(`${QUERY}?q=kind:Deployment&limit=1`)
    while (answer.status === 200 && answer.json().total === 0 && performance.now() < deadline) {
      await delay(200)
      answer = await demo.request(`${QUERY}?q=kind:Deployment&limit=1`)
    }
    assert.equal(answer.status, 200, demo.output())
    assert.ok(answer.json().total > 0)
    const { count } = await engine.client.ok('/kubernetes-deployment/_count')
    assert.ok(count > 0)
    assert.doesNotMatch(demo.output(), /"level":50/)
  })
}

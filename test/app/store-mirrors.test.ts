/** From a registry to documents in its engine: the plan, the Secret and the condition joined. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import { mirrorSource } from '../../src/app/search-source.ts'
import { StoreMirrors } from '../../src/app/store-mirrors.ts'
import { StoreMetrics } from '../../src/backendstore/bulk-metrics.ts'
import { BulkWriter } from '../../src/backendstore/bulk-writer.ts'
import { DeadLetters } from '../../src/backendstore/dead-letters.ts'
import { KnownResources } from '../../src/controller/known-resources.ts'
import { planShards, type Plan } from '../../src/controller/plan.ts'
import type { Fields } from '../../src/fleet/fields.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import type { ObjectObserver } from '../../src/fleet/observe-objects.ts'
import { ALWAYS_LEADING, whileLeading } from '../../src/leaderelection/leadership.ts'
import type { SearchRequest } from '../../src/query/search-request.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { newCache, pod, replace } from '../cache/objects.ts'
import { pods, PODS, registry } from '../controller/fixture.ts'
import { facts } from '../support/cluster-facts.ts'
import { FakeEngine } from '../support/fake-engine.ts'
import { MemoryStore } from '../support/memory-store.ts'

function planOf(registries: readonly ResourceRegistry[]): Plan {
  const members = ['m1', 'm2'].map((name) => ({ facts: facts(name), resources: [PODS] }))
  return planShards({ registries, members, known: new KnownResources(), cached: new Map() })
}

/** No embedded store: searches are answered from the engine that registries name. */
test('the engine that is searched has everything, whoever names it; every registry is told how it is', async () => {
  const { cache, clock, open } = newCache()
  const engines = new Map(['one', 'two'].map((host) => [host, new FakeEngine(clock)]))
  const at = (name: string, host: string, cluster: string): ResourceRegistry => {
    const plain = registry(name, [pods()], { clusterNames: [cluster] })
    return { ...plain, spec: { ...plain.spec, backendStore: { openSearch: { addresses: [`http://${host}:9200`] } } } }
  }
  const plain = registry('c', [pods()], { clusterNames: ['m2'] })
  let registries: readonly ResourceRegistry[] = [plain]
  let plan = planOf(registries)
  let changed = (): void => undefined
  const mirrors = new StoreMirrors({
    ...{ cache, clock, random: () => 0, logger: createLogger('silent') },
    metrics: new StoreMetrics(createMetricsRegistry()),
    letters: new DeadLetters(() => 0),
    controller: {
      get plan() {
        return plan
      },
      onChange: (listener) => {
        changed = listener
        return () => undefined
      },
    },
    registries: { synced: true, current: () => registries },
    notes: { notes: () => Promise.resolve(new Map()), note: () => Promise.resolve(), forget: () => Promise.resolve() },
    installation: () => Promise.resolve('test'),
    open: (options) => engines.get(new URL(options.addresses[0]!).hostname)!.open(options),
    secrets: undefined,
    own: undefined,
    searched: true,
    whileLeading: (task, signal) => whileLeading(ALWAYS_LEADING, task, signal),
  })
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < 50; step++) await clock.advance(ms / 50)
  }
  const become = async (...next: ResourceRegistry[]): Promise<void> => {
    registries = next
    plan = planOf(next)
    changed()
    await pass(5_000)
  }
  for (const name of ['m1', 'm2']) replace(open(name), [pod({ name: 'p' }, 1)], 1)
  const abort = new AbortController()
  const running = mirrors.run(abort.signal)
  const source = mirrorSource('registry', () => mirrors.searched())
  await pass(5_000)
  assert.equal(mirrors.verdict(plain)?.reason, 'NoSearchStore')
  assert.equal(source.status(), undefined)
  await assert.rejects(source.store.search({} as SearchRequest), /no ResourceRegistry names a search engine/)
  await become(plain, at('b', 'one', 'm1'))
  const both = ['m1/default/p@1', 'm2/default/p@1']
  assert.deepEqual(engines.get('one')?.names(), both)
  assert.equal(mirrors.verdict(plain)?.message, 'written to opensearch/one:9200')
  assert.deepEqual(source.status(), mirrors.searched()?.status())
  // Another registry comes first by its name.
  await become(plain, at('b', 'one', 'm1'), at('a', 'two', 'm1'))
  assert.deepEqual(engines.get('two')?.names(), both)
  assert.deepEqual(engines.get('one')?.names(), ['m1/default/p@1'])
  assert.equal(mirrors.searched()?.name, 'opensearch/two:9200')
  engines.get('two')!.faults.code = 'unauthorized'
  mirrors.searched()?.writer.compareAll()
  await pass(30_000)
  assert.equal(mirrors.verdict(plain)?.reason, 'Unauthorized')
  engines.get('two')!.faults.code = undefined
  abort.abort()
  await pass(1_000)
  await running
  cache.close()
})

test('a registry’s objects are in its engine once its Secret is there, its condition says so, and all goes with it', async () => {
  const { cache, clock, open } = newCache()
  const engine = new FakeEngine(clock)
  const openSearch = { addresses: ['http://os:9200'], secretRef: { namespace: 'ns', name: 'creds' } }
  const plain = registry('rr', [pods()], { clusterNames: ['m1'] })
  const mirrored: ResourceRegistry = { ...plain, spec: { ...plain.spec, backendStore: { openSearch } } }
  let registries: readonly ResourceRegistry[] = [mirrored]
  let plan = planOf(registries)
  let changed = (): void => undefined
  let observer: ObjectObserver | undefined
  const common = {
    ...{ cache, clock, random: () => 0, logger: createLogger('silent') },
    metrics: new StoreMetrics(createMetricsRegistry()),
    letters: new DeadLetters(() => 0),
  }
  const mirrors = new StoreMirrors({
    ...common,
    controller: {
      get plan() {
        return plan
      },
      onChange: (listener) => {
        changed = listener
        return () => undefined
      },
    },
    registries: { synced: true, current: () => registries },
    notes: { notes: () => Promise.resolve(new Map()), note: () => Promise.resolve(), forget: () => Promise.resolve() },
    installation: () => Promise.resolve('test'),
    open: (options) => engine.open(options),
    secrets: {
      client: {} as MemberClient,
      observe: (_client, _target, told, signal) => {
        observer = told
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
      },
    },
    own: { name: 'sqlite', writer: new BulkWriter({ ...common, store: new MemoryStore() }) },
    whileLeading: (task, signal) => whileLeading(ALWAYS_LEADING, task, signal),
  })
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < 50; step++) await clock.advance(ms / 50)
  }
  for (const name of ['m1', 'm2']) replace(open(name), [pod({ name: 'p' }, 1)], 1)
  const abort = new AbortController()
  const running = mirrors.run(abort.signal)
  await pass(30_000)
  assert.deepEqual(mirrors.verdict(mirrored), {
    status: 'False',
    reason: 'Unauthorized',
    message: 'opensearch/os:9200: Secret ns/creds has not been read yet',
  })
  const data = { username: btoa('u'), password: btoa('hunter2') }
  observer?.replaced([{ metadata: { name: 'creds' }, data } as Fields])
  await pass(5_000)
  assert.deepEqual(engine.names(), ['m1/default/p@1'])
  assert.equal(engine.opened[0]?.credentials.password, 'hunter2')
  assert.deepEqual(mirrors.verdict(mirrored), {
    status: 'True',
    reason: 'Written',
    message: 'written to sqlite, opensearch/os:9200',
  })
  registries = [plain]
  plan = planOf(registries)
  changed()
  await pass(5_000)
  assert.deepEqual(engine.names(), [])
  assert.equal(mirrors.verdict(plain)?.message, 'written to sqlite')
  abort.abort()
  await pass(1_000)
  await running
  cache.close()
})

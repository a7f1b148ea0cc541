/** From a registry to documents in its engine: the plan, the Secret and the condition joined. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import { mirrorSource } from '../../src/app/search-source.ts'
import { StoreMirrors, type StoreMirrorsOptions } from '../../src/app/store-mirrors.ts'
import { StoreMetrics } from '../../src/backendstore/bulk-metrics.ts'
import { BulkWriter } from '../../src/backendstore/bulk-writer.ts'
import { DeadLetters } from '../../src/backendstore/dead-letters.ts'
import type { Cache } from '../../src/cache/cache.ts'
import { KnownResources } from '../../src/controller/known-resources.ts'
import { planShards, type Plan } from '../../src/controller/plan.ts'
import type { Fields } from '../../src/fleet/fields.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import type { ObjectObserver } from '../../src/fleet/observe-objects.ts'
import { ALWAYS_LEADING, whileLeading } from '../../src/leaderelection/leadership.ts'
import type { SearchRequest } from '../../src/query/search-request.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import type { Clock } from '../../src/util/clock.ts'
import { newCache, pod, replace } from '../cache/objects.ts'
import { pods, PODS, registry } from '../controller/fixture.ts'
import { facts } from '../support/cluster-facts.ts'
import { FakeEngine } from '../support/fake-engine.ts'
import { MemoryStore } from '../support/memory-store.ts'

function planOf(registries: readonly ResourceRegistry[]): Plan {
  const members = ['m1', 'm2'].map((name) => ({ facts: facts(name), resources: [PODS] }))
  return planShards({ registries, members, known: new KnownResources(), cached: new Map() })
}

/** The registries that there are, what is planned from them, and nobody else who writes. */
class Registered {
  #registries: readonly ResourceRegistry[]
  #plan: Plan
  #changed = (): void => undefined

  constructor(...registries: readonly ResourceRegistry[]) {
    this.#registries = registries
    this.#plan = planOf(registries)
  }

  become(...registries: readonly ResourceRegistry[]): void {
    this.#registries = registries
    this.#plan = planOf(registries)
    this.#changed()
  }

  get ports(): Pick<StoreMirrorsOptions, 'controller' | 'registries' | 'notes' | 'installation' | 'whileLeading'> {
    const plan = (): Plan => this.#plan
    return {
      controller: {
        get plan() {
          return plan()
        },
        onChange: (listener) => {
          this.#changed = listener
          return () => undefined
        },
      },
      registries: { synced: true, current: () => this.#registries },
      notes: {
        notes: () => Promise.resolve(new Map()),
        note: () => Promise.resolve(),
        forget: () => Promise.resolve(),
      },
      installation: () => Promise.resolve('test'),
      whileLeading: (task, signal) => whileLeading(ALWAYS_LEADING, task, signal),
    }
  }
}

function writing(cache: Cache, clock: Clock) {
  return {
    ...{ cache, clock, random: () => 0, logger: createLogger('silent') },
    metrics: new StoreMetrics(createMetricsRegistry()),
    letters: new DeadLetters(() => 0),
  }
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
  const registered = new Registered(plain)
  const mirrors = new StoreMirrors({
    ...writing(cache, clock),
    ...registered.ports,
    open: (options) => engines.get(new URL(options.addresses[0]!).hostname)!.open(options),
    secrets: undefined,
    own: undefined,
    searched: true,
  })
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < 50; step++) await clock.advance(ms / 50)
  }
  const become = async (...next: ResourceRegistry[]): Promise<void> => {
    registered.become(...next)
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
  const registered = new Registered(mirrored)
  let observer: ObjectObserver | undefined
  const common = writing(cache, clock)
  const mirrors = new StoreMirrors({
    ...common,
    ...registered.ports,
    open: (options) => engine.open(options),
    secrets: {
      client: {} as MemberClient,
      observe: (_client, _target, told, signal) => {
        observer = told
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
      },
    },
    own: { name: 'sqlite', writer: new BulkWriter({ ...common, store: new MemoryStore() }) },
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
  registered.become(plain)
  await pass(5_000)
  assert.deepEqual(engine.names(), [])
  assert.equal(mirrors.verdict(plain)?.message, 'written to sqlite')
  abort.abort()
  await pass(1_000)
  await running
  cache.close()
})

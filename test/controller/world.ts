/** A controller over real fake members, a real cache and virtual time. */
import assert from 'node:assert/strict'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import { Cache } from '../../src/cache/cache.ts'
import type { ShardState } from '../../src/cache/reader.ts'
import { Controller } from '../../src/controller/controller.ts'
import { DiscoveryTracker } from '../../src/controller/discovery-tracker.ts'
import { httpReflectorRunner } from '../../src/controller/http-reflector-runner.ts'
import type { RegistrySource, RunReflector } from '../../src/controller/ports.ts'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { Fleet } from '../../src/fleet/fleet.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { ClusterFacts } from '../../src/fleet/member.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { FakeClock, seededRandom } from '../support/fake-clock.ts'
import { startFakeMember, type FakeMember, type FakeMemberOptions, type NewObject } from '../support/fake-member.ts'
import { facts } from '../support/cluster-facts.ts'

export class Registries implements RegistrySource {
  synced = true
  #registries: readonly ResourceRegistry[] = []
  readonly #listeners = new Set<() => void>()

  current(): readonly ResourceRegistry[] {
    return this.#registries
  }

  set(...registries: readonly ResourceRegistry[]): void {
    this.#registries = registries
    for (const listener of this.#listeners) listener()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }
}

export const pod = (name: string, namespace = 'default'): NewObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace },
  spec: { containers: [{ name: 'app', image: 'nginx' }] },
})

export class World {
  readonly clock = new FakeClock()
  readonly fleet = new Fleet((error) => {
    throw error
  })
  readonly cache = new Cache({ clock: this.clock })
  readonly registries = new Registries()
  readonly discovery: DiscoveryTracker
  readonly controller: Controller
  readonly #abort = new AbortController()
  readonly #members: FakeMember[] = []
  readonly #runs: Promise<void>[] = []

  constructor(run?: RunReflector, logger = createLogger('silent')) {
    const { clock, fleet, cache, registries } = this
    const random = seededRandom(7)
    this.discovery = new DiscoveryTracker({ fleet, clock, random, logger })
    this.controller = new Controller({
      registries,
      fleet,
      discovery: this.discovery,
      cache,
      run: run ?? httpReflectorRunner({ clock, random, logger }),
      clock,
      logger,
    })
    this.#runs.push(this.discovery.run(this.#abort.signal), this.controller.run(this.#abort.signal))
  }

  async member(options: FakeMemberOptions = {}): Promise<FakeMember> {
    const member = await startFakeMember({ clock: this.clock, ...options })
    this.#members.push(member)
    return member
  }

  join(name: string, member: Pick<FakeMember, 'url'>, more: Partial<ClusterFacts> = {}): void {
    const { clock } = this
    const client = createMemberClient({ server: member.url, credentials: noCredentials, clock, qps: 0 })
    this.fleet.engage(facts(name, more), client)
  }

  leave(name: string): void {
    this.fleet.disengage(name as ClusterName, 'left')
  }

  /** `member1/default/web-0`, in order. */
  objects(resource: string, group = ''): string[] {
    const snapshot = this.cache.resource({ group, resource })?.snapshot({})
    return Array.from({ length: snapshot?.length ?? 0 }, (_, i) => {
      const { cluster, namespace, name } = snapshot?.at(i) ?? assert.fail()
      return [cluster, namespace, name].filter((part) => part !== '').join('/')
    })
  }

  shard(cluster: string, resource: string, group = ''): ShardState | undefined {
    return this.cache
      .resource({ group, resource })
      ?.shards()
      .find((shard) => shard.cluster === cluster)
  }

  /** Virtual time passes until it holds. */
  async until(condition: () => boolean, limitMs = 60_000): Promise<void> {
    await this.clock.advanceUntil(condition, 50, limitMs)
  }

  async shows(resource: string, expected: readonly string[], group = ''): Promise<void> {
    try {
      await this.until(() => this.objects(resource, group).join() === expected.join())
    } catch {
      assert.deepEqual(this.objects(resource, group), expected)
    }
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await Promise.all(this.#runs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    for (const { facts } of this.fleet.members()) this.leave(facts.name)
    await Promise.all(this.#members.map((member) => member.close()))
    this.cache.close()
    await this.clock.advance(2_000) // for the bookmark that the cache had promised its watchers
    assert.equal(this.clock.pending, 0, 'timers left behind')
  }
}

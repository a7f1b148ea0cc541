/**
 * Writes into each registry's status how far the controller has come with it. Looks every 5 s, writes only where a condition
 * differs from what is stored, and no more often than `StatusPace` allows.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ResourceRegistry } from '../api/resource-registry.ts'
import { isStatusError } from '../kube/status-error.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { ActiveShard } from './active-shard.ts'
import type { Verdict } from './backend-condition.ts'
import type { Controller } from './controller.ts'
import type { RegistrySource } from './ports.ts'
import type { CachedLook } from './cluster-lag.ts'
import { isNews, registryConditions } from './registry-conditions.ts'
import { StatusPace } from './status-pace.ts'

/** The write side of the registries. Rejects with notFound for one that is gone meanwhile. */
export interface RegistryStatusStore {
  updateStatus(name: string, change: (stored: ResourceRegistry) => ResourceRegistry): Promise<unknown>
}

export interface RegistryStatusWriterOptions {
  readonly controller: Pick<Controller, 'plan' | 'shards'>
  readonly registries: Pick<RegistrySource, 'current'>
  readonly store: RegistryStatusStore
  /** How the stores of a registry are; undefined: not known here. */
  readonly backend?: (registry: ResourceRegistry) => Verdict | undefined
  /** A look at what is cached now. */
  readonly cached: () => CachedLook
  readonly clock: Clock
  readonly logger: Logger
}

const LOOK_MS = 5_000

export class RegistryStatusWriter {
  readonly #options: RegistryStatusWriterOptions
  /** Registries whose last write failed: told once, not every five seconds. */
  readonly #failing = new Set<string>()
  readonly #pace: StatusPace

  constructor(options: RegistryStatusWriterOptions) {
    this.#options = options
    this.#pace = new StatusPace(options.clock)
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(LOOK_MS, this.#options.clock, signal).catch(() => undefined)
      if (!signal.aborted) await this.#writeAll(signal)
    }
  }

  async #writeAll(signal: AbortSignal): Promise<void> {
    const { controller, registries, logger } = this.#options
    const shards = [...controller.shards()]
    const cached = this.#options.cached()
    const current = registries.current()
    this.#pace.keep(new Set(current.map(({ metadata }) => metadata.name)))
    for (const registry of current) {
      const { name } = registry.metadata
      // A registry that the last plan does not know yet has no news.
      if (signal.aborted || !controller.plan.targets.has(name)) continue
      const own = shards.filter(({ planned }) => planned.registries.includes(name))
      try {
        await this.#write(registry, own, cached)
        this.#failing.delete(name)
      } catch (err) {
        if (isStatusError(err, 'notFound')) continue
        const news = !this.#failing.has(name)
        this.#failing.add(name)
        logger[news ? 'warn' : 'debug'](
          { err, registry: name },
          'the status of a registry cannot be written; trying again',
        )
      }
    }
  }

  async #write(registry: ResourceRegistry, shards: readonly ActiveShard[], cached: CachedLook): Promise<void> {
    const { controller, store, clock } = this.#options
    const { plan } = controller
    const now = new Date(clock.nowMs()).toISOString().replace(/\.\d{3}Z$/, 'Z')
    const backend = this.#options.backend?.(registry)
    const input = { plan, shards, cached, backend, now, nowMs: clock.monotonicMs() }
    const conditions = registryConditions({ registry, ...input })
    const before = registry.status?.conditions
    if (isDeepStrictEqual(conditions, before)) return
    if (!this.#pace.take(registry.metadata.name, isNews(conditions, before))) return
    await store.updateStatus(registry.metadata.name, (stored) => ({
      ...stored,
      status: { ...stored.status, conditions: registryConditions({ registry: stored, ...input }) },
    }))
  }
}

/**
 * Keeps the ResourceRegistries in memory, equal to their store (LIST, then WATCH), for the controller and for tables.
 */
import type { ResourceRegistry } from '../api/resource-registry.ts'
import { isStatusError } from '../kube/status-error.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { RegistryReader } from './registry-store.ts'

export interface RegistryInformerOptions {
  readonly store: RegistryReader
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

// As client-go's reflector waits after a failure.
const FIRST_RETRY_MS = 800
const LAST_RETRY_MS = 30_000

export class RegistryInformer {
  readonly #options: RegistryInformerOptions
  readonly #registries = new Map<string, ResourceRegistry>()
  readonly #listeners = new Set<() => void>()
  #synced = false

  constructor(options: RegistryInformerOptions) {
    this.#options = options
  }

  /** Has been listed at least once; `current` means nothing before. */
  get synced(): boolean {
    return this.#synced
  }

  /** In no particular order. */
  current(): readonly ResourceRegistry[] {
    return [...this.#registries.values()]
  }

  /** Called after each change, and after the first list even where it is empty. Returns how to stop listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Runs until the signal aborts; the store's failures are logged and retried. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options
    let failures = 0
    let progress = true
    while (!signal.aborted) {
      try {
        await this.#follow(signal, () => {
          failures = 0
          progress = true
        })
      } catch (err) {
        if (signal.aborted) return
        const relist = progress && isStatusError(err, 'expired')
        progress = false
        if (relist) continue
        logger.warn({ err }, 'registries cannot be read; retrying')
        const wait = Math.min(FIRST_RETRY_MS * 2 ** failures++, LAST_RETRY_MS)
        await sleep(wait * (1 + random()), clock, signal).catch(() => undefined)
      }
    }
  }

  async #follow(signal: AbortSignal, onProgress: () => void): Promise<void> {
    const { items, version } = await this.#options.store.list()
    if (signal.aborted) return
    this.#registries.clear()
    for (const registry of items) this.#registries.set(registry.metadata.name, registry)
    this.#synced = true
    this.#changed()
    for await (const event of this.#options.store.watch(version, signal)) {
      onProgress()
      if (event.type === 'BOOKMARK') continue
      const { type, object } = event
      if (type === 'DELETED') this.#registries.delete(object.metadata.name)
      else this.#registries.set(object.metadata.name, object)
      this.#changed()
    }
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

/**
 * Lets searches see what was written before them: an engine shows documents only after a refresh, which it does by itself
 * about every second. A search asks for one where something was written since the last; many writes or searches at once
 * share one.
 */
import type { EngineClient } from './engine-client.ts'
import { pathOf } from './engine-client.ts'

export class Freshness {
  readonly #client: EngineClient
  #stale = new Set<string>()
  #refreshing: Promise<void> | undefined

  constructor(client: EngineClient) {
    this.#client = client
  }

  /** Something was written to it, or may have been; to be told when the write has ended. */
  written(index: string): void {
    this.#stale.add(index)
  }

  /** Resolves when searches see all that was told before. */
  async settle(): Promise<void> {
    while (this.#refreshing !== undefined) await this.#refreshing.catch(() => undefined)
    if (this.#stale.size === 0) return
    this.#refreshing = this.#refresh().finally(() => (this.#refreshing = undefined))
    await this.#refreshing
  }

  async #refresh(): Promise<void> {
    const indices = this.#stale
    this.#stale = new Set()
    try {
      const path = `${pathOf([...indices].join(','))}/_refresh`
      await this.#client.request({ method: 'POST', path, query: { ignore_unavailable: true } })
    } catch (error) {
      for (const index of indices) this.#stale.add(index)
      throw error
    }
  }
}

/**
 * How often the status of each registry is written. What changes a condition is news: five times at once, then one each 30 s,
 * so that a member that comes and goes does not wear the store. A wording waits for a minute. What had to wait is looked at
 * again and written as it is then.
 */
import type { Clock } from '../util/clock.ts'

const BURST = 5
const REFILL_MS = 30_000
const WORDING_MS = 60_000

interface Budget {
  left: number
  refilledMs: number
  writtenMs: number
}

export class StatusPace {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #budgets = new Map<string, Budget>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** True: write it now. Asked once for each write. */
  take(registry: string, isNews: boolean): boolean {
    const nowMs = this.#clock.monotonicMs()
    const budget = this.#budgets.get(registry) ?? { left: BURST, refilledMs: nowMs, writtenMs: -WORDING_MS }
    this.#budgets.set(registry, budget)
    const refills = Math.floor((nowMs - budget.refilledMs) / REFILL_MS)
    budget.left = Math.min(BURST, budget.left + refills)
    budget.refilledMs += refills * REFILL_MS
    if (isNews ? budget.left < 1 : nowMs - budget.writtenMs < WORDING_MS) return false
    if (isNews) budget.left -= 1
    budget.writtenMs = nowMs
    return true
  }

  /** Forgets all others. */
  keep(registries: ReadonlySet<string>): void {
    for (const name of this.#budgets.keys()) if (!registries.has(name)) this.#budgets.delete(name)
  }
}

/** What every command is run with: where its records go, time, chance, and its own output. */
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'

export interface Runtime {
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** What the user reads on standard output. */
  readonly print: (text: string) => void
}

import type { Clock, Random } from '../util/clock.ts'
import { withDeadline, type Deadline } from './deadline.ts'

/** A watch without `timeoutSeconds` ends after 30 to 60 minutes, as a kube-apiserver's (`--min-request-timeout`). */
const MIN_SECONDS = 1_800

/** Aborts when the watch shall end: its time is over, the client is gone or the server stops. */
export function watchSignal(
  timeoutSeconds: number | undefined,
  clock: Clock,
  random: Random,
  parent: AbortSignal,
): Deadline {
  const seconds = timeoutSeconds ?? MIN_SECONDS * (1 + random())
  return withDeadline(seconds * 1000, clock, parent, () => new Error('the time of the watch is over'))
}

import type { Clock, Random } from '../util/clock.ts'
import type { ApiRequest } from './api-request.ts'
import { withDeadline, type Deadline } from './deadline.ts'

/** As a kube-apiserver's (`--min-request-timeout`). */
const MIN_SECONDS = 1_800
/** The longest a timer of Node waits: nearly 25 days. */
const MAX_MS = 2 ** 31 - 1

/**
 * Aborts when the watch shall end: its time is over, the client is gone or the server stops. One whose client names no time
 * lasts between `minWatchSeconds` and twice that (0: as long as it likes), so that not all of them come back at once after a restart.
 * Source: apiserver pkg/endpoints/handlers/get.go.
 */
export function watchSignal(
  request: Pick<ApiRequest, 'signal' | 'minWatchSeconds'>,
  timeoutSeconds: number | undefined,
  clock: Clock,
  random: Random,
): Deadline {
  const { signal, minWatchSeconds = MIN_SECONDS } = request
  const seconds = (timeoutSeconds ?? 0) || minWatchSeconds * (1 + random()) || Number.POSITIVE_INFINITY
  // Whole seconds: timers of one length share a list in Node.
  return withDeadline(
    Math.min(Math.round(seconds) * 1000, MAX_MS),
    clock,
    signal,
    () => new Error('the time of the watch is over'),
  )
}

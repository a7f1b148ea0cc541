/** A signal with a time limit, for what must not last for ever. */
import type { Clock } from '../util/clock.ts'

export interface Deadline {
  /** Aborts with its parent, or when the time is up. */
  readonly signal: AbortSignal
  /** Frees the timer and lets go of the parent. */
  dispose(): void
}

/** Why a read was cut off: whoever was asked is too slow. */
export class DeadlineError extends Error {
  constructor(ms: number) {
    super(`no whole answer within ${ms / 1000} s`)
    this.name = 'DeadlineError'
  }
}

/** A signal that aborts with `parent`, or after `ms` with what `reason` makes (default: a `DeadlineError`). */
export function withDeadline(
  ms: number,
  clock: Clock,
  parent: AbortSignal,
  reason: () => Error = () => new DeadlineError(ms),
): Deadline {
  const controller = new AbortController()
  const cancel = clock.setTimeout(() => {
    controller.abort(reason())
  }, ms)
  const onAbort = (): void => {
    controller.abort(parent.reason)
  }
  if (parent.aborted) onAbort()
  else parent.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    dispose() {
      cancel()
      parent.removeEventListener('abort', onAbort)
    },
  }
}

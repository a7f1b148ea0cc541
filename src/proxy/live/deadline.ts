import type { Clock } from '../../util/clock.ts'

export interface Deadline {
  readonly signal: AbortSignal
  dispose(): void
}

/** Why a live read was cut off: the member was too slow. */
export class DeadlineError extends Error {
  constructor(ms: number) {
    super(`no whole answer within ${ms / 1000} s`)
    this.name = 'DeadlineError'
  }
}

/** A signal that aborts with `parent`, or with a `DeadlineError` after `ms`. */
export function withDeadline(ms: number, clock: Clock, parent: AbortSignal): Deadline {
  const controller = new AbortController()
  const cancel = clock.setTimeout(() => {
    controller.abort(new DeadlineError(ms))
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

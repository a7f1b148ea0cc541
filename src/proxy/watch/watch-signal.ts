import type { Clock, Random } from '../../util/clock.ts'

/** A watch without `timeoutSeconds` ends after 30 to 60 minutes, as a kube-apiserver's (`--min-request-timeout`). */
const MIN_SECONDS = 1_800

export interface WatchLifetime {
  /** Aborts when the watch shall end: its time is over, the client is gone or the server stops. */
  readonly signal: AbortSignal
  /** Frees the timer. */
  dispose(): void
}

export function watchSignal(
  timeoutSeconds: number | undefined,
  clock: Clock,
  random: Random,
  parent: AbortSignal,
): WatchLifetime {
  const controller = new AbortController()
  const seconds = timeoutSeconds ?? MIN_SECONDS * (1 + random())
  const cancel = clock.setTimeout(() => {
    controller.abort(new Error('the time of the watch is over'))
  }, seconds * 1000)
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

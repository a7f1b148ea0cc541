import type { Clock } from './clock.ts'

/** Calls back every `ms` until it returns true or the returned canceller is called. */
export function every(ms: number, clock: Clock, callback: () => boolean | void): () => void {
  let cancel = (): void => undefined
  const arm = (): void => {
    cancel = clock.setTimeout(() => {
      if (callback() !== true) arm()
    }, ms)
  }
  arm()
  return () => cancel()
}

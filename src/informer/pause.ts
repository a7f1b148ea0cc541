import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'

const WAKE_SPREAD_MS = 500 // so that a member that came back is not met by all its reflectors in the same millisecond

/** Waits `ms`, or less when `waker` calls back; resolves early, too, when the signal aborts. */
export async function pause(
  ms: number,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  waker: { onRecovery?(listener: () => void): () => void } | undefined,
  signal: AbortSignal,
): Promise<void> {
  const woken = new AbortController()
  const wake = (): void => {
    woken.abort()
  }
  const unlisten = waker?.onRecovery?.(wake)
  signal.addEventListener('abort', wake, { once: true })
  try {
    if (signal.aborted) return
    const endMs = clock.monotonicMs() + ms
    await sleep(ms, clock, woken.signal).catch(() => undefined)
    const leftMs = endMs - clock.monotonicMs()
    if (leftMs > 0) await sleep(Math.min(leftMs, random() * WAKE_SPREAD_MS), clock, signal).catch(() => undefined)
  } finally {
    unlisten?.()
    signal.removeEventListener('abort', wake)
  }
}

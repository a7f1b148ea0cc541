/** Whether this replica does what only one of all replicas may do at a time. */

/**
 * Contract: of all replicas at most one is told `true` at a time, as far as clocks run at rates within a half of each other.
 * What is begun while leading may still be under way when the next one leads: it must be harmless then (optimistic
 * concurrency, versions that let late writes lose).
 */
export interface Leadership {
  /** Asks the clock, so that it is false in time even where timers come late. */
  isLeader(): boolean
  /** Called after each change. Returns how to stop listening. */
  onChange(listener: () => void): () => void
}

/** Of the only replica. */
export const ALWAYS_LEADING: Leadership = { isLeader: () => true, onChange: () => () => undefined }

/**
 * Runs `task` anew in each term that this replica leads; its signal aborts at the end of the term, and no term begins
 * before the task of the last has ended. Resolves when `signal` has aborted and the task has ended; rejects as the task does.
 */
export async function whileLeading(
  leadership: Leadership,
  task: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await change(leadership, true, signal)
    if (signal.aborted) return
    const over = new AbortController()
    const term = AbortSignal.any([signal, over.signal])
    void change(leadership, false, term).then(() => over.abort(new Error('no longer the leader')))
    try {
      await task(term)
      // A task that ends by itself has nothing left to do in this term.
      await change(leadership, false, term)
    } finally {
      over.abort(new Error('the task has ended'))
    }
  }
}

/** Resolves when leadership is as wanted, or the signal aborts. */
function change(leadership: Leadership, wanted: boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      unlisten()
      signal.removeEventListener('abort', settle)
      resolve()
    }
    const check = (): void => {
      if (leadership.isLeader() === wanted) settle()
    }
    const unlisten = leadership.onChange(check)
    if (signal.aborted) return settle()
    signal.addEventListener('abort', settle, { once: true })
    check()
  })
}

/**
 * Two connections joined: bytes go from each to the other, never ahead of the one that reads them. How long both are silent
 * does not matter. An end is carried over; when one side has gone, so does the other.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../../util/clock.ts'

export interface TunnelOptions {
  readonly clock: Clock
  /** Breaks both. */
  readonly signal: AbortSignal | undefined
}

/**
 * After one side has ended, the other may still say something (the status of a command), and is given up when it is silent.
 * A kube-apiserver does not wait at all (apimachinery pkg/util/proxy/upgradeaware.go).
 */
const LAST_WORDS_MS = 500
/** What is on its way to a reader that takes nothing is given up after as many turns. */
const STALLED_TURNS = 20

/** Takes both over. Resolves when both are closed. */
export async function tunnel(client: Socket, member: Socket, { clock, signal }: TunnelOptions): Promise<void> {
  const end = (): void => {
    client.destroy()
    member.destroy()
  }
  const stopWatching = watchEnding(client, member, clock, end)
  signal?.addEventListener('abort', end, { once: true })
  const closed = Promise.all([closing(client, member), closing(member, client)])
  if (signal?.aborted === true) end()
  else {
    client.pipe(member)
    member.pipe(client)
  }
  await closed
  stopWatching()
  signal?.removeEventListener('abort', end)
}

/** Resolves when `side` is closed. If it broke, so does the other; if it ended, the other has been told by the pipe. */
function closing(side: Socket, other: Socket): Promise<void> {
  return new Promise((resolve) => {
    const closed = (): void => {
      if (side.errored !== null || !side.readableEnded || !side.writableFinished) other.destroy()
      resolve()
    }
    if (side.closed) closed()
    else side.once('close', closed)
  })
}

/** Calls `end` when one side has ended and nothing moves any more. */
function watchEnding(client: Socket, member: Socket, clock: Clock, end: () => void): () => void {
  let cancel = (): void => undefined
  let waiting = false
  let before = ''
  let stalled = 0
  const look = (): void => {
    const pending = client.writableLength + member.writableLength
    const now = `${client.bytesRead} ${member.bytesRead} ${pending}`
    stalled = now === before && pending > 0 ? stalled + 1 : 0
    if ((now === before && pending === 0) || stalled >= STALLED_TURNS) return end()
    before = now
    cancel = clock.setTimeout(look, LAST_WORDS_MS)
  }
  const ended = (): void => {
    if (waiting) return
    waiting = true
    look()
  }
  client.once('end', ended)
  member.once('end', ended)
  return () => {
    waiting = true
    cancel()
  }
}

/**
 * What two replicas say to each other on one authenticated connection. The follower dials and asks (`hello`, `ping`, `ack`);
 * the announcer answers (`pong`, `notice`). Either may say `bye`. Messages arrive whole and in order, or the channel closes.
 */
export type PeerMessage =
  /** The first: whom the follower takes the other to be. */
  | { readonly type: 'hello'; readonly incarnation: string }
  | { readonly type: 'ping'; readonly n: number }
  | { readonly type: 'pong'; readonly n: number }
  | { readonly type: 'notice'; readonly n: number; readonly ageMs: number; readonly notice: unknown }
  | { readonly type: 'ack'; readonly n: number }
  /** The announcer announces nothing any more; the follower answers nothing any more. */
  | { readonly type: 'bye' }

export interface Channel {
  /** To be called once, at once: what comes in, and that nothing more comes. */
  listen(onMessage: (message: PeerMessage) => void, onClose: () => void): void
  /** Never throws; goes nowhere when closed. A peer that does not read is cut off. */
  send(message: PeerMessage): void
  close(): void
}

/** Undefined for what is no message. */
export function decodeMessage(text: string): PeerMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { type, n, ageMs, notice, incarnation } = value as Record<string, unknown>
  switch (type) {
    case 'hello':
      return typeof incarnation === 'string' ? { type, incarnation } : undefined
    case 'ping':
    case 'pong':
    case 'ack':
      return isCount(n) ? { type, n } : undefined
    case 'notice':
      return isCount(n) && typeof ageMs === 'number' && ageMs >= 0 ? { type, n, ageMs, notice } : undefined
    case 'bye':
      return { type }
    default:
      return undefined
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

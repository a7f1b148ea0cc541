/** One watch request to one member. */
import type { Member } from '../../fleet/member.ts'
import type { WatchPatience } from '../../fleet/watch-patience.ts'
import { resourcePath } from '../../kube/group-version.ts'
import type { ResourceVersion } from '../../kube/names.ts'
import type { RawWatchEvent } from '../../kube/watch-splitter.ts'
import { WatchSplitter } from '../../kube/watch-splitter.ts'
import type { Random } from '../../util/clock.ts'
import { faultOfError, faultOfResponse } from './member-fault.ts'
import type { LiveTarget } from './target.ts'

export interface ReadWatchOptions {
  readonly random: Random
  readonly signal: AbortSignal
  /** Label and field selector, as query parameters. */
  readonly selectors: Readonly<Record<string, string>>
  /** The member has taken the watch. */
  readonly onOpen?: () => void
  /** Of all watches of that member for one stream. */
  readonly patience: WatchPatience
}

const HEAD_MS = 15_000
const MAX_EVENT_BYTES = 16 * 1024 * 1024

/** Ends when the member ends it. Throws `MemberFault` for whatever is the member's fault; 410 is an ERROR event here. */
export async function* watchMember(
  { facts: { name }, client }: Member,
  target: LiveTarget,
  namespace: string | undefined,
  from: ResourceVersion,
  { random, signal, selectors, onOpen, patience }: ReadWatchOptions,
): AsyncGenerator<readonly RawWatchEvent[], void, void> {
  const { timeoutSeconds, idleMs } = patience.bounds(random)
  const query = new URLSearchParams({
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(timeoutSeconds),
    ...selectors,
  })
  try {
    const response = await client.request({
      method: 'GET',
      path: `${resourcePath(target.gvr, namespace)}?${query.toString()}`,
      headers: { accept: 'application/json' },
      headersTimeoutMs: HEAD_MS,
      idleMs,
      signal,
    })
    if (response.status === 410) return yield [{ type: 'ERROR', status: await expiredStatus(response.bytes()) }]
    if (response.status !== 200) throw await faultOfResponse(name, response)
    onOpen?.()
    const splitter = new WatchSplitter({ maxEventBytes: MAX_EVENT_BYTES })
    for await (const chunk of response.body) {
      const events = splitter.push(chunk)
      if (events.some(({ type }) => type === 'BOOKMARK')) patience.bookmarkCame()
      if (events.length > 0) yield events
    }
  } catch (error) {
    if (signal.aborted) return
    throw faultOfError(name, error)
  }
}

async function expiredStatus(body: Promise<Buffer>): Promise<Extract<RawWatchEvent, { type: 'ERROR' }>['status']> {
  await body.catch(() => undefined)
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Expired', code: 410 }
}

/** The events of a watch's body, whole ones only: what a cut-off line loses comes again when the watch resumes. */
import type { MemberResponse } from '../fleet/member.ts'
import { WatchSplitter } from '../kube/watch-splitter.ts'
import { eventError } from './answer-error.ts'
import type { WatchBatchEvent } from './lister-watcher.ts'

export interface WatchStreamOptions {
  readonly maxEventBytes: number
  readonly onBookmark: () => void
}

/** Throws `ReflectorError` at an ERROR event, after the events before it; `MalformedEventError`; `MemberError`. */
export async function* watchEvents(
  name: string,
  response: MemberResponse,
  options: WatchStreamOptions,
): AsyncGenerator<readonly WatchBatchEvent[], void, void> {
  const splitter = new WatchSplitter({ maxEventBytes: options.maxEventBytes })
  for await (const chunk of response.body) {
    const batch: WatchBatchEvent[] = []
    for (const event of splitter.push(chunk)) {
      if (event.type === 'ERROR') {
        if (batch.length > 0) yield batch
        throw eventError(name, event.status)
      }
      if (event.type === 'BOOKMARK') options.onBookmark()
      batch.push(event)
    }
    if (batch.length > 0) yield batch
  }
}

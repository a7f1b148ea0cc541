/** Reads a watch over HTTP until it ends. */

export interface WatchEvent {
  readonly type: string
  readonly object: {
    readonly code?: number
    readonly reason?: string
    readonly metadata: {
      readonly name: string
      readonly namespace?: string
      readonly resourceVersion: string
      readonly annotations?: Readonly<Record<string, string>>
    }
  }
}

export interface WatchEvents {
  readonly events: readonly WatchEvent[]
  /** Resolves with the last event when the server ends the stream; undefined: there was none since it began. */
  readonly ended: Promise<WatchEvent | undefined>
  stop(): void
}

/** Resolves when the watch stands; rejects for another status than 200. */
export async function watchEvents(url: string, headers: Readonly<Record<string, string>>): Promise<WatchEvents> {
  const stopped = new AbortController()
  const response = await fetch(url, { headers, signal: stopped.signal })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const events: WatchEvent[] = []
  const ended = read(response, events).catch((error: unknown) => {
    if (stopped.signal.aborted) return undefined
    throw error
  })
  return {
    events,
    ended,
    stop: () => stopped.abort(),
  }
}

async function read({ body }: Response, events: WatchEvent[]): Promise<WatchEvent | undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body ?? []) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) events.push(JSON.parse(line) as WatchEvent)
  }
  return events.at(-1)
}

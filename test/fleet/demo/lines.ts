/** Reads a watch line by line, as far as a test wants. */
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'

export interface WatchEvent {
  readonly type: string
  readonly object: {
    readonly kind: string
    readonly metadata: {
      readonly name: string
      readonly resourceVersion: string
      readonly labels?: Record<string, string>
      readonly annotations?: Record<string, string>
    }
  }
}

export interface Lines {
  /** The next `count` events; rejects after 5 s. */
  take(count: number): Promise<WatchEvent[]>
  /** How the stream ended. */
  ended(): Promise<'clean' | 'broken'>
  /** What came after the last line break. */
  rest(): string
  close(): void
}

/** Resolves when the head of the answer is there. */
export async function openLines(url: string): Promise<Lines> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent: false }, resolve).once('error', reject)
  })
  const events: WatchEvent[] = []
  let text = ''
  let wake: () => void = () => undefined
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    events.push(...lines.map((line) => JSON.parse(line) as WatchEvent))
    wake()
  })
  const ended = new Promise<'clean' | 'broken'>((resolve) => {
    response.once('end', () => {
      resolve('clean')
    })
    response.once('error', () => {
      resolve('broken')
    })
  })
  return {
    async take(count) {
      const deadline = performance.now() + 5_000
      while (events.length < count) {
        if (performance.now() > deadline) throw new Error(`${events.length} of ${count} events came`)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 20)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      return events.splice(0, count)
    },
    ended: () => ended,
    rest: () => text,
    close: () => response.destroy(),
  }
}

/**
 * A client that follows a list as client-go's Reflector does: LIST, WATCH from the list's version, resume from the last
 * version after a clean end, LIST again after 410. What it holds is what a controller behind us would believe.
 */
import { request } from 'undici'

export interface FollowedObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: FollowedObject & { readonly code?: number }
}

export class Follower {
  /** By cluster, namespace and name. */
  readonly objects = new Map<string, FollowedObject>()
  lists = 0
  watches = 0
  readonly #url: string
  readonly #stop = new AbortController()
  #ended: Promise<void> = Promise.resolve()

  /** `url`: of the list, without a query. */
  constructor(url: string) {
    this.#url = url
  }

  start(): this {
    this.#ended = this.#run()
    return this
  }

  /** Rejects with what went wrong on the way, if anything did that a client must not meet. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  keys(): string[] {
    return [...this.objects.keys()].sort()
  }

  async #run(): Promise<void> {
    let version: string | undefined
    while (!this.#stop.signal.aborted) {
      try {
        version ??= await this.#list()
        version = await this.#watch(version)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        throw error
      }
    }
  }

  async #list(): Promise<string> {
    this.lists += 1
    const { statusCode, body } = await request(this.#url, { signal: this.#stop.signal })
    if (statusCode !== 200) throw new Error(`LIST: ${statusCode} ${await body.text()}`)
    const list = (await body.json()) as { metadata: { resourceVersion: string }; items: FollowedObject[] }
    this.objects.clear()
    for (const object of list.items) this.objects.set(keyOf(object), object)
    return list.metadata.resourceVersion
  }

  /** Undefined: expired, list again. */
  async #watch(from: string): Promise<string | undefined> {
    this.watches += 1
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${from}`
    const { statusCode, body } = await request(`${this.#url}?${query}`, { signal: this.#stop.signal, bodyTimeout: 0 })
    if (statusCode === 410) {
      await body.dump()
      return undefined
    }
    if (statusCode !== 200) throw new Error(`WATCH: ${statusCode} ${await body.text()}`)
    let version: string = from
    let rest = ''
    for await (const chunk of body) {
      const lines = (rest + String(chunk)).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const event = JSON.parse(line) as WatchEvent
        if (event.type === 'ERROR') {
          if (event.object.code === 410) return undefined
          throw new Error(`WATCH: ${line}`)
        }
        this.#apply(event)
        version = event.object.metadata.resourceVersion
      }
    }
    return version
  }

  #apply({ type, object }: WatchEvent): void {
    const key = keyOf(object)
    if (type === 'DELETED') this.objects.delete(key)
    else if (type !== 'BOOKMARK') this.objects.set(key, object)
  }
}

function keyOf({ metadata }: FollowedObject): string {
  return `${metadata.annotations?.['cluster.karmada.io/name'] ?? '?'}/${metadata.namespace ?? ''}/${metadata.name}`
}

/**
 * A client of `search/query/proxy?watch=true` as its users write one: what it holds is what it was told of the result, and it
 * goes on behind its last bookmark where its connection ended.
 */
import { Agent, request } from 'undici'
import type { FollowedObject } from './follower.ts'

export interface QueryFollowerOptions {
  /** Of the endpoint, with `q` and without `resourceVersion`. */
  readonly url: string
  readonly token: string
  readonly caPem: string
}

export class QueryFollower {
  /** `uid@resourceVersion` by cluster, namespace and name. */
  readonly held = new Map<string, string>()
  readonly events = { ADDED: 0, MODIFIED: 0, DELETED: 0, BOOKMARK: 0 }
  /** Events that contradict what was told before; after a resume, what came behind the bookmark may come again. */
  readonly faults: string[] = []
  bookmark = ''
  readonly #options: QueryFollowerOptions
  readonly #agent: Agent
  #stop = new AbortController()
  #running: Promise<void> | undefined
  /** Keys that may be told again. */
  #doubtful: Set<string> | undefined

  constructor(options: QueryFollowerOptions) {
    this.#options = options
    // Undici's own patience would end what the server keeps alive.
    this.#agent = new Agent({ connect: { ca: options.caPem }, allowH2: false, bodyTimeout: 0 })
  }

  /** Begins, or goes on behind the last bookmark; resolves when everything of the first moment is told. */
  async start(): Promise<void> {
    const resumed = this.bookmark !== ''
    if (resumed) this.#doubtful = new Set()
    this.#stop = new AbortController()
    const before = this.events.BOOKMARK
    const { url, token } = this.#options
    const from = resumed ? `&resourceVersion=${this.bookmark}` : ''
    const { statusCode, body } = await request(url + from, {
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${token}` },
      signal: this.#stop.signal,
    })
    if (statusCode !== 200) throw new Error(`${statusCode} ${await body.text()}`)
    let told = (): void => undefined
    const initial = new Promise<void>((resolve) => (told = resolve))
    this.#running = this.#read(body, () => {
      if (this.events.BOOKMARK > before) told()
    })
    await Promise.race([initial, this.#running.then(() => Promise.reject(new Error('the watch ended at its start')))])
  }

  get ended(): Promise<void> {
    return this.#running ?? Promise.resolve()
  }

  /** As a client whose connection breaks. */
  async cut(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async stop(): Promise<void> {
    await this.cut()
    await this.#agent.destroy()
  }

  async #read(body: AsyncIterable<unknown>, onLine: () => void): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const chunk of body) {
        const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          this.#apply(line)
          onLine()
        }
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error
    }
  }

  #apply(line: string): void {
    const { type, object } = JSON.parse(line) as {
      type: keyof QueryFollower['events'] | 'ERROR'
      object: FollowedObject
    }
    if (type === 'ERROR') throw new Error(line)
    this.events[type] += 1
    const { metadata } = object
    if (type === 'BOOKMARK') {
      this.bookmark = metadata.resourceVersion
      return
    }
    const key = `${metadata.annotations?.['cluster.karmada.io/name'] ?? '?'}/${metadata.namespace ?? ''}/${metadata.name}`
    this.#check(type, key)
    if (type === 'DELETED') this.held.delete(key)
    else this.held.set(key, `${metadata.uid}@${metadata.resourceVersion}`)
  }

  #check(type: 'ADDED' | 'MODIFIED' | 'DELETED', key: string): void {
    if ((type !== 'ADDED') === this.held.has(key)) return
    if (this.#doubtful !== undefined && !this.#doubtful.has(key)) {
      this.#doubtful.add(key) // told again; from here on it has to be right
      return
    }
    this.faults.push(`${type} ${key}`)
  }
}

/** A client that watches: keeps a view of what it was told, as an informer does, and every version it could resume from. */
import type { ResourceReader, WatchItem, WatchOptions } from '../../src/cache/reader.ts'
import type { VersionMap } from '../../src/kube/multi-cluster-version.ts'
import { encodeVersionMap } from '../../src/kube/multi-cluster-version.ts'

/** `cluster/namespace/name` to the object's JSON. */
export type View = ReadonlyMap<string, string>

/** Where a client stood when it was given a version. */
export interface Standing {
  readonly versions: VersionMap
  readonly view: View
  /** How often the test's world had been shaken up by then; the test's to define. */
  readonly epoch: number
}

export class WatchClient {
  readonly items: WatchItem[] = []
  readonly standings: Standing[] = []
  readonly #abort = new AbortController()
  readonly #epoch: () => number
  #view: Map<string, string>
  expired: string | undefined
  /** Whether the stream has ended, for whatever reason. */
  ended = false
  readonly done: Promise<void>

  constructor(
    resource: ResourceReader,
    options: Omit<WatchOptions, 'signal'> = {},
    view: View = new Map(),
    epoch: () => number = () => 0,
  ) {
    this.#view = new Map(view)
    this.#epoch = epoch
    this.done = this.#consume(resource.watch({ ...options, signal: this.#abort.signal }))
  }

  get view(): View {
    return this.#view
  }

  stop(): Promise<void> {
    this.#abort.abort()
    return this.done
  }

  /** `TYPE name` of each item so far, and forgets them. */
  take(): string[] {
    return this.items.splice(0).map(itemText)
  }

  async #consume(batches: AsyncIterable<readonly WatchItem[]>): Promise<void> {
    for await (const batch of batches) for (const item of batch) this.#receive(item)
    this.ended = true
  }

  #receive(item: WatchItem): void {
    this.items.push(item)
    if (item.type === 'EXPIRED') {
      this.expired = item.message
      return
    }
    if (item.type === 'INITIAL') this.#set(item.object)
    if (item.type === 'EVENT' && item.event.type === 'DELETED') this.#view.delete(keyOf(item.event.object))
    else if (item.type === 'EVENT') this.#set(item.event.object)
    this.standings.push({ versions: item.versions, view: new Map(this.#view), epoch: this.#epoch() })
  }

  #set(object: { cluster: string; namespace: string; name: string; bytes: Uint8Array }): void {
    this.#view.set(keyOf(object), Buffer.from(object.bytes).toString())
  }
}

export function keyOf(object: { readonly cluster: string; readonly namespace: string; readonly name: string }): string {
  return `${object.cluster}/${object.namespace}/${object.name}`
}

/** `ADDED member1/ns/name`, `INITIAL …`, `BOOKMARK {"member1":"5"}`, … */
export function itemText(item: WatchItem): string {
  switch (item.type) {
    case 'EVENT':
      return `${item.event.type} ${keyOf(item.event.object)}`
    case 'INITIAL':
      return `INITIAL ${keyOf(item.object)}`
    case 'BOOKMARK':
      return `BOOKMARK ${versionsText(item.versions)}`
    case 'INITIAL_END':
    case 'EXPIRED':
      return item.type
  }
}

export function versionsText(versions: VersionMap): string {
  return Buffer.from(encodeVersionMap(versions), 'base64url').toString()
}

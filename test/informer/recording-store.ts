/** A ReflectorStore that keeps parsed objects and writes down what readers and watchers would be told. */
import type { Replacement, ReflectorState, ReflectorStore, WatchEventType } from '../../src/informer/reflector-store.ts'
import { MalformedObjectError } from '../../src/kube/malformed-error.ts'
import { compareResourceVersions, type ResourceVersion } from '../../src/kube/names.ts'

interface Stored {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string }
}

export class RecordingStore implements ReflectorStore {
  /** By `namespace/name`. */
  objects = new Map<string, Stored>()
  version = '' as ResourceVersion
  /** `ADDED default/a`, in order: what a watcher would see. */
  readonly events: string[] = []
  readonly states: ReflectorState[] = []
  replacements = 0
  bookmarks = 0
  /** Objects added to the replacement under way, duplicates counted. */
  added = 0

  beginReplace(): Replacement {
    const next = new Map<string, Stored>()
    let open = true
    this.added = 0
    return {
      add: (bytes) => {
        const object = parse(bytes)
        next.set(keyOf(object), object)
        this.added += 1
      },
      commit: (version) => {
        if (!open) throw new Error('committed twice, or after discard')
        open = false
        this.#diff(next)
        this.objects = next
        this.version = version
        this.replacements += 1
      },
      discard: () => {
        open = false
      },
    }
  }

  apply(type: WatchEventType, bytes: Uint8Array): ResourceVersion {
    const object = parse(bytes)
    const version = object.metadata.resourceVersion as ResourceVersion
    if ((compareResourceVersions(version, this.version) ?? 1) <= 0) return this.version
    const key = keyOf(object)
    if (type === 'DELETED') this.objects.delete(key)
    else this.objects.set(key, object)
    this.events.push(`${type} ${key}`)
    this.version = version
    return version
  }

  bookmark(version: ResourceVersion): void {
    this.version = version
    this.bookmarks += 1
  }

  report(state: ReflectorState): void {
    this.states.push(state)
  }

  get phase(): string | undefined {
    return this.states.at(-1)?.phase
  }

  names(): string[] {
    return [...this.objects.keys()].sort()
  }

  #diff(next: ReadonlyMap<string, Stored>): void {
    for (const [key, object] of next) {
      const old = this.objects.get(key)
      if (old === undefined) this.events.push(`ADDED ${key}`)
      else if (old.metadata.resourceVersion !== object.metadata.resourceVersion) this.events.push(`MODIFIED ${key}`)
    }
    for (const key of this.objects.keys()) if (!next.has(key)) this.events.push(`DELETED ${key}`)
  }
}

function parse(bytes: Uint8Array): Stored {
  const object = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<Stored>
  if (object.metadata?.name === undefined) throw new MalformedObjectError('shape', 'no name')
  return object as Stored
}

function keyOf({ metadata }: Stored): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
}

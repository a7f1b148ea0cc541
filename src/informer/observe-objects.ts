/** Follows a resource as parsed objects: for the few small ones that the program itself lives by (Clusters, Secrets). */
import type { MemberClient } from '../fleet/member.ts'
import { fields, isFields, textOrEmpty, type Fields } from '../fleet/fields.ts'
import type { ObjectObserver } from '../fleet/observe-objects.ts'
import type { GroupVersionResource } from '../kube/group-version.ts'
import { MalformedObjectError } from '../kube/malformed-error.ts'
import type { ResourceVersion } from '../kube/names.ts'
import { HttpListerWatcher } from './http-lister-watcher.ts'
import { runReflector, type ReflectorOptions } from './reflector.ts'
import type { Replacement, ReflectorState, ReflectorStore, WatchEventType } from './reflector-store.ts'

export interface ObserveObjectsOptions extends ReflectorOptions {
  /** For logs and errors; default `control-plane`. */
  readonly name?: string
}

/** Runs until the signal aborts. Implements the port of fleet/observe-objects.ts once its options are bound. */
export async function observeObjects(
  client: MemberClient,
  target: { readonly gvr: GroupVersionResource; readonly namespace?: string; readonly fieldSelector?: string },
  observer: ObjectObserver,
  options: ObserveObjectsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name = 'control-plane', clock, random } = options
  const source = new HttpListerWatcher({ client, cluster: name, clock, random, ...target })
  await runReflector(source, new ObserverStore(observer), options, signal)
}

class ObserverStore implements ReflectorStore {
  readonly #observer: ObjectObserver

  constructor(observer: ObjectObserver) {
    this.#observer = observer
  }

  beginReplace(): Replacement {
    const objects: Fields[] = []
    return {
      add: (bytes) => {
        objects.push(parse(bytes))
      },
      commit: () => {
        this.#observer.replaced(objects)
      },
      discard: () => undefined,
    }
  }

  apply(type: WatchEventType, bytes: Uint8Array): ResourceVersion {
    const object = parse(bytes)
    this.#observer.changed(type, object)
    return textOrEmpty(fields(object.metadata), 'resourceVersion') as ResourceVersion
  }

  bookmark(): void {
    // The reflector keeps the version; the observer has no use for it.
  }

  report(state: ReflectorState): void {
    if (state.phase === 'failing') this.#observer.failing(state.message)
  }
}

function parse(bytes: Uint8Array): Fields {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
  } catch {
    throw new MalformedObjectError('syntax', 'not JSON')
  }
  if (isFields(value) && textOrEmpty(fields(value.metadata), 'resourceVersion') !== '') return value
  throw new MalformedObjectError('shape', 'no object with a resourceVersion')
}

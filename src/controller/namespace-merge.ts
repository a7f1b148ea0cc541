/**
 * One shard fed by several reflectors, one for each namespace: for members that forbid lists over all namespaces.
 *
 * - The shard stands at the smallest version of its parts: a watch resumed from there misses nothing of any namespace.
 * - Each part resumes its own watch from its own version, so that the member repeats nothing.
 * - At the start nothing is shown until every part has been listed: no reader takes the namespace that was first for the
 *   whole. A part that is forbidden, too, is not waited for: it counts as empty until it can be listed, and is reported.
 */
import {
  leftOutOf,
  type ReflectorState,
  type ReflectorStore,
  type Replacement,
  type WatchEventType,
} from '../informer/reflector-store.ts'
import { MalformedObjectError } from '../kube/malformed-error.ts'
import { compareResourceVersions, type ResourceVersion } from '../kube/names.ts'
import { scanObject } from '../kube/object-scanner.ts'
import type { FeedTarget } from './feed-gate.ts'

interface Part {
  readonly namespace: string
  state: ReflectorState
  /** Where this part stands: its list's version, then its newest event's or bookmark's. */
  version: ResourceVersion | undefined
  /** A list that waits for the other parts. */
  waiting: { readonly replacement: Replacement; readonly version: ResourceVersion } | undefined
  /** Events behind that list. */
  readonly held: { readonly type: WatchEventType; readonly object: Uint8Array }[]
}

const MAX_HELD = 1_000 // events that wait for a slow part, about 5 MB of pods; then those that are ready are shown

export class NamespaceMerge {
  readonly #target: FeedTarget
  readonly #parts: readonly Part[]
  readonly #isFirst: boolean
  #shown = false
  #published: ResourceVersion | undefined

  /** `isFirst`: the shard has never been listed. Else what it shows of a namespace stays until that is listed again. */
  constructor(target: FeedTarget, namespaces: Iterable<string>, isFirst: boolean) {
    this.#target = target
    this.#isFirst = isFirst
    this.#parts = [...namespaces].map((namespace) => ({
      namespace,
      state: { phase: 'listing' },
      version: undefined,
      waiting: undefined,
      held: [],
    }))
  }

  /** The stores for the reflectors, each with its namespace. */
  stores(): { readonly namespace: string; readonly store: ReflectorStore }[] {
    return this.#parts.map((part) => ({ namespace: part.namespace, store: this.#store(part) }))
  }

  #store(part: Part): ReflectorStore {
    return {
      beginReplace: () => this.#beginReplace(part),
      apply: (type, object) => this.#apply(part, type, object),
      bookmark: (version) => {
        part.version = version
        this.#publish()
      },
      report: (state) => {
        part.state = state
        this.#target.report(this.#state())
        this.#showWhenReady()
      },
    }
  }

  #beginReplace(part: Part): Replacement {
    if (!this.#shown) forget(part)
    const inner = this.#target.beginNamespaceReplace(part.namespace)
    return {
      add: (object) => {
        inner.add(object)
      },
      discard: () => {
        inner.discard()
      },
      commit: (version) => {
        part.version = version
        if (this.#shown) {
          inner.commit(this.#smallest() ?? version)
          this.#published = this.#smallest()
          return
        }
        part.waiting = { replacement: inner, version }
        this.#showWhenReady()
      },
    }
  }

  #apply(part: Part, type: WatchEventType, object: Uint8Array): ResourceVersion {
    const { namespace, resourceVersion } = scanObject(object)
    if (namespace !== '' && namespace !== part.namespace) {
      throw new MalformedObjectError('shape', `an object of namespace ${namespace} among those of ${part.namespace}`)
    }
    part.version = resourceVersion
    if (this.#shown) {
      this.#published = this.#smallest() ?? resourceVersion
      this.#target.applyAt(type, object, this.#published)
    } else {
      part.held.push({ type, object: Uint8Array.from(object) })
      if (part.held.length > MAX_HELD) this.#show()
    }
    return resourceVersion
  }

  #showWhenReady(): void {
    if (this.#shown) return
    if (this.#parts.every((part) => part.waiting !== undefined || isForbidden(part))) this.#show()
  }

  /** All at once: no reader runs between the first part and the last. */
  #show(): void {
    const ready = this.#parts.filter(({ waiting }) => waiting !== undefined)
    const at = smallest(ready.map(({ waiting }) => waiting?.version))
    if (at === undefined) return
    this.#shown = true
    for (const part of ready) {
      part.waiting?.replacement.commit(at)
      part.waiting = undefined
    }
    if (this.#isFirst) {
      for (const part of this.#parts.filter(isForbidden)) this.#target.beginNamespaceReplace(part.namespace).commit(at)
    }
    for (const part of ready) {
      for (const { type, object } of part.held) this.#target.applyAt(type, object, at)
      part.held.length = 0
    }
    this.#published = at
    this.#publish()
  }

  #publish(): void {
    const version = this.#smallest()
    if (!this.#shown || version === undefined || version === this.#published) return
    this.#published = version
    this.#target.bookmark(version)
  }

  /** Of the parts that were listed: one that never could be does not hold back the rest. */
  #smallest(): ResourceVersion | undefined {
    return smallest(this.#parts.map(({ version }) => version))
  }

  /** The worst of the parts, since that is how far the whole can be trusted. */
  #state(): ReflectorState {
    const failing = this.#parts.find(({ state }) => state.phase === 'failing')
    if (failing?.state.phase === 'failing') {
      return { ...failing.state, message: `namespace ${failing.namespace}: ${failing.state.message}` }
    }
    if (this.#parts.some(({ state }) => state.phase === 'listing')) return { phase: 'listing' }
    const leftOut = this.#parts.reduce((sum, { state }) => sum + leftOutOf(state), 0)
    return { phase: 'watching', ...(leftOut === 0 ? {} : { leftOut }) }
  }
}

/** A list that is shown to nobody yet and is asked for again: the shard takes the new one in its place. */
function forget(part: Part): void {
  part.waiting?.replacement.discard()
  part.waiting = undefined
  part.version = undefined
  part.held.length = 0
}

function isForbidden({ state, version }: Part): boolean {
  return version === undefined && state.phase === 'failing' && state.code === 'forbidden'
}

function smallest(versions: readonly (ResourceVersion | undefined)[]): ResourceVersion | undefined {
  return versions.reduce((least, version) => {
    if (version === undefined || least === undefined) return least ?? version
    return (compareResourceVersions(version, least) ?? 0) < 0 ? version : least
  }, undefined)
}

/** An object of a watch event as its client wants to see it, with the watcher's whole version map spliced in. */
import type { CachedObject, CacheEvent } from '../../cache/reader.ts'
import type { Representation } from '../../http/accept.ts'
import { partialObject } from '../../http/partial.ts'
import { withResourceVersion } from '../../kube/canonical-object.ts'
import type { KindColumns } from '../../kube/columns/column.ts'
import type { GroupVersionKind } from '../../kube/group-version.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import type { VersionMap } from '../../kube/multi-cluster-version.ts'
import { encodeVersionMap } from '../../kube/multi-cluster-version.ts'
import type { IncludeObject } from '../../kube/table.ts'
import { renderTable } from '../../kube/table.ts'
import type { Clock } from '../../util/clock.ts'
import { SplicedEvents } from './spliced-events.ts'

export interface RendererOptions {
  readonly gvk: GroupVersionKind
  readonly representation: Representation
  /** Only read for a Table. */
  readonly columns: KindColumns | undefined
  readonly includeObject: IncludeObject
  readonly clock: Clock
}

type VersionedObject = Pick<CachedObject, 'bytes' | 'versionStart' | 'versionEnd'>

/** Every watcher that stands at the event's own versions gets the same bytes. */
const spliced = new SplicedEvents()

export class EventRenderer {
  readonly #options: RendererOptions
  #tables = 0

  constructor(options: RendererOptions) {
    this.#options = options
  }

  object(object: VersionedObject, versions: VersionMap): Uint8Array {
    const token = encodeVersionMap(versions)
    return this.#represent(withResourceVersion(object, token), token)
  }

  /** The event's object; made once for all watchers at the same versions. */
  event(event: CacheEvent, versions: VersionMap): Uint8Array {
    if (versions !== event.versions) return this.object(event.object, versions)
    const token = encodeVersionMap(versions)
    const bytes = spliced.get(event, () => withResourceVersion(event.object, token))
    return this.#represent(bytes, token)
  }

  /** An object with nothing but a version; `initialEventsEnd` marks the end of the present objects. */
  bookmark(versions: VersionMap, initialEventsEnd: boolean): Uint8Array {
    const { gvk } = this.#options
    const token = encodeVersionMap(versions)
    const annotations = initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
    const metadata = { resourceVersion: token, ...annotations }
    const bytes = Buffer.from(JSON.stringify({ kind: gvk.kind, apiVersion: apiVersionOf(gvk), metadata }))
    return this.#represent(bytes, token)
  }

  #represent(bytes: Uint8Array, token: string): Uint8Array {
    const { representation } = this.#options
    switch (representation.as) {
      case 'object':
        return bytes
      case 'partial':
        return partialObject(bytes, representation.version)
      case 'table':
        return this.#table(bytes, token, representation.version)
      default:
        return representation satisfies never
    }
  }

  /** Only the first Table of a watch declares its columns. */
  #table(bytes: Uint8Array, resourceVersion: string, version: 'v1' | 'v1beta1'): Uint8Array {
    const { columns = { columns: [] }, includeObject, clock } = this.#options
    const table = renderTable({
      columns,
      objects: [{ bytes }],
      apiVersion: version,
      includeObject,
      listMeta: { resourceVersion },
      nowMs: clock.nowMs(),
      headers: this.#tables++ === 0,
    })
    return table.subarray(0, table.lastIndexOf('}') + 1) // without its line break: an event is one line
  }
}

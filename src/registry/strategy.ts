/**
 * What the server itself decides about an object's fields on each write: names, uids, times, generation, which half of
 * the object a request may touch. Pure.
 */
import type { ObjectMeta, ResourceRegistry } from '../api/resource-registry.ts'

/** What a new object starts with; the client's own uid, version, generation, times and status count for nothing. */
export function prepareForCreate(input: ResourceRegistry, name: string, uid: string, now: string): ResourceRegistry {
  const { generateName, labels, annotations, finalizers } = input.metadata
  const metadata = {
    name,
    ...optional({ generateName }),
    uid,
    resourceVersion: '',
    generation: 1,
    creationTimestamp: now,
    ...optional({
      labels,
      annotations,
      ownerReferences: input.metadata['ownerReferences'],
      finalizers,
      managedFields: input.metadata['managedFields'],
    }),
  }
  return { ...input, metadata, status: {} }
}

/** The main resource: spec and the client's half of the metadata change, the status stays. */
export function prepareForUpdate(input: ResourceRegistry, stored: ResourceRegistry): ResourceRegistry {
  const changed = JSON.stringify(input.spec) !== JSON.stringify(stored.spec)
  const { labels, annotations, finalizers } = input.metadata
  const metadata = {
    ...systemMetadata(stored.metadata, changed),
    name: input.metadata.name,
    uid: input.metadata.uid === '' ? stored.metadata.uid : input.metadata.uid,
    ...optional({ labels, annotations, ownerReferences: input.metadata['ownerReferences'], finalizers }),
  }
  return { ...stored, metadata, spec: changed ? input.spec : stored.spec }
}

/** The status subresource: only the status changes. */
export function prepareForStatusUpdate(input: ResourceRegistry, stored: ResourceRegistry): ResourceRegistry {
  return { ...stored, status: input.status ?? {} }
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan'

const FOREGROUND = 'foregroundDeletion'
const ORPHAN = 'orphan'

/**
 * The finalizers that a deletion leaves: the garbage collector of the control plane removes those that it is asked for.
 * Source: apiserver pkg/registry/generic/registry/store.go, `deletionFinalizersForGarbageCollection`.
 */
export function finalizersFor(finalizers: readonly string[], propagation: Propagation | undefined): readonly string[] {
  if (propagation === undefined) return finalizers
  const others = finalizers.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN)
  if (propagation === 'Background') return others
  return [...others, propagation === 'Foreground' ? FOREGROUND : ORPHAN]
}

/** Waits for its finalizers: marked, not gone. One that is marked already keeps its time. */
export function markDeleted(stored: ResourceRegistry, finalizers: readonly string[], now: string): ResourceRegistry {
  const { generation, deletionTimestamp } = stored.metadata
  const mark =
    deletionTimestamp === undefined
      ? {
          ...(generation === undefined ? {} : { generation: generation + 1 }),
          deletionTimestamp: now,
          deletionGracePeriodSeconds: 0,
        }
      : {}
  return { ...stored, metadata: { ...stored.metadata, ...mark, finalizers } }
}

/** Nothing holds it back any more, so that the update is its end. */
export function isReleased(registry: ResourceRegistry): boolean {
  return registry.metadata.deletionTimestamp !== undefined && (registry.metadata.finalizers ?? []).length === 0
}

/** Times as a kube-apiserver writes them: to the second. */
export function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.\d{3}Z$/, 'Z')
}

/**
 * The fields no client may change. Objects that an older karmada-search stored have no generation: they get one with
 * their first change of spec. Who owns which field was settled before (field-ownership/).
 */
function systemMetadata(stored: ObjectMeta, specChanged: boolean): ObjectMeta {
  const { labels: _l, annotations: _a, finalizers: _f, ownerReferences: _o, ...rest } = stored
  return specChanged ? { ...rest, generation: (stored.generation ?? 0) + 1 } : rest
}

/** Drops what is undefined or empty, as Go's omitempty does. */
function optional(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && !isEmpty(value)))
}

function isEmpty(value: unknown): boolean {
  return value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
}

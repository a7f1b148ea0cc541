/**
 * What a provider needs to follow objects of a control plane; declared here by its user, done by `informer/`
 * (observe-objects.ts there), which fleet/ may not import.
 */
import type { GroupVersionResource } from '../kube/group-version.ts'
import type { Fields } from './fields.ts'
import type { MemberClient } from './member.ts'

export interface ObjectObserver {
  /** Everything there is: at first, and after each relist. */
  replaced(objects: readonly Fields[]): void
  /** One change; `object` of a DELETED is its last state. */
  changed(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Fields): void
  /** The server fails or refuses; retried. `message` is fit to show. */
  failing(message: string): void
}

/** Runs until the signal aborts, then resolves; rejects for faults of ours alone. */
export type ObserveObjects = (
  client: MemberClient,
  target: { readonly gvr: GroupVersionResource; readonly namespace?: string; readonly fieldSelector?: string },
  observer: ObjectObserver,
  signal: AbortSignal,
) => Promise<void>

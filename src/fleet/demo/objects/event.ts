/** Core v1 Events, as the client-go recorder writes them. */
import type { SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import type { KubeObject } from './kinds.ts'

export interface EventDraft {
  readonly about: KubeObject
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly component: string
  readonly host?: string
  /** Part of the object, e.g. `spec.containers{web}`. */
  readonly fieldPath?: string
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
}

export function makeEvent(draft: EventDraft, random: SeededRandom): KubeObject {
  const { about, firstMs, lastMs, component, host } = draft
  const namespace = about.metadata.namespace ?? 'default'
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${about.metadata.name}.${random.hex(16)}`,
      namespace,
      creationTimestamp: rfc3339(firstMs),
    },
    involvedObject: {
      kind: about.kind,
      ...(about.metadata.namespace === undefined ? {} : { namespace }),
      name: about.metadata.name,
      uid: about.metadata.uid ?? '',
      apiVersion: about.apiVersion,
      ...(draft.fieldPath === undefined ? {} : { fieldPath: draft.fieldPath }),
    },
    reason: draft.reason,
    message: draft.message,
    source: { component, ...(host === undefined ? {} : { host }) },
    firstTimestamp: rfc3339(firstMs),
    lastTimestamp: rfc3339(lastMs),
    count: draft.count,
    type: draft.type,
    eventTime: null,
    reportingComponent: component,
    reportingInstance: host ?? '',
  }
}

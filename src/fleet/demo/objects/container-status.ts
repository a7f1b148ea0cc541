/** What a kubelet says of one container: that it runs, waits, or has ended and how. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import { digestOf, type SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import type { Container, ContainerStatus } from './kinds.ts'

/** The last end of a container that was started again. */
export interface PastEnd {
  readonly exitCode: number
  readonly reason: string
  readonly endedMs: number
}

export function running(
  container: Container,
  startedMs: number,
  ready: boolean,
  random: SeededRandom,
): ContainerStatus {
  const state = { running: { startedAt: rfc3339(startedMs) } }
  return { ...identity(container, random), state, lastState: {}, ready, started: true }
}

export function waiting(container: Container, reason: JsonObject): ContainerStatus {
  return {
    name: container.name,
    state: { waiting: reason },
    lastState: {},
    ready: false,
    restartCount: 0,
    image: container.image,
    imageID: '',
    started: false,
  }
}

/** What a container that has run is known by. */
export function identity(container: Container, random: SeededRandom): ContainerStatus {
  const repository = container.image.slice(0, container.image.lastIndexOf(':'))
  return {
    name: container.name,
    state: {},
    lastState: {},
    ready: false,
    restartCount: 0,
    image: container.image,
    imageID: `${repository}@sha256:${digestOf(container.image)}`,
    containerID: `containerd://${random.hex(64)}`,
    started: false,
    allocatedResources: container.resources.requests ?? {},
    resources: container.resources,
    ...(container.volumeMounts === undefined ? {} : { volumeMounts: container.volumeMounts.map(mounted) }),
  }
}

function mounted({ name, mountPath, readOnly }: JsonObject): JsonObject {
  return { name, mountPath, ...(readOnly === true ? { readOnly, recursiveReadOnly: 'Disabled' } : {}) }
}

export function past(last: PastEnd, random: SeededRandom): Pick<ContainerStatus, 'lastState'> {
  return { lastState: { terminated: ended(last, last.endedMs - random.int(4_000, 900_000), random) } }
}

export function ended(end: PastEnd, startedMs: number, random: SeededRandom): JsonObject {
  return {
    exitCode: end.exitCode,
    reason: end.reason,
    startedAt: rfc3339(startedMs),
    finishedAt: rfc3339(end.endedMs),
    containerID: `containerd://${random.hex(64)}`,
  }
}

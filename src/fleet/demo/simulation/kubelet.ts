/** Brings pods to life, restarts what crashes, stops what must go: the kubelet, and the binding before it. */
import type { App } from '../catalogue/app.ts'
import { PRIORITIES } from '../objects/config.ts'
import { isActive, type KubeObject, type Pod, type PodTemplate, type Workload } from '../objects/kinds.ts'
import { templateHash } from '../objects/workload.ts'
import { makePod } from '../objects/pod.ts'
import { podStatus, topologyLabels, type PodPlace, type PodState } from '../objects/pod-status.ts'
import { rfc3339 } from '../timestamp.ts'
import type { Context } from './context.ts'
import type { PodActions } from './replicas.ts'

type Creation = Parameters<PodActions['create']>

export class Kubelet implements PodActions {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /** Creates a pod of a workload and sees it through to ready. */
  create(...[owner, template, naming]: Creation): void {
    const context = this.#context
    const { random } = context
    const namespace = owner.metadata.namespace ?? ''
    const generateName = naming.name === undefined ? `${owner.metadata.name}-` : undefined
    const name = naming.name ?? `${owner.metadata.name}-${random.suffix()}`
    const app = context.app(namespace, template.metadata.labels['app.kubernetes.io/name'] ?? '')
    const pod = makePod(
      {
        name,
        ...(generateName === undefined ? {} : { generateName }),
        namespace,
        owner,
        template,
        createdMs: context.nowMs(),
        place: undefined,
        state: { kind: 'creating' },
        priority: PRIORITIES[app?.priority ?? ''] ?? 0,
        ...podLabels(owner, name),
        ...claimsOf(owner, app, name),
      },
      random,
    )
    context.put(pod)
    this.#announce(owner, pod)
    context.after(random.int(40, 300), () => {
      this.#bind(pod, naming.node)
    })
  }

  /** Begins the end of a pod: it is terminating for some seconds, then gone. */
  stop(pod: Pod): void {
    const context = this.#context
    const current = this.#current(pod)
    if (current === undefined || current.metadata.deletionTimestamp !== undefined) return
    const grace = Number(current.spec['terminationGracePeriodSeconds'] ?? 30)
    const deletionTimestamp = rfc3339(context.nowMs() + grace * 1_000)
    context.put({ ...current, metadata: { ...current.metadata, deletionTimestamp, deletionGracePeriodSeconds: grace } })
    for (const container of current.spec.containers) {
      this.#event(current, 'Normal', 'Killing', `Stopping container ${container.name}`, container.name)
    }
    context.after(context.random.int(1_000, 6_000), () => {
      this.remove(current)
    })
  }

  remove(pod: Pod): void {
    const current = this.#current(pod)
    if (current === undefined) return
    this.#context.scheduler.release(current.metadata.uid ?? '', current.spec)
    this.#context.remove(current)
  }

  /** A container of a running pod dies and is started again. */
  restart(pod: Pod, exitCode: number, reason: string): void {
    const current = this.#current(pod)
    if (current === undefined || !isActive(current)) return
    const nowMs = this.#context.nowMs()
    const restarts = restartsOf(current) + 1
    const last = { exitCode, reason, endedMs: nowMs - 1_000 }
    this.#become(current, { kind: 'running', startedMs: nowMs, ready: false, restarts, last })
    this.#started(current)
    this.#context.after(this.#context.random.int(4_000, 9_000), () => {
      this.#become(current, { kind: 'running', startedMs: nowMs, ready: true, restarts, last })
    })
  }

  /** A pod in a crash loop is tried again: it runs for some seconds, dies, and waits longer. */
  crash(pod: Pod): void {
    const current = this.#current(pod)
    if (current === undefined || current.metadata.deletionTimestamp !== undefined) return
    const context = this.#context
    const previous = lastEnd(current)
    const startedMs = context.nowMs()
    const restarts = restartsOf(current) + 1
    this.#become(current, { kind: 'running', startedMs, ready: false, restarts, last: previous })
    this.#started(current)
    context.after(context.random.int(2_000, 12_000), () => {
      const last = { ...previous, endedMs: context.nowMs() }
      this.#become(current, { kind: 'crashLoop', restarts, last, backoff: backoffMessage(current) })
      const container = current.spec.containers[0]?.name ?? ''
      this.#event(current, 'Warning', 'BackOff', backOffEvent(current, container), container)
    })
  }

  /** Runs a pod of a Job to its end, then calls back. */
  runToEnd(pod: Pod, ms: number, done: (pod: Pod) => void): void {
    const context = this.#context
    context.put(pod)
    context.after(context.random.int(40, 300), () => {
      this.#bind(pod, undefined, (startedMs) => {
        context.after(ms, () => {
          this.#become(pod, { kind: 'succeeded', startedMs, endedMs: context.nowMs() })
          const current = this.#current(pod)
          if (current !== undefined) done(current)
        })
      })
    })
  }

  #bind(pod: Pod, node: string | undefined, started?: (startedMs: number) => void): void {
    const context = this.#context
    const current = this.#current(pod)
    if (current === undefined) return
    const place = context.scheduler.place(current.metadata.uid ?? '', current.spec, node)
    const { namespace = '', name } = current.metadata
    if (place === undefined) {
      const message = unschedulableMessage(context)
      this.#become(current, { kind: 'unschedulable', message })
      context.event({
        about: current,
        type: 'Warning',
        reason: 'FailedScheduling',
        message,
        component: 'default-scheduler',
      })
      context.after(30_000, () => {
        this.#bind(pod, node, started)
      })
      return
    }
    const labels = { ...current.metadata.labels, ...topologyLabels(place) }
    const metadata = { ...current.metadata, labels }
    context.put({ ...current, metadata, spec: { ...current.spec, nodeName: place.nodeName } })
    const message = `Successfully assigned ${namespace}/${name} to ${place.nodeName}`
    context.event({ about: current, type: 'Normal', reason: 'Scheduled', message, component: 'default-scheduler' })
    this.#become(current, { kind: 'creating' }, place)
    context.after(context.random.int(900, 3_500), () => {
      this.#run(pod, place, started)
    })
  }

  #run(pod: Pod, place: PodPlace, started: ((startedMs: number) => void) | undefined): void {
    const context = this.#context
    const startedMs = context.nowMs()
    const job = started !== undefined
    this.#become(pod, { kind: 'running', startedMs, ready: job }, place)
    this.#started(pod)
    started?.(startedMs)
    if (job) return
    context.after(context.random.int(3_500, 9_000), () => {
      const current = this.#current(pod)
      if (current === undefined || !isActive(current)) return
      this.#become(pod, { kind: 'running', startedMs, ready: true }, place)
    })
  }

  /** Rewrites the status; of containers that go on as they were, the old status stays (their ids do not change). */
  #become(pod: Pod, state: PodState, place: PodPlace | undefined = placeOf(this.#current(pod))): void {
    const current = this.#current(pod)
    if (current === undefined) return
    const createdMs = Date.parse(current.metadata.creationTimestamp ?? '')
    const next = podStatus(current.spec, state, createdMs, place, this.#context.random)
    const before = current.status.containerStatuses ?? []
    const statuses = next.containerStatuses?.map((status) => {
      const same = before.find(({ name, restartCount }) => name === status.name && restartCount === status.restartCount)
      const goesOn = same?.state['running'] !== undefined && status.state['running'] !== undefined
      return goesOn ? { ...same, ready: status.ready } : status
    })
    const status = statuses === undefined ? next : { ...next, containerStatuses: statuses }
    this.#context.put({ ...current, status })
  }

  #current(pod: Pod): Pod | undefined {
    const { namespace = '', name, uid } = pod.metadata
    const found = this.#context.get<Pod>('v1', 'Pod', namespace, name)
    return found?.metadata.uid === uid ? found : undefined
  }

  #announce(owner: Workload, pod: Pod): void {
    const components: Record<string, string> = {
      ReplicaSet: 'replicaset-controller',
      StatefulSet: 'statefulset-controller',
      DaemonSet: 'daemonset-controller',
    }
    const message =
      owner.kind === 'StatefulSet'
        ? `create Pod ${pod.metadata.name} in StatefulSet ${owner.metadata.name} successful`
        : `Created pod: ${pod.metadata.name}`
    this.#context.event({
      about: owner,
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message,
      component: components[owner.kind] ?? 'job-controller',
    })
  }

  #started(pod: Pod): void {
    for (const { name, image } of pod.spec.containers) {
      this.#event(pod, 'Normal', 'Pulled', `Container image "${image}" already present on machine`, name)
      this.#event(pod, 'Normal', 'Created', `Container created`, name)
      this.#event(pod, 'Normal', 'Started', `Container started`, name)
    }
  }

  #event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string, container: string): void {
    const host = this.#current(pod)?.spec.nodeName
    const fieldPath = `spec.containers{${container}}`
    this.#context.event({
      about: pod,
      type,
      reason,
      message,
      component: 'kubelet',
      fieldPath,
      ...(host === undefined ? {} : { host }),
    })
  }
}

function placeOf(pod: Pod | undefined): PodPlace | undefined {
  const { nodeName } = pod?.spec ?? {}
  const { hostIP = '', podIP = '' } = pod?.status ?? {}
  const [zone, region] = ['zone', 'region'].map((key) => pod?.metadata.labels?.[`topology.kubernetes.io/${key}`] ?? '')
  return nodeName === undefined ? undefined : { nodeName, hostIP, podIP, zone: zone ?? '', region: region ?? '' }
}

export function restartsOf(pod: Pod): number {
  return pod.status.containerStatuses?.[0]?.restartCount ?? 0
}

function lastEnd(pod: Pod): { exitCode: number; reason: string; endedMs: number } {
  const ended = pod.status.containerStatuses?.[0]?.lastState['terminated']
  const finished = Date.parse(String(ended?.['finishedAt'] ?? pod.metadata.creationTimestamp))
  return { exitCode: Number(ended?.['exitCode'] ?? 1), reason: String(ended?.['reason'] ?? 'Error'), endedMs: finished }
}

/** What `kubectl describe` shows of a container that is held back; the wait is at its longest. */
export function backoffMessage({ metadata, spec }: Pod): string {
  const container = spec.containers[0]?.name ?? ''
  return `back-off 5m0s restarting failed container=${container} pod=${metadata.name}_${metadata.namespace ?? ''}(${metadata.uid ?? ''})`
}

export function backOffEvent({ metadata }: Pod, container: string): string {
  return `Back-off restarting failed container ${container} in pod ${metadata.name}_${metadata.namespace ?? ''}(${metadata.uid ?? ''})`
}

export function unschedulableMessage({ scheduler }: Context): string {
  const { length } = scheduler.nodes
  return `0/${length} nodes are available: ${length} Insufficient nvidia.com/gpu. preemption: 0/${length} nodes are available: ${length} Preemption is not helpful for scheduling.`
}

/** What its controller adds to the labels of the template. */
export function podLabels(owner: KubeObject, name: string): { labels?: Readonly<Record<string, string>> } {
  if (owner.kind === 'DaemonSet') return { labels: { 'controller-revision-hash': templateHash(templateOf(owner)) } }
  if (owner.kind !== 'StatefulSet') return {}
  return {
    labels: {
      'apps.kubernetes.io/pod-index': name.slice(name.lastIndexOf('-') + 1),
      'controller-revision-hash': `${owner.metadata.name}-${templateHash(templateOf(owner))}`,
      'statefulset.kubernetes.io/pod-name': name,
    },
  }
}

function templateOf(owner: KubeObject): PodTemplate {
  return (owner['spec'] as { template: PodTemplate }).template
}

export function claimsOf(
  owner: KubeObject,
  app: App | undefined,
  name: string,
): { claims?: { name: string; claimName: string }[] } {
  if (owner.kind !== 'StatefulSet' || app?.volume === undefined) return {}
  return { claims: [{ name: 'data', claimName: `data-${name}` }] }
}

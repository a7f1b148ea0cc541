/** What goes on in a cluster all day: roll-outs, autoscaling, crashes, lost pods, heartbeats. */
import type { App } from '../catalogue/app.ts'
import { currentCpu } from '../objects/config.ts'
import { isActive, isReady, type KubeObject, type Pod, type Workload } from '../objects/kinds.ts'
import { nodeLease } from '../objects/node.ts'
import { appTemplate } from '../objects/template.ts'
import { rfc3339, rfc3339Micro } from '../timestamp.ts'
import type { Context } from './context.ts'
import type { Kubelet } from './kubelet.ts'
import { tagBefore } from './releases.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

/** Rates make a demo worth watching: some change every few seconds, faster than a quiet night in a real cluster. */
export function startChurn(context: Context, kubelet: Kubelet): void {
  startHeartbeats(context)
  startCrashLoops(context, kubelet)
  context.every(25 * SECOND_MS, 70 * SECOND_MS, () => {
    rollOut(context)
  })
  context.every(6 * SECOND_MS, 20 * SECOND_MS, () => {
    autoscale(context)
  })
  context.every(10 * SECOND_MS, 35 * SECOND_MS, () => {
    losePod(context, kubelet)
  })
  context.every(20 * SECOND_MS, 70 * SECOND_MS, () => {
    restartSome(context, kubelet)
  })
}

/** Applications whose pods fare well: the others keep their illness for the demo's lifetime. */
function healthyApps(context: Context): App[] {
  const { name } = context.cluster
  const sick = ({ sick: all = [] }: App): boolean =>
    all.some(({ clusters, kind }) => kind !== 'restarted' && clusters.includes(name))
  return context.apps.filter((app) => !sick(app))
}

function startHeartbeats(context: Context): void {
  const { nodes } = context.scheduler
  for (const { name, dead } of nodes) {
    if (dead) continue
    context.every(9 * SECOND_MS, 11 * SECOND_MS, () => {
      renewLease(context, name)
    })
    context.every(4 * MINUTE_MS, 6 * MINUTE_MS, () => {
      heartbeat(context, name)
    })
  }
  for (const name of ['kube-controller-manager', 'kube-scheduler']) {
    context.every(2 * SECOND_MS, 3 * SECOND_MS, () => {
      const lease = context.get<Workload>('coordination.k8s.io/v1', 'Lease', 'kube-system', name)
      if (lease !== undefined)
        context.put({ ...lease, spec: { ...lease.spec, renewTime: rfc3339Micro(context.nowMs()) } })
    })
  }
}

function renewLease(context: Context, name: string): void {
  const node = context.get<KubeObject>('v1', 'Node', '', name)
  if (node !== undefined) context.put(nodeLease(node, context.nowMs()))
}

function heartbeat(context: Context, name: string): void {
  const node = context.get<Workload>('v1', 'Node', '', name)
  if (node === undefined) return
  const lastHeartbeatTime = rfc3339(context.nowMs())
  const conditions = (node.status.conditions ?? []).map((condition) => ({ ...condition, lastHeartbeatTime }))
  context.put({ ...node, status: { ...node.status, conditions } })
}

function isCrashing(pod: Pod): boolean {
  return pod.status.containerStatuses?.[0]?.state['waiting']?.['reason'] === 'CrashLoopBackOff'
}

/** The longest back-off is five minutes. */
function startCrashLoops(context: Context, kubelet: Kubelet): void {
  for (const pod of context.pods().filter(isCrashing)) {
    context.every(2 * MINUTE_MS, 5 * MINUTE_MS, () => {
      kubelet.crash(pod)
    })
  }
}

function rollOut(context: Context): void {
  const own = healthyApps(context).filter(
    (app) => app.kind === 'Deployment' && app.image.startsWith('registry.aurora.example/'),
  )
  const app = context.random.pick(own)
  const deployment = context.get<Workload>('apps/v1', 'Deployment', app.namespace, app.name)
  if (deployment === undefined) return
  const image = deployment.spec.template.spec.containers[0]?.image ?? ''
  const tag = tagBefore(image.slice(image.lastIndexOf(':') + 1), -1)
  const labels = { ...deployment.metadata.labels, 'app.kubernetes.io/version': tag }
  const spec = { ...deployment.spec, template: appTemplate(app, tag) }
  context.put({ ...deployment, metadata: { ...deployment.metadata, labels }, spec })
}

interface Autoscaler extends KubeObject {
  readonly spec: { readonly minReplicas: number; readonly maxReplicas: number }
  readonly status: Readonly<Record<string, unknown>>
}

function autoscale(context: Context): void {
  const { random } = context
  const app = random.pick(healthyApps(context).filter(({ autoscale: wanted }) => wanted !== undefined))
  const scaler = context.get<Autoscaler>('autoscaling/v2', 'HorizontalPodAutoscaler', app.namespace, app.name)
  const deployment = context.get<Workload>('apps/v1', 'Deployment', app.namespace, app.name)
  if (scaler === undefined || deployment === undefined) return
  const target = app.autoscale?.cpuPercent ?? 70
  const percent = random.int(Math.round(target * 0.5), Math.round(target * 1.3))
  const current = deployment.spec.replicas
  const step = percent > target * 1.1 ? 1 : percent < target * 0.7 ? -1 : 0
  const desired = Math.min(scaler.spec.maxReplicas, Math.max(scaler.spec.minReplicas, current + step))
  const lastScaleTime = desired === current ? scaler.status['lastScaleTime'] : rfc3339(context.nowMs())
  const currentMetrics = [currentCpu(app, percent)]
  context.put({
    ...scaler,
    status: { ...scaler.status, lastScaleTime, currentReplicas: current, desiredReplicas: desired, currentMetrics },
  })
  if (desired === current) return
  context.put({ ...deployment, spec: { ...deployment.spec, replicas: desired } })
  const way = desired > current ? 'above' : 'below'
  const message = `New size: ${desired}; reason: cpu resource utilization (percentage of request) ${way} target`
  context.event({
    about: scaler,
    type: 'Normal',
    reason: 'SuccessfulRescale',
    message,
    component: 'horizontal-pod-autoscaler',
  })
}

/** A pod goes: somebody deleted it, or its node was needed. Its controller makes another. */
function losePod(context: Context, kubelet: Kubelet): void {
  const pod = randomPod(context)
  if (pod !== undefined) kubelet.stop(pod)
}

function restartSome(context: Context, kubelet: Kubelet): void {
  const pod = randomPod(context)
  if (pod === undefined) return
  const [exitCode, reason] = context.random.pick([
    [137, 'Error'],
    [137, 'OOMKilled'],
    [1, 'Error'],
  ] as const)
  kubelet.restart(pod, exitCode, reason)
}

/** A ready pod of a Deployment that fares well. */
function randomPod(context: Context): Pod | undefined {
  const names = new Set(healthyApps(context).map((app) => `${app.namespace}/${app.name}`))
  const fit = context.pods().filter((pod) => {
    const app = `${pod.metadata.namespace ?? ''}/${pod.metadata.labels?.['app.kubernetes.io/name'] ?? ''}`
    const owned = pod.metadata.ownerReferences?.[0]?.kind === 'ReplicaSet'
    return owned && names.has(app) && isActive(pod) && isReady(pod)
  })
  return fit.length === 0 ? undefined : context.random.pick(fit)
}

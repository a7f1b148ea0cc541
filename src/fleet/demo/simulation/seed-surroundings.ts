/** Everything around an application's workload: accounts, configuration, Service, Ingress, budget, volumes, delivery. */
import type { App } from '../catalogue/app.ts'
import * as config from '../objects/config.ts'
import * as custom from '../objects/custom.ts'
import * as network from '../objects/network.ts'
import { boundVolume } from '../objects/storage.ts'
import type { Context } from './context.ts'
import { sicknessesOf, tagOf } from './releases.ts'

const DAY_MS = 86_400_000

export function seedVolume(context: Context, app: App, claimName: string, nodeName: string, createdMs: number): void {
  const { claim, volume, attachment } = boundVolume(
    app,
    claimName,
    context.cluster,
    nodeName,
    createdMs - 60 * DAY_MS,
    context.random,
  )
  context.put(claim)
  context.put(volume)
  if (attachment !== undefined) context.put(attachment)
}

export function seedSurroundings(context: Context, app: App, replicas: number, createdMs: number): void {
  const { cluster, random } = context
  context.put(config.serviceAccount(app.name, app.namespace, createdMs, app))
  if (app.config !== undefined)
    context.put(config.configMap(`${app.name}-config`, app.namespace, app.config, createdMs))
  if (app.secret !== undefined) {
    context.put(config.secret(`${app.name}-credentials`, app.namespace, 'Opaque', app.secret, createdMs, random))
  }
  if (app.port !== undefined && app.service !== 'None') {
    context.put(network.service(app, cluster, createdMs, context.serviceAddress(), random))
    if (app.component !== 'database') context.put(custom.serviceMonitor(app, createdMs))
  }
  if (app.host !== undefined) seedIngress(context, app, createdMs)
  if (replicas > 1 && app.kind !== 'DaemonSet') context.put(config.disruptionBudget(app, replicas, createdMs))
  if (app.autoscale !== undefined) context.put(config.autoscaler(app, replicas, random.int(35, 70), createdMs))
  if (app.volume !== undefined && app.kind === 'Deployment') {
    seedVolume(context, app, `${app.name}-data`, context.scheduler.nodes[0]?.name ?? '', createdMs + 60 * DAY_MS)
  }
  seedDelivery(context, app, createdMs)
}

function seedIngress(context: Context, app: App, createdMs: number): void {
  const { cluster, random } = context
  const renewedMs = context.nowMs() - random.int(1, 58) * DAY_MS
  const ready = !(app.name === 'helpdesk' && cluster.role === 'staging')
  context.put(network.ingress(app, cluster, createdMs))
  context.put(custom.certificate(app, cluster, createdMs, renewedMs, ready))
  if (ready)
    context.put(
      config.secret(`${app.name}-tls`, app.namespace, 'kubernetes.io/tls', ['tls.crt', 'tls.key'], renewedMs, random),
    )
}

function seedDelivery(context: Context, app: App, createdMs: number): void {
  if (app.namespace === 'kube-system' || app.namespace === 'argocd') return
  const { random } = context
  const broken = sicknessesOf(app, context).some(({ kind }) => kind !== 'restarted' && kind !== 'evicted')
  const state: custom.ApplicationState = {
    health: broken ? 'Degraded' : 'Healthy',
    sync: random.chance(0.06) ? 'OutOfSync' : 'Synced',
    reconciledMs: context.nowMs() - random.int(5_000, 170_000),
  }
  context.put(custom.application(app, `${app.image}:${tagOf(app, context)}`, createdMs, state, random))
}

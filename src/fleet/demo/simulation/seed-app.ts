/** One application as it has stood in a cluster for months: its workload, revisions, pods, and everything around it. */
import type { App, Sickness } from '../catalogue/app.ts'
import * as config from '../objects/config.ts'
import * as custom from '../objects/custom.ts'
import type { KubeObject, PodTemplate, Workload } from '../objects/kinds.ts'
import * as network from '../objects/network.ts'
import { makePod } from '../objects/pod.ts'
import { boundVolume } from '../objects/storage.ts'
import { appTemplate } from '../objects/template.ts'
import { daemonSet, deployment, replicaSet, statefulSet } from '../objects/workload.ts'
import type { Context } from './context.ts'
import { claimsOf, podLabels } from './kubelet.ts'
import { seedSickPod, sickState } from './seed-sick.ts'
import { CLUSTER_AGE_MS } from './seed-cluster.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export function seedApp(context: Context, app: App): void {
  const { random } = context
  const createdMs = context.nowMs() - CLUSTER_AGE_MS + random.int(20, 300) * DAY_MS + random.int(0, DAY_MS)
  const tag = tagOf(app, context)
  const replicas = replicasOf(app, context)
  seedSurroundings(context, app, replicas, createdMs)
  if (app.kind === 'DaemonSet') seedDaemons(context, app, tag, createdMs)
  else if (app.kind === 'StatefulSet') seedStateful(context, app, tag, replicas, createdMs)
  else seedDeployment(context, app, tag, replicas, createdMs)
}

/** System images follow the cluster's version; staging runs what production gets next. */
function tagOf(app: App, { cluster }: Context): string {
  if (app.name === 'kube-proxy') return cluster.kubernetesVersion
  const ahead = cluster.role === 'staging' && app.image.startsWith('registry.aurora.example/')
  return ahead ? tagBefore(app.tag, -1) : app.tag
}

function replicasOf(app: App, { cluster }: Context): number {
  if (app.fixed === true) return cluster.role === 'production' ? app.replicas : Math.min(app.replicas, 2)
  return Math.max(1, Math.round(app.replicas * cluster.size))
}

/** `2.31.0` → `2.30.4`: a tag of `steps` releases earlier (later, if negative). Tags of other forms stay. */
export function tagBefore(tag: string, steps: number): string {
  const parts = /^(v?\d+)\.(\d+)\.(\d+)(.*)$/.exec(tag)
  if (parts === null) return tag
  const [, major = '0', minor = '0', patch = '0', rest = ''] = parts
  const earlier = Number(minor) - steps
  if (earlier < 0) return `${major}.${minor}.${Math.max(0, Number(patch) - steps)}${rest}`
  return `${major}.${earlier}.${(Number(patch) + steps * 3) % 7}${rest}`
}

function seedDeployment(context: Context, app: App, tag: string, replicas: number, createdMs: number): void {
  const { random } = context
  const revisions = app.image.startsWith('registry.aurora.example/') ? random.int(3, 6) : random.int(1, 3)
  const rolledMs = context.nowMs() - random.int(2, 14 * 24) * HOUR_MS
  const first = random.int(1, 9)
  const made = context.put(deployment(app, tag, replicas, createdMs, first + revisions)) as Workload
  const templates: PodTemplate[] = []
  for (let back = revisions; back >= 0; back--)
    templates.push(appTemplate(app, back === 0 ? tag : tagBefore(tag, back)))
  let current: Workload | undefined
  const known = new Set<string>()
  for (const [index, template] of templates.entries()) {
    const back = revisions - index
    const atMs = Math.max(createdMs, rolledMs - back * random.int(2, 12) * DAY_MS)
    const set = replicaSet(made, template, back === 0 ? replicas : 0, atMs, first + index)
    if (known.has(set.metadata.name)) continue
    known.add(set.metadata.name)
    current = context.put(set) as Workload
  }
  if (current !== undefined) seedPods(context, app, current, replicas, rolledMs)
}

function seedStateful(context: Context, app: App, tag: string, replicas: number, createdMs: number): void {
  const { random, cluster } = context
  const set = context.put(statefulSet(app, tag, replicas, createdMs, cluster.storageClass.name)) as Workload
  seedPods(context, app, set, replicas, context.nowMs() - random.int(1, 40) * DAY_MS)
}

function seedDaemons(context: Context, app: App, tag: string, createdMs: number): void {
  const set = context.put(daemonSet(app, tag, createdMs)) as Workload
  const nodes = context.scheduler.nodes.map(({ name }) => name)
  seedPods(context, app, set, nodes.length, context.nowMs() - context.random.int(3, 30) * DAY_MS, nodes)
}

/** Pods of one owner, made since `sinceMs`; those that the catalogue calls sick come first. */
function seedPods(
  context: Context,
  app: App,
  owner: Workload,
  count: number,
  sinceMs: number,
  nodes?: readonly string[],
): void {
  const { random } = context
  const sick = sicknessesOf(app, context)
  for (let index = 0; index < count; index++) {
    const sickness = sick[index]
    const name =
      owner.kind === 'StatefulSet' ? `${owner.metadata.name}-${index}` : `${owner.metadata.name}-${random.suffix()}`
    const age = context.nowMs() - sinceMs
    const createdMs = sinceMs + (random.chance(0.7) ? random.int(0, 120_000) : random.int(0, Math.floor(age * 0.9)))
    if (sickness !== undefined && seedSickPod(context, app, owner, name, sickness)) continue
    seedPod(
      context,
      app,
      owner,
      { name, createdMs, ...(nodes?.[index] === undefined ? {} : { node: nodes[index] }) },
      sickness,
    )
  }
}

/** What fails in this cluster, one entry for each pod. */
function sicknessesOf(app: App, { cluster }: Context): Sickness[] {
  const here = (app.sick ?? []).filter((sickness) => sickness.clusters.includes(cluster.name))
  return here.flatMap((sickness) => Array.from({ length: sickness.pods ?? 1 }, () => sickness))
}

interface Naming {
  readonly name: string
  readonly createdMs: number
  readonly node?: string
}

export function seedPod(
  context: Context,
  app: App,
  owner: Workload,
  naming: Naming,
  sickness?: Sickness,
): KubeObject | undefined {
  const { random, scheduler } = context
  const { name, createdMs, node } = naming
  const { template } = owner.spec
  const place = sickness?.kind === 'unschedulable' ? undefined : scheduler.place(name, template.spec, node)
  const pod = makePod(
    {
      name,
      ...(owner.kind === 'StatefulSet' ? {} : { generateName: `${owner.metadata.name}-` }),
      namespace: app.namespace,
      owner,
      template,
      createdMs,
      place,
      state: sickState(context, app, sickness, createdMs, place),
      priority: config.PRIORITIES[app.priority ?? ''] ?? 0,
      ...podLabels(owner, name),
      ...claimsOf(owner, app, name),
    },
    random,
  )
  if (place !== undefined) {
    scheduler.rename(name, pod.metadata.uid ?? '', place.nodeName)
    if (owner.kind === 'StatefulSet' && app.volume !== undefined)
      seedVolume(context, app, `data-${name}`, place.nodeName, createdMs)
  }
  return context.put(pod)
}

function seedVolume(context: Context, app: App, claimName: string, nodeName: string, createdMs: number): void {
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
  context.put(attachment)
}

function seedSurroundings(context: Context, app: App, replicas: number, createdMs: number): void {
  const { cluster, random } = context
  context.put(config.serviceAccount(app.name, app.namespace, createdMs, app))
  if (app.config !== undefined)
    context.put(config.configMap(`${app.name}-config`, app.namespace, app.config, createdMs))
  if (app.secret !== undefined) {
    context.put(config.secret(`${app.name}-credentials`, app.namespace, 'Opaque', app.secret, createdMs, random))
  }
  if (app.port !== undefined && app.service !== 'None') {
    const address = `172.20.${cluster.octet + 1 + random.int(0, 3)}.${random.int(2, 250)}`
    context.put(network.service(app, cluster, createdMs, address, random))
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

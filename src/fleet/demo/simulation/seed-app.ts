/** One application as it has stood in a cluster for months: its workload, revisions, pods, and everything around it. */
import type { App, Sickness } from '../catalogue/app.ts'
import { PRIORITIES } from '../objects/config.ts'
import type { Condition, KubeObject, Workload } from '../objects/kinds.ts'
import { makePod } from '../objects/pod.ts'
import { rfc3339 } from '../timestamp.ts'
import { appTemplate } from '../objects/template.ts'
import { controllerRevision, daemonSet, deployment, replicaSet, statefulSet } from '../objects/workload.ts'
import type { Context } from './context.ts'
import { claimsOf, podLabels } from './kubelet.ts'
import { sicknessesOf, tagBefore, tagOf } from './releases.ts'
import { seedSurroundings, seedVolume } from './seed-surroundings.ts'
import { onLostNode, seedLostPod, sickState } from './seed-sick.ts'
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

function replicasOf(app: App, { cluster }: Context): number {
  if (app.fixed === true) return cluster.role === 'production' ? app.replicas : Math.min(app.replicas, 2)
  return Math.max(1, Math.round(app.replicas * cluster.size))
}

function seedDeployment(context: Context, app: App, tag: string, replicas: number, createdMs: number): void {
  const { random } = context
  const sick = sicknessesOf(app, context)
  const blocking = sick.filter(({ kind }) => BLOCKING.has(kind))
  const wanted = blocking.some(({ kind }) => kind === 'imagePull') ? `${tagBefore(tag, -1)}-rc.3` : tag
  const revisions = app.image.startsWith('registry.aurora.example/') ? random.int(3, 6) : random.int(1, 3)
  const rolledMs = context.nowMs() - (blocking.length > 0 ? random.int(2, 9) : random.int(2, 14 * 24)) * HOUR_MS
  const first = random.int(1, 9)
  const made = context.put(deployment(app, wanted, replicas, createdMs, first + revisions)) as Workload
  const older = Array.from({ length: revisions }, (_, index) => tagBefore(tag, revisions - index))
  const tags = [...new Set(older)].filter((past) => past !== wanted)
  const stepMs = random.int(2, 12) * DAY_MS
  const sets = [...tags, wanted].map((each, index, { length }) => {
    const back = length - 1 - index
    const size = blocking.length === 0 ? [replicas][back] : [1, replicas][back]
    const atMs = Math.max(createdMs, rolledMs - back * stepMs - back * random.int(0, 1) * HOUR_MS)
    const revision = first + revisions - back
    return context.put(replicaSet(made, appTemplate(app, each), size ?? 0, atMs, revision)) as Workload
  })
  const [current, before] = sets.toReversed()
  const plan = { sinceMs: rolledMs, lost: sick.filter(isLost) }
  if (current === undefined) return
  context.put({ ...made, status: { conditions: rolledOut(current, blocking.length > 0, createdMs, rolledMs) } })
  if (blocking.length === 0 || before === undefined) {
    seedPods(context, app, current, { ...plan, count: replicas, sick: sick.filter((sickness) => !isLost(sickness)) })
  } else {
    seedPods(context, app, current, { ...plan, count: 1, sick: blocking })
    seedPods(context, app, before, { ...plan, count: replicas, sick: [], sinceMs: rolledMs - 2 * DAY_MS, lost: [] })
  }
}

/** The conditions that the last roll-out left behind; the controller goes on from them. */
function rolledOut({ metadata: { name } }: Workload, stuck: boolean, createdMs: number, rolledMs: number): Condition[] {
  const since = rfc3339(createdMs + 40_000)
  const done = rfc3339(rolledMs + (stuck ? 0 : 90_000))
  return [
    {
      type: 'Available',
      status: 'True',
      lastUpdateTime: since,
      lastTransitionTime: since,
      reason: 'MinimumReplicasAvailable',
      message: 'Deployment has minimum availability.',
    },
    {
      type: 'Progressing',
      status: 'True',
      lastUpdateTime: done,
      lastTransitionTime: since,
      reason: stuck ? 'ReplicaSetUpdated' : 'NewReplicaSetAvailable',
      message: `ReplicaSet "${name}" ${stuck ? 'is progressing' : 'has successfully progressed'}.`,
    },
  ]
}

function seedStateful(context: Context, app: App, tag: string, replicas: number, createdMs: number): void {
  const { random, cluster } = context
  const set = context.put(statefulSet(app, tag, replicas, createdMs, cluster.storageClass.name)) as Workload
  context.put(controllerRevision(set, podLabels(set, `${app.name}-0`).labels, createdMs))
  const sinceMs = context.nowMs() - random.int(1, 40) * DAY_MS
  seedPods(context, app, set, { count: replicas, sinceMs, sick: sicknessesOf(app, context), lost: [] })
}

function seedDaemons(context: Context, app: App, tag: string, createdMs: number): void {
  const set = context.put(daemonSet(app, tag, createdMs)) as Workload
  context.put(controllerRevision(set, podLabels(set, app.name).labels, createdMs))
  const nodes = context.scheduler.nodes.map(({ name }) => name)
  const sinceMs = context.nowMs() - context.random.int(3, 30) * DAY_MS
  seedPods(context, app, set, { count: nodes.length, sinceMs, nodes, sick: sicknessesOf(app, context), lost: [] })
}

/** Pods of one owner, made since `sinceMs`; those that the catalogue calls sick come first. */
function seedPods(context: Context, app: App, owner: Workload, plan: PodPlan): void {
  const { random } = context
  const age = context.nowMs() - plan.sinceMs
  for (let index = 0; index < plan.count; index++) {
    const name =
      owner.kind === 'StatefulSet' ? `${owner.metadata.name}-${index}` : `${owner.metadata.name}-${random.suffix()}`
    const delayMs = random.chance(0.7) ? random.int(0, 120_000) : random.int(0, Math.floor(age * 0.9))
    const node = plan.nodes?.[index]
    seedPod(
      context,
      app,
      owner,
      { name, createdMs: plan.sinceMs + delayMs, ...(node === undefined ? {} : { node }) },
      plan.sick[index],
    )
  }
  for (const sickness of plan.lost) seedLostPod(context, app, owner, sickness)
}

interface PodPlan {
  readonly count: number
  readonly sinceMs: number
  /** One pod on each of these. */
  readonly nodes?: readonly string[]
  readonly sick: readonly Sickness[]
  readonly lost: readonly Sickness[]
}

/** Failures that hold a roll-out up: one pod of the new revision fails, the others are still those of the one before. */
const BLOCKING: ReadonlySet<Sickness['kind']> = new Set(['imagePull', 'initCrashLoop', 'configError'])

function isLost({ kind }: Sickness): boolean {
  return kind === 'evicted' || kind === 'stuckTerminating'
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
      state: sickState(context, app, sickness, createdMs, place, template.spec.containers[0]?.image ?? ''),
      priority: PRIORITIES[app.priority ?? ''] ?? 0,
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
  const lost = scheduler.nodes.some(({ dead, name: host }) => dead && host === place?.nodeName)
  return context.put(lost ? onLostNode(pod) : pod)
}

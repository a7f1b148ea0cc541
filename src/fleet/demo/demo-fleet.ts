/**
 * The demo fleet: simulated clusters, each behind a real API server on loopback, in a thread of its own. They join the
 * fleet as any member does and are reached by the same client.
 */
import { Worker } from 'node:worker_threads'
import type { ClusterName } from '../../kube/names.ts'
import type { Clock } from '../../util/clock.ts'
import { noCredentials } from '../credentials.ts'
import type { FleetWriter } from '../fleet.ts'
import { createMemberClient } from '../member-client.ts'
import type { ClusterFacts } from '../member.ts'
import { CLUSTERS, type ClusterPlan } from './catalogue/clusters.ts'
import type { DemoListening, DemoWorkerData } from './worker-messages.ts'

export interface DemoFleetOptions {
  readonly fleet: FleetWriter
  readonly clock: Clock
  /** The same seed gives the same clusters; default 1. Time and the order of changes differ from run to run. */
  readonly seed?: number
  /** How many, from the front of the catalogue; default all (`DEMO_CLUSTERS.length`). */
  readonly clusters?: number
  /** As `--cluster-api-qps` and `--cluster-api-burst`. */
  readonly qps?: number
  readonly burst?: number
  /** Hears when the thread ends on its own: its members are gone from the fleet then. */
  readonly onFailure: (error: Error) => void
}

export interface DemoFleet {
  /** Where each member listens. */
  readonly urls: ReadonlyMap<ClusterName, string>
  /** Members leave the fleet, the thread ends. */
  stop(): Promise<void>
}

/** Names of the simulated clusters. */
export const DEMO_CLUSTERS: readonly string[] = CLUSTERS.map(({ name }) => name)

/** A thread that does not end when it is told to is ended after this long. */
const STOP_MS = 2_000

/** Resolves when every member has joined; rejects where the thread fails before that. */
export async function startDemoFleet(options: DemoFleetOptions): Promise<DemoFleet> {
  const plans = CLUSTERS.slice(0, options.clusters ?? CLUSTERS.length)
  const data: DemoWorkerData = { seed: options.seed ?? 1, clusters: plans.map(({ name }) => name) }
  // A built package has JavaScript beside it, a checkout TypeScript.
  const file = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js'
  const worker = new Worker(new URL(file, import.meta.url), { workerData: data })
  const urls = new Map<ClusterName, string>()
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve())) // never rejects
  let stopping = false
  const leave = (reason: string): void => {
    for (const name of urls.keys()) options.fleet.disengage(name, reason)
    urls.clear()
  }
  await new Promise<void>((resolve, reject) => {
    worker.on('message', (message: DemoListening) => {
      const plan = plans.find(({ name }) => name === message.name)
      if (plan === undefined) return
      urls.set(plan.name as ClusterName, message.url)
      engage(options, plan, message)
      if (urls.size === plans.length) resolve()
    })
    const failed = (error: Error): void => {
      stopping = true
      leave('failed')
      reject(error)
      options.onFailure(error)
    }
    worker.once('error', failed)
    worker.once('exit', (code) => {
      if (!stopping) failed(new Error(`the demo fleet's thread ended with code ${code}`))
    })
  })
  return {
    urls,
    async stop() {
      stopping = true
      leave('stopped')
      await stopWorker(worker, exited, options.clock)
    },
  }
}

function engage({ fleet, clock, qps, burst }: DemoFleetOptions, plan: ClusterPlan, { uid, url }: DemoListening): void {
  const facts: ClusterFacts = {
    name: plan.name as ClusterName,
    uid,
    labels: plan.labels,
    provider: plan.provider,
    region: plan.region,
    zones: plan.zones,
    ready: true,
  }
  const limits = { ...(qps === undefined ? {} : { qps }), ...(burst === undefined ? {} : { burst }) }
  const client = createMemberClient({ server: url, credentials: noCredentials, clock, ...limits })
  fleet.engage(facts, client, { identity: 'own', client })
}

async function stopWorker(worker: Worker, exited: Promise<void>, clock: Clock): Promise<void> {
  const cancel = clock.setTimeout(() => {
    void worker.terminate()
  }, STOP_MS)
  worker.postMessage('stop')
  await exited
  cancel()
}

/** The thread of the demo fleet: one API server on loopback for each simulated cluster. Ends when it is told to. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../util/clock.ts'
import { ApiServer } from './api-server.ts'
import { CLUSTERS } from './catalogue/clusters.ts'
import { podLog } from './pod-log.ts'
import { SeededRandom } from './seeded-random.ts'
import { ClusterSimulation } from './simulation/cluster-simulation.ts'
import type { DemoListening, DemoWorkerData } from './worker-messages.ts'

const { seed, clusters } = workerData as DemoWorkerData
const running: { simulation: ClusterSimulation; server: ApiServer }[] = []

async function run(): Promise<void> {
  for (const plan of CLUSTERS.filter(({ name }) => clusters.includes(name))) {
    const simulation = new ClusterSimulation(plan, seed, systemClock)
    const random = new SeededRandom(seed, `${plan.name}/server`).next
    const { store } = simulation
    const subresource = podLog(store, systemClock)
    const server = new ApiServer({ store, clock: systemClock, random, gitVersion: plan.kubernetesVersion, subresource })
    const url = await server.listen()
    running.push({ simulation, server })
    simulation.start()
    parentPort?.postMessage({ type: 'listening', name: plan.name, uid: simulation.uid, url } satisfies DemoListening)
  }
}

async function stop(): Promise<void> {
  for (const { simulation } of running) simulation.stop()
  await Promise.all(running.map(({ server }) => server.close()))
  parentPort?.close()
}

parentPort?.once('message', () => {
  void stop()
})
await run()

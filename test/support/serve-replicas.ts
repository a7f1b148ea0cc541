/** Replicas of `fleetsearch serve` behind one APIService: each a process with a folder of its own, one etcd, one balancer. */
import { startBalancer, type Balancer } from './balancer.ts'
import { freePorts } from './free-port.ts'
import { installApiService, issueServing, spawnServe, until } from './karmada-fleet.ts'
import { createTestClient, type GuardedProcess, type RealCluster, type TestClient } from './real-parts/index.ts'

export interface Replica {
  readonly port: number
  /** Straight to it, as the control plane's admin. */
  readonly client: TestClient
  readonly process: GuardedProcess
  /** Has been started, and has neither ended nor been told to. */
  readonly up: boolean
  start(): Promise<void>
  kill(): Promise<void>
  /** SIGTERM; resolves when it has ended, with its exit code. */
  terminate(): Promise<number | null>
  /** Whether it calls itself the leader; false where it does not answer. */
  leads(): Promise<boolean>
}

export interface Replicas {
  readonly all: readonly Replica[]
  readonly balancer: Balancer
  /** The only one that leads; undefined where there is none. Rejects where two say so. */
  leader(): Promise<Replica | undefined>
  untilReady(count: number, limitMs?: number): Promise<void>
  stop(): Promise<void>
}

/** `count` ports and folders; nothing runs yet, and the APIService is installed with nobody behind it. */
export async function prepareReplicas(host: RealCluster, count: number, flags: readonly string[]): Promise<Replicas> {
  const [ports, caPem] = await Promise.all([freePorts(count), issueServing(host)])
  const all = ports.map((port, i) => createReplica(host, port, `replica-${i}`, caPem, flags))
  const balancer = await startBalancer(ports.map((port) => ({ port, caPem })))
  await installApiService(host, balancer.port, caPem)
  return {
    all,
    balancer,
    async leader() {
      const leading = await Promise.all(all.map(async (replica) => ((await replica.leads()) ? [replica] : [])))
      const leaders = leading.flat()
      if (leaders.length > 1) throw new Error('two replicas lead')
      return leaders[0]
    },
    untilReady: (wanted, limitMs) =>
      until(() => Promise.resolve(balancer.ready().length === wanted), `${wanted} ready replicas`, limitMs),
    async stop() {
      await Promise.all(all.map((replica) => replica.kill()))
      await balancer.close()
      await Promise.all(all.map(({ client }) => client.close()))
    },
  }
}

function createReplica(
  host: RealCluster,
  port: number,
  name: string,
  caPem: string,
  flags: readonly string[],
): Replica {
  const { certPem, keyPem } = host.pki.admin
  const client = createTestClient({ url: `https://127.0.0.1:${port}`, caPem, certPem, keyPem })
  let running: GuardedProcess | undefined
  let up = false
  return {
    port,
    client,
    get process() {
      if (running === undefined) throw new Error(`${name} was never started`)
      return running
    },
    get up() {
      return up && running?.running === true
    },
    async start() {
      running = await spawnServe(host, { port, name, flags })
      up = true
    },
    async kill() {
      up = false
      await running?.kill()
    },
    async terminate() {
      up = false
      running?.signal('TERM')
      return (await running?.exited) ?? null
    },
    async leads() {
      if (!up) return false
      const metrics = await client.request('/metrics', { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
      return /^leader_election_master_status\{name="fleetsearch"\} 1$/m.test(metrics?.text ?? '')
    },
  }
}

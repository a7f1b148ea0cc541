/** This replica among the others of `serve`: who it is, where it is found, and when it counts itself in. */
import { createHash, randomUUID } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import type { HealthCheck, HealthEndpoint, Readiness } from '../apiserver/health.ts'
import type { MemberClient } from '../fleet/member.ts'
import { LeaseClient } from '../leaderelection/lease-client.ts'
import type { Channel } from '../peers/channel.ts'
import { ReplicaPeers } from '../peers/replica-peers.ts'
import { dialPeer, fingerprintOf, listenForPeers } from '../peers/tls-transport.ts'
import type { FencePeers } from '../proxy/write/fences.ts'
import type { Registry } from '../telemetry/metrics.ts'
import type { Clock } from '../util/clock.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { PeersConfig } from './options/peers-config.ts'
import { selfSigned } from './self-signed.ts'
import type { Runtime } from './runtime.ts'

/** Writes every two seconds, and a little more where several write at once. */
export const PEER_LIMITS = { qps: 10, burst: 20 }

export interface OpenPeers {
  readonly peers: FencePeers
  readonly check: HealthCheck
  /** To be called when the port of the server is ours: whoever had this place before is gone then. */
  serving(): void
}

export interface OpenPeersOptions {
  readonly config: PeersConfig
  readonly client: MemberClient
  readonly metrics: Registry
  readonly runtime: Runtime
  readonly lifecycle: Lifecycle
  readonly syncTimeoutMs: number
  readonly onFault: (error: unknown) => void
}

/** Rejects where the port cannot be had. What uses it has to be stopped before it is. */
export async function openPeers(options: OpenPeersOptions): Promise<OpenPeers> {
  const { config, client, metrics, runtime, lifecycle, syncTimeoutMs, onFault } = options
  const { clock, random, log: logger } = runtime
  const { certificate, key, raw } = await selfSigned(hostname(), [], clock.nowMs())
  const identity = { certificate, key, fingerprint: fingerprintOf(raw) }
  const stop = new AbortController()
  const where = { host: config.bindAddress, port: config.port }
  const onPeer = (fingerprint: string, channel: Channel): Promise<boolean> =>
    peers.accept(fingerprint, channel, stop.signal).catch((error: unknown) => {
      onFault(error)
      return false
    })
  const listener = await listenForPeers(identity, where, onPeer, clock)
  const host = config.address ?? ownAddress()
  const peers = new ReplicaPeers({
    leases: new LeaseClient({ client, lease: config.lease, timeoutMs: config.renewDeadlineMs / 2, clock }),
    times: config,
    self: {
      id: placeOf(host, config.securePort),
      address: `${host.includes(':') ? `[${host}]` : host}:${listener.port}`,
      fingerprint: identity.fingerprint,
    },
    newId: () => randomUUID().slice(0, 13),
    dial: (replica, signal) => dialPeer(identity, replica, signal),
    clock,
    random,
    logger,
    metrics,
  })
  let serving = (): void => undefined
  const served = new Promise<void>((resolve) => (serving = resolve))
  lifecycle.run(
    'peers',
    async (signal) => {
      const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      await Promise.race([served, stopped])
      if (!signal.aborted) await peers.run(signal)
      stop.abort(new Error('shutting down'))
      await listener.close()
    },
    onFault,
  )
  return { peers, check: new PeersCheck(peers, clock, syncTimeoutMs), serving }
}

/** A place that one process at a time has, as long as its port is not shared: who comes after it takes its entry over. */
function placeOf(host: string, securePort: number): string {
  const place = securePort === 0 ? randomUUID() : `${hostname()} ${host} ${securePort}`
  return createHash('sha256').update(place).digest('hex').slice(0, 16)
}

/** The first address that others can reach. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const outside = addresses.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  return (outside.find(({ family }) => family === 'IPv4') ?? outside[0])?.address ?? '127.0.0.1'
}

/** Ready when the others know this replica, or the sync time-out has passed: reads go to the members until then. */
class PeersCheck implements HealthCheck {
  readonly name = 'peers'
  readonly endpoints: readonly HealthEndpoint[] = ['readyz']
  readonly #peers: Pick<FencePeers, 'refusal'>
  readonly #clock: Clock
  readonly #untilMs: number
  #ready = false

  constructor(peers: Pick<FencePeers, 'refusal'>, clock: Clock, timeoutMs: number) {
    this.#peers = peers
    this.#clock = clock
    this.#untilMs = clock.monotonicMs() + timeoutMs
  }

  check(): Readiness {
    const reason = this.#ready ? undefined : this.#peers.refusal()
    if (reason === undefined || this.#clock.monotonicMs() >= this.#untilMs) this.#ready = true
    return this.#ready ? { state: 'ready' } : { state: 'pending', reason: reason ?? '' }
  }
}

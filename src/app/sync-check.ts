/**
 * Readiness of the first sync: ready when every registered resource of every cluster has been listed or its member fails.
 * Where nothing more arrives for the sync time-out it is ready too, so that a member that hangs does not keep the rest from
 * being served. Not before members and registries themselves are known: a fleet of nobody would look complete.
 */
import type { HealthCheck, HealthEndpoint, Readiness } from '../apiserver/health.ts'
import type { Controller } from '../controller/controller.ts'
import type { Progress } from '../controller/progress.ts'
import type { Clock } from '../util/clock.ts'

export class SyncCheck implements HealthCheck {
  readonly name = 'informer-sync'
  readonly endpoints: readonly HealthEndpoint[] = ['healthz', 'readyz']
  readonly #controller: Pick<Controller, 'progress'>
  readonly #clock: Clock
  readonly #timeoutMs: number
  /** Since when nothing more has arrived; undefined before the start. */
  #quietSinceMs: number | undefined
  #seen: string | undefined
  #fleetSynced: () => boolean = () => false
  /** Once synced it stays so: what fails later is told for each answer (freshness), not by taking the server away. */
  #synced = false
  #stopping = false

  constructor(controller: Pick<Controller, 'progress'>, clock: Clock, timeoutMs: number) {
    this.#controller = controller
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** `fleetSynced`: who the members are is known; before that nothing is. */
  start(fleetSynced: () => boolean): void {
    this.#fleetSynced = fleetSynced
    this.#quietSinceMs = this.#clock.monotonicMs()
  }

  stop(): void {
    this.#stopping = true
  }

  check(): Readiness {
    if (this.#stopping) return { state: 'stopped', reason: 'shutting down' }
    const waiting = this.waitsFor()
    return waiting === undefined ? { state: 'ready' } : { state: 'pending', reason: waiting }
  }

  /** What the first sync waits for; undefined once it is over, also while the server drains. */
  waitsFor(): string | undefined {
    if (this.#synced) return undefined
    if (this.#quietSinceMs === undefined) return 'not started'
    if (!this.#fleetSynced()) return 'the clusters are not known yet'
    const progress = this.#controller.progress()
    if (!progress.registriesSynced) return 'the registries have not been read yet'
    if (progress.settled || this.#quietMs(progress, this.#quietSinceMs) >= this.#timeoutMs) {
      this.#synced = true
      return undefined
    }
    const { synced, shards, undiscovered } = progress
    const clusters = undiscovered.length === 0 ? '' : `, waiting for clusters ${undiscovered.slice(0, 8).join(', ')}`
    return `${synced} of ${shards} resources of clusters listed${clusters}`
  }

  #quietMs({ synced, undiscovered }: Progress, quietSinceMs: number): number {
    const nowMs = this.#clock.monotonicMs()
    const seen = `${synced} ${undiscovered.length}`
    const isNews = this.#seen !== undefined && this.#seen !== seen
    this.#seen = seen
    this.#quietSinceMs = isNews ? nowMs : quietSinceMs
    return nowMs - this.#quietSinceMs
  }
}

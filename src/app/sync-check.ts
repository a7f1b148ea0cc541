/**
 * Readiness of the first sync: ready when every registered resource of every cluster has been listed or its member fails,
 * at the latest after the sync time-out, so that a dead member does not keep the rest from being served. Not before the
 * members themselves are known: a fleet of nobody would look complete.
 */
import type { HealthCheck, HealthEndpoint, Readiness } from '../apiserver/health.ts'
import type { Controller } from '../controller/controller.ts'
import type { Clock } from '../util/clock.ts'

export class SyncCheck implements HealthCheck {
  readonly name = 'informer-sync'
  readonly endpoints: readonly HealthEndpoint[] = ['healthz', 'readyz']
  readonly #controller: Pick<Controller, 'progress'>
  readonly #clock: Clock
  readonly #timeoutMs: number
  #startedMs: number | undefined
  #fleetSynced: () => boolean = () => false
  /** Once ready it stays so: what fails later is told for each answer (freshness), not by taking the server away. */
  #ready = false
  #stopping = false

  constructor(controller: Pick<Controller, 'progress'>, clock: Clock, timeoutMs: number) {
    this.#controller = controller
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** `fleetSynced`: who the members are is known; before that nothing is. */
  start(fleetSynced: () => boolean): void {
    this.#fleetSynced = fleetSynced
    this.#startedMs = this.#clock.monotonicMs()
  }

  stop(): void {
    this.#stopping = true
  }

  check(): Readiness {
    if (this.#stopping) return { state: 'stopped', reason: 'shutting down' }
    if (this.#ready) return { state: 'ready' }
    if (this.#startedMs === undefined) return { state: 'pending', reason: 'not started' }
    if (!this.#fleetSynced()) return { state: 'pending', reason: 'the clusters are not known yet' }
    const { settled, synced, shards, undiscovered } = this.#controller.progress()
    const late = this.#clock.monotonicMs() - this.#startedMs >= this.#timeoutMs
    if (settled || late) {
      this.#ready = true
      return { state: 'ready' }
    }
    const waiting = undiscovered.length === 0 ? '' : `, waiting for clusters ${undiscovered.slice(0, 8).join(', ')}`
    return { state: 'pending', reason: `${synced} of ${shards} resources of clusters listed${waiting}` }
  }
}

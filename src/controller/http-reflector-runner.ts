/** Runs reflectors over the members' HTTP APIs. */
import { HttpListerWatcher } from '../informer/http-lister-watcher.ts'
import { runReflector } from '../informer/reflector.ts'
import { gvrKey } from '../kube/group-version.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { ReflectorMetrics } from './reflector-metrics.ts'
import type { Clock, Random } from '../util/clock.ts'
import { faultCode } from '../informer/reflector-error.ts'
import type { RunReflector } from './ports.ts'

export interface HttpReflectorRunnerOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics?: ReflectorMetrics
}

/** A fault is a warning when it is new, and not again for each retry. */
export function httpReflectorRunner({ clock, random, logger, metrics }: HttpReflectorRunnerOptions): RunReflector {
  return ({ facts, client }, { gvr, namespace }, store, signal) => {
    const log = logger.child({
      cluster: facts.name,
      gvr: gvrKey(gvr),
      ...(namespace === undefined ? {} : { namespace }),
    })
    let last: string | undefined
    const onError = (err: unknown, waitMs: number): void => {
      const code = faultCode(err)
      metrics?.failed(facts.name, gvr, code ?? 'malformed')
      log[code === last ? 'debug' : 'warn']({ err, waitMs }, 'cannot follow a resource; retrying')
      last = code
    }
    const scope = namespace === undefined ? {} : { namespace }
    const source = new HttpListerWatcher({ client, cluster: facts.name, gvr, ...scope, clock, random })
    const onListed = (): void => metrics?.listed(facts.name, gvr)
    return runReflector(source, store, { clock, random, onError, onListed }, signal)
  }
}

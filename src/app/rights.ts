/** Whose rights decide what callers see (`--rights`). */
import type { MemberClient } from '../fleet/member.ts'
import { ControlPlaneRights } from '../rights/control-plane-rights.ts'
import { FleetRights } from '../rights/fleet-rights.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { RightsMode, ServeConfig } from './options/config.ts'
import type { ServiceOptions } from './service.ts'
import type { Runtime } from './runtime.ts'

type RightsFactory = ServiceOptions['rights']

/** Of each member, its own. Undefined for `off`. */
export function memberRights(mode: RightsMode, { clock, random, log }: Runtime): RightsFactory {
  if (mode === 'off') return undefined
  return ({ fleet, metrics }) => new FleetRights({ fleet, metrics, clock, random, logger: log })
}

/** As `memberRights`, and for `control-plane` those that `reviewer` tells of. */
export async function serveRights(
  { rights: mode, authorizedTtlMs, unauthorizedTtlMs }: ServeConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
  reviewer: () => Promise<MemberClient>,
): Promise<RightsFactory> {
  if (mode === 'off') {
    runtime.log.warn('--rights=off: whoever may get search sees every cached object of every cluster')
  }
  if (mode !== 'control-plane') return memberRights(mode, runtime)
  const stopping = new AbortController()
  lifecycle.onStop('rights', () => {
    stopping.abort(new Error('the server stops'))
    return Promise.resolve()
  })
  const client = await reviewer()
  const { clock } = runtime
  const { signal } = stopping
  return () =>
    new ControlPlaneRights({ client, clock, allowedTtlMs: authorizedTtlMs, deniedTtlMs: unauthorizedTtlMs, signal })
}

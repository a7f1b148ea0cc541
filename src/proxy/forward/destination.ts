/** Where a caller's request goes on to: a member, or the control plane. */
import type { CallerAccess, Member } from '../../fleet/member.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { HostClient } from '../ports.ts'

export interface Destination {
  /** For messages: `cluster m1`, `the control plane`. */
  readonly name: string
  readonly identity: CallerAccess['identity']
  readonly client: HostClient
  /** The control plane takes every extra and the uid of callers; of a member it has to be shown first. */
  readonly takesWholeIdentity: boolean
  /** Aborts when the cluster leaves. */
  readonly signal: AbortSignal | undefined
}

/** Throws `serviceUnavailable` for a member that no request of a caller may be sent to. */
export function memberDestination({ facts, callers, signal }: Member): Destination {
  const name = `cluster ${facts.name}`
  if (callers === undefined) throw new StatusError('serviceUnavailable', `${name} takes no requests of callers`)
  return { name, identity: callers.identity, client: callers.client, takesWholeIdentity: false, signal }
}

export function hostDestination(client: HostClient): Destination {
  return {
    name: 'the control plane',
    identity: 'impersonated',
    client,
    takesWholeIdentity: true,
    signal: undefined,
  }
}

/** Reads of the control plane that are the caller's: he is told what it would tell him. */
import { isMemberError } from '../fleet/member-error.ts'
import type { MemberClient, MemberResponse } from '../fleet/member.ts'
import { groupResourceKey } from '../kube/group-version.ts'
import { parseResourcePath } from '../kube/resource-path.ts'
import { statusFrom } from '../kube/status-body.ts'
import { StatusError } from '../kube/status-error.ts'
import { impersonationHeaders } from '../proxy/impersonation.ts'
import type { ControlPlane } from '../search/control-plane.ts'

/** The reader's own limit is no longer. */
const HEAD_MS = 10_000

/** Declared by its user: `OutageLog`. */
export interface Outages {
  failed(error: StatusError): void
}

/** Rejects with `forbidden` for a caller without a name, whom nobody can be asked for. */
export function callerReads(client: Pick<MemberClient, 'request'>, outages: Outages): ControlPlane {
  return {
    async get(path, user, maxBytes, signal) {
      const headers = { accept: 'application/json', ...impersonationHeaders(user) }
      const answer = await client.request({ method: 'GET', path, headers, headersTimeoutMs: HEAD_MS, signal })
      const body = await bodyOf(answer, maxBytes)
      if (answer.status === 403 && body !== undefined) throwIfOurs(path, body)
      return { status: answer.status, body }
    },
    failed(cause) {
      const error = new StatusError('serviceUnavailable', 'the control plane cannot be read as the caller', { cause })
      outages.failed(error)
    },
  }
}

async function bodyOf(answer: MemberResponse, maxBytes: number): Promise<Buffer | undefined> {
  try {
    return await answer.bytes(maxBytes)
  } catch (error) {
    if (isMemberError(error, 'tooLarge')) return undefined
    throw error
  }
}

/** What an API server asks whether somebody may act as, in the core group or this one. */
const IDENTITIES = new Set(['users', 'groups', 'serviceaccounts', 'nodes', 'uids', 'userextras'])
const AUTHENTICATION = 'authentication.k8s.io'

/**
 * Throws where it is not the caller who is refused, but we who may not act as him: the Status names who he is instead of
 * what was asked for.
 * Source: apiserver pkg/endpoints/filters/impersonation, pkg/endpoints/handlers/responsewriters/errors.go.
 */
function throwIfOurs(path: string, body: Buffer): void {
  const { group = '', kind = '', name = '' } = statusOf(body)?.details ?? {}
  if (!IDENTITIES.has(kind) || (group !== '' && group !== AUTHENTICATION)) return
  const asked = parseResourcePath(path.split('?')[0] ?? '')
  if (asked?.resource === kind && asked.group === group && (asked.name ?? '') === name) return
  const what = groupResourceKey({ group, resource: kind })
  throw new StatusError('forbidden', `this server may not impersonate ${what} in the control plane`)
}

function statusOf(body: Buffer): ReturnType<typeof statusFrom> {
  try {
    return statusFrom(JSON.parse(body.toString('utf8')))
  } catch {
    return undefined // some proxy's own page: it names nobody
  }
}

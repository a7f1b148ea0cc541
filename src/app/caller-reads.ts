/** Reads of the control plane that are the caller's: he is told what it would tell him. */
import type { MemberClient } from '../fleet/member.ts'
import { impersonationHeaders } from '../proxy/impersonation.ts'
import type { ControlPlane } from '../search/control-plane.ts'

/** A page of Works is 50 objects; a larger one is no answer. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** The reader's own limit is no longer. */
const HEAD_MS = 10_000

/** Rejects with `forbidden` for a caller without a name, whom nobody can be asked for. */
export function callerReads(client: Pick<MemberClient, 'request'>): ControlPlane {
  return {
    async get(path, user, signal) {
      const headers = { accept: 'application/json', ...impersonationHeaders(user) }
      const answer = await client.request({ method: 'GET', path, headers, headersTimeoutMs: HEAD_MS, signal })
      return { status: answer.status, body: await answer.bytes(MAX_ANSWER_BYTES) }
    },
  }
}

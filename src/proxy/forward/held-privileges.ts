/**
 * Which parts of an identity a member's impersonator may vouch for beyond name and groups. Karmada grants it users, groups
 * and service accounts; sending an extra or a uid without the right breaks the whole request with 403, so that they go only
 * where a SelfSubjectAccessReview has said yes.
 * Source: apiserver pkg/endpoints/filters/impersonation.go (the attributes that are judged).
 */
import { LRUCache } from 'lru-cache'
import { isMemberError } from '../../fleet/member-error.ts'
import type { Clock } from '../../util/clock.ts'
import { withDeadline } from '../../http/deadline.ts'
import type { HostClient } from '../ports.ts'

/** `uids`, or `userextras` with the key of the extra. */
export interface Privilege {
  readonly resource: 'uids' | 'userextras'
  readonly subresource: string
}

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const REMEMBERED_MS = 300_000 // roles of the impersonator change with Karmada's version, hardly ever otherwise
const FAILED_MS = 10_000
const REVIEW_MS = 5_000
/** Extras of one member; callers bring few different ones. */
const MAX_REMEMBERED = 64
const MAX_ANSWER_BYTES = 256 * 1024

interface Remembered {
  readonly held: Promise<boolean>
  untilMs: number
}

export class HeldPrivileges {
  readonly #clock: Clock
  readonly #clients = new WeakMap<HostClient, LRUCache<string, Remembered>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** False where it is not shown: no answer is no. Never rejects. */
  async holds(client: HostClient, privilege: Privilege): Promise<boolean> {
    const known = this.#known(client)
    const key = `${privilege.resource}/${privilege.subresource}`
    const nowMs = this.#clock.monotonicMs()
    const before = known.get(key)
    if (before !== undefined && before.untilMs > nowMs) return before.held
    const answer = this.#ask(client, privilege)
    const entry: Remembered = { held: answer.then((held) => held === true), untilMs: nowMs + REMEMBERED_MS }
    known.set(key, entry)
    if ((await answer) === undefined) entry.untilMs = this.#clock.monotonicMs() + FAILED_MS
    return entry.held
  }

  #known(client: HostClient): LRUCache<string, Remembered> {
    const known = this.#clients.get(client) ?? new LRUCache<string, Remembered>({ max: MAX_REMEMBERED })
    this.#clients.set(client, known)
    return known
  }

  /** Undefined: nobody can tell at the moment. Not bound to one request: others wait for it too. */
  async #ask(client: HostClient, privilege: Privilege): Promise<boolean | undefined> {
    const resourceAttributes = { verb: 'impersonate', group: 'authentication.k8s.io', version: 'v1', ...privilege }
    const body = JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    })
    const deadline = withDeadline(REVIEW_MS, this.#clock, new AbortController().signal)
    try {
      const headers = { 'content-type': 'application/json' }
      const { signal } = deadline
      const answer = await client.request({ method: 'POST', path: REVIEWS, headers, body, signal })
      const bytes = await answer.bytes(MAX_ANSWER_BYTES)
      return answer.status === 201 ? allowedIn(bytes) : undefined
    } catch (error) {
      if (isMemberError(error) || deadline.signal.aborted) return undefined
      throw error
    } finally {
      deadline.dispose()
    }
  }
}

function allowedIn(bytes: Buffer): boolean | undefined {
  try {
    const review = JSON.parse(bytes.toString('utf8')) as { status?: { allowed?: unknown } } | null
    return review?.status?.allowed === true
  } catch {
    return undefined
  }
}

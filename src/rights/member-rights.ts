/**
 * Rights in one member: its RBAC objects, followed live and evaluated here; where they cannot be read or do not decide alone,
 * the member itself is asked by SubjectAccessReview; where it does not answer either, nothing is allowed.
 */
import { LRUCache } from 'lru-cache'
import type { Member } from '../fleet/member.ts'
import type { ClusterRights, RightsQuestion } from '../http/rights.ts'
import { Backoff, RETRY } from '../informer/backoff.ts'
import { HttpListerWatcher } from '../informer/http-lister-watcher.ts'
import { runReflector } from '../informer/reflector.ts'
import { EVERYTHING, NOTHING, type ObjectScope } from '../kube/object-scope.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { waitFor, type AccessReviews, type ReviewServer } from './access-reviews.ts'
import { probeAuthorizer, type AuthorizerKind } from './authorizer-probe.ts'
import { scopeOf } from './evaluate.ts'
import { MASTERS, type MemberIdentity } from './member-identity.ts'
import { RBAC_KINDS, RbacIndex, type RbacKind } from './rbac-index.ts'
import { RbacProgress, type RbacState } from './rbac-state.ts'
import { RbacStore } from './rbac-store.ts'
import { reviewedRights } from './reviewed-scope.ts'

export interface MemberRightsOptions {
  readonly reviews: AccessReviews
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** RBAC objects that are kept of one member; default 50,000. A member with more is asked by reviews. */
  readonly maxObjects?: number
  /** An answer may be another one now. */
  readonly changed: () => void
}

/** What decides: `local` the objects evaluated here, `reviews` the member's own word. */
export interface MemberRightsState {
  readonly decides: 'local' | 'reviews'
  readonly rbac: RbacState
  /** Undefined while it has not been found out. */
  readonly authorizer: AuthorizerKind | undefined
  readonly objects: number
}

const GROUP_VERSION = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const MAX_OBJECTS = 50_000
/** A question waits so long for the first lists of a member that has just joined. */
const FIRST_LISTS_MS = 5_000
/** An API server's authorizers change only by a restart. */
const PROBE_AGAIN_MS = 300_000
/** Evaluated scopes: so many, and so many namespaces and names in them (some 50 bytes each). */
const MAX_SCOPES = 4_000
const MAX_SCOPE_ENTRIES = 100_000

export class MemberRights {
  readonly #options: MemberRightsOptions
  readonly #member: Member
  readonly #index = new RbacIndex()
  readonly #progress = new RbacProgress()
  readonly #scopes = new LRUCache<string, ObjectScope>({
    max: MAX_SCOPES,
    maxSize: MAX_SCOPE_ENTRIES,
    sizeCalculation: (scope) => 1 + scope.size,
  })
  readonly #server: ReviewServer
  readonly #settled = Promise.withResolvers<void>()
  #isSettled = false
  #authorizer: AuthorizerKind | undefined

  constructor(member: Member, options: MemberRightsOptions) {
    const { name, uid } = member.facts
    this.#member = member
    this.#options = options
    this.#server = { key: `${name}/${uid}`, client: member.client, signal: member.signal }
  }

  /** Follows the member until the signal aborts. Rejects for faults of ours alone. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...RBAC_KINDS.map((kind) => this.#follow(kind, signal)), this.#probe(signal)])
  }

  get state(): MemberRightsState {
    const rbac = this.#progress.state(this.#options.clock.monotonicMs())
    return {
      decides: this.#isLocal(rbac) ? 'local' : 'reviews',
      rbac,
      authorizer: this.#authorizer,
      objects: this.#index.size,
    }
  }

  /** The answer where it can be given at once; undefined where it has to be waited for (`ask`). */
  known(question: RightsQuestion, identity: MemberIdentity): ClusterRights | undefined {
    if (identity.name === '') return { scope: NOTHING }
    if (identity.groups.includes(MASTERS)) return { scope: EVERYTHING }
    if (!this.#isLocal(this.#progress.state(this.#options.clock.monotonicMs()))) return undefined
    return { scope: this.#evaluate(question, identity) }
  }

  async ask(question: RightsQuestion, identity: MemberIdentity, signal: AbortSignal): Promise<ClusterRights> {
    if (!this.#isSettled) await this.#firstLists(signal)
    const known = this.known(question, identity)
    if (known !== undefined) return known
    const { state } = this.#progress.state(this.#options.clock.monotonicMs())
    const candidates = state === 'known' || state === 'stale' ? this.#evaluate(question, identity) : undefined
    const subject = { user: identity.name, groups: identity.groups, key: identity.key }
    return reviewedRights(this.#options.reviews, this.#server, subject, question, candidates, signal)
  }

  #isLocal({ state }: RbacState): boolean {
    return this.#authorizer === 'rbac' && (state === 'known' || state === 'stale')
  }

  #evaluate(question: RightsQuestion, identity: MemberIdentity): ObjectScope {
    const { verb, group, resource, subresource } = question
    const key = [identity.key, verb, group, resource, subresource].join('\u0000')
    const known = this.#scopes.get(key)
    if (known !== undefined) return known
    const scope = scopeOf(this.#index, identity, question)
    this.#scopes.set(key, scope)
    return scope
  }

  async #firstLists(signal: AbortSignal): Promise<void> {
    const enough = new AbortController()
    const limit = sleep(FIRST_LISTS_MS, this.#options.clock, enough.signal).catch(() => undefined)
    try {
      await waitFor(Promise.race([this.#settled.promise, limit]), signal)
    } finally {
      enough.abort()
    }
  }

  async #follow(kind: RbacKind, signal: AbortSignal): Promise<void> {
    const { clock, random, logger, maxObjects = MAX_OBJECTS } = this.#options
    const { name: cluster } = this.#member.facts
    const gvr = { ...GROUP_VERSION, resource: kind }
    const source = new HttpListerWatcher({ client: this.#member.client, cluster, gvr, clock, random })
    const store = new RbacStore({
      index: this.#index,
      kind,
      maxObjects,
      changed: () => this.#changed(),
      report: (state) => {
        this.#progress.report(kind, state, clock.monotonicMs())
        if (state.phase === 'failing') this.#changed()
      },
      listed: () => {
        this.#progress.listed(kind)
        this.#changed()
      },
    })
    const onError = (err: unknown): void => {
      logger.debug({ err, cluster, resource: kind }, 'the RBAC objects of a member cannot be followed; retrying')
    }
    await runReflector(source, store, { clock, random, onError }, signal)
  }

  async #probe(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options
    const { facts, client } = this.#member
    const backoff = new Backoff(RETRY, clock, random)
    while (!signal.aborted) {
      let waitMs = PROBE_AGAIN_MS
      try {
        const found = await probeAuthorizer(client, random, signal)
        if (found !== this.#authorizer) {
          this.#authorizer = found
          this.#changed()
          if (found === 'other') {
            logger.info({ cluster: facts.name }, 'a member does not decide by RBAC alone: it is asked for each right')
          }
        }
      } catch (err) {
        if (signal.aborted) return
        waitMs = backoff.nextMs()
        logger.debug({ err, cluster: facts.name }, 'how a member decides on rights is not known yet; retrying')
      }
      await sleep(waitMs, clock, signal).catch(() => undefined)
    }
  }

  #changed(): void {
    this.#scopes.clear()
    const { state } = this.#progress.state(this.#options.clock.monotonicMs())
    if (!this.#isSettled && state !== 'loading' && (this.#authorizer !== undefined || state === 'unknown')) {
      this.#isSettled = true
      this.#settled.resolve()
    }
    this.#options.changed()
  }
}

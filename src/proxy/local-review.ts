/**
 * Self reviews where there is no control plane (`up`, `demo`): what the members allow the credentials that they are reached
 * with, and no more than this server itself lets through.
 */
import type { Member } from '../fleet/member.ts'
import { DeadlineError, withDeadline } from '../http/deadline.ts'
import type { ClusterName } from '../kube/names.ts'
import { parseReview, type Review } from '../kube/self-review.ts'
import { badRequest, isStatusError, StatusError } from '../kube/status-error.ts'
import type { Clock } from '../util/clock.ts'
import { memberDestination } from './forward/destination.ts'
import type { Forwarder } from './forward/forward.ts'
import { reachesIn } from './forward/streaming.ts'
import { mapParallel, PARALLEL_MEMBERS } from './live/parallel.ts'
import type { ProxyRequest } from './plugin.ts'
import { reviewStatus, type ResourceRule } from './registered-review.ts'
import { reviewBody, sendReview } from './self-review.ts'

export interface LocalReviewOptions {
  readonly members: readonly Member[]
  readonly forwarder: Forwarder
  readonly clock: Clock
  /** This server takes changes from the caller. */
  readonly mayWrite: boolean
}

/** A member that takes longer cannot tell. */
const REVIEW_MS = 5_000
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
const READS: readonly string[] = ['get', 'list', 'watch']

export async function answerLocalReview(request: ProxyRequest, options: LocalReviewOptions): Promise<void> {
  const body = await reviewBody(request.request.incoming)
  const review = parseReview(body, request.path)
  await sendReview(request, review, await statusOf(review, body, request, options))
}

function statusOf(
  review: Review,
  body: Buffer,
  request: ProxyRequest,
  options: LocalReviewOptions,
): Promise<object> | object {
  switch (review.kind) {
    case 'SelfSubjectAccessReview':
      return accessStatus(review, body, request, options)
    case 'SelfSubjectRulesReview':
      return rulesStatus(body, request, options)
    case 'SelfSubjectReview': {
      const { name, groups } = request.request.user
      return { userInfo: { username: name, groups } }
    }
    default:
      throw badRequest(`no review of kind ${JSON.stringify(review.kind)} is known here`)
  }
}

async function accessStatus(
  { spec }: Review,
  body: Buffer,
  request: ProxyRequest,
  options: LocalReviewOptions,
): Promise<object> {
  const { verb } = spec?.resourceAttributes ?? spec?.nonResourceAttributes ?? {}
  const reads = typeof verb === 'string' && READS.includes(verb) && !reachesIn(spec?.resourceAttributes?.subresource)
  if (!options.mayWrite && !reads) return { allowed: false, reason: 'this server is read-only' }
  const answers = await askAll<AccessStatus>(body, request, options)
  const of = (wanted: boolean): ClusterName[] =>
    answers.filter(({ status }) => status !== undefined && (status.allowed === true) === wanted).map((a) => a.cluster)
  return reviewStatus({ allowing: of(true), others: of(false), unclear: unclear(answers) })
}

async function rulesStatus(body: Buffer, request: ProxyRequest, options: LocalReviewOptions): Promise<object> {
  const answers = await askAll<RulesStatus>(body, request, options)
  const told = answers.map(({ status }) => status).filter((status) => status !== undefined)
  const shown = <Rule extends { readonly verbs: readonly string[] }>(rules: readonly Rule[]): Rule[] =>
    distinct(options.mayWrite ? rules : rules.map(reading).filter(({ verbs }) => verbs.length > 0))
  const silent = unclear(answers)
  return {
    resourceRules: shown(told.flatMap(({ resourceRules }) => resourceRules ?? [])),
    nonResourceRules: shown(told.flatMap(({ nonResourceRules }) => nonResourceRules ?? [])),
    incomplete: silent.length > 0 || told.some(({ incomplete }) => incomplete === true),
    ...(silent.length === 0 ? {} : { evaluationError: `cannot be told for ${silent.join(', ')}` }),
  }
}

interface AccessStatus {
  readonly allowed?: unknown
}

interface RulesStatus {
  readonly resourceRules?: readonly ResourceRule[]
  readonly nonResourceRules?: readonly {
    readonly verbs: readonly string[]
    readonly nonResourceURLs?: readonly string[]
  }[]
  readonly incomplete?: unknown
}

function reading<Rule extends { readonly verbs: readonly string[] }>(rule: Rule): Rule {
  const verbs = rule.verbs.includes('*') ? READS : rule.verbs.filter((verb) => READS.includes(verb))
  return { ...rule, verbs }
}

function distinct<Rule>(rules: readonly Rule[]): Rule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()]
}

interface Answer<Status> {
  readonly cluster: ClusterName
  /** Undefined: it cannot tell. */
  readonly status: Status | undefined
}

const unclear = (answers: readonly Answer<unknown>[]): ClusterName[] =>
  answers.filter(({ status }) => status === undefined).map(({ cluster }) => cluster)

function askAll<Status>(
  body: Buffer,
  request: ProxyRequest,
  { members, forwarder, clock }: LocalReviewOptions,
): Promise<Answer<Status>[]> {
  return mapParallel(members, PARALLEL_MEMBERS, async (member) => {
    const { signal } = request.request
    const deadline = withDeadline(REVIEW_MS, clock, signal)
    try {
      const bounded = { ...request, request: { ...request.request, signal: deadline.signal } }
      return { cluster: member.facts.name, status: await ask<Status>(body, bounded, member, forwarder) }
    } catch (error) {
      if (signal.aborted || !(isStatusError(error) || error instanceof DeadlineError)) throw error
      return { cluster: member.facts.name, status: undefined }
    } finally {
      deadline.dispose()
    }
  })
}

/** The review as it came. Undefined for an answer that is none. */
async function ask<Status>(
  body: Buffer,
  request: ProxyRequest,
  member: Member,
  forwarder: Forwarder,
): Promise<Status | undefined> {
  const headers = { accept: 'application/json', 'accept-encoding': undefined }
  const answer = await forwarder.ask(request, memberDestination(member), { body, headers, decoded: true })
  const bytes = await answer.bytes(MAX_ANSWER_BYTES)
  if (answer.status !== 201) return undefined
  try {
    return (JSON.parse(bytes.toString('utf8')) as { status?: Status } | null)?.status
  } catch (error) {
    throw new StatusError('badGateway', `cluster ${member.facts.name} gave no review`, { cause: error })
  }
}

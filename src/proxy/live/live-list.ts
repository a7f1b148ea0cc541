/**
 * Lists of a resource read from the members themselves: all at once without a limit, else cluster after cluster as the
 * original does, in growing waves so that many small clusters do not add up their latencies.
 */
import type { Member } from '../../fleet/member.ts'
import type { ClusterFreshness } from '../../http/freshness.ts'
import type { ListOptions } from '../../http/list-options.ts'
import { requestedVersions } from '../../http/version-wait.ts'
import { decodeContinueToken, encodeContinueToken } from '../../kube/continue-token.ts'
import type { VersionMap } from '../../kube/multi-cluster-version.ts'
import { decodeVersionMap, encodeVersionMap } from '../../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../../kube/names.ts'
import { badRequest, expired, StatusError } from '../../kube/status-error.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import { absenceOf, MemberFault, unanswered } from './member-fault.ts'
import { mapParallel, PARALLEL_MEMBERS } from './parallel.ts'
import type { LiveReadOptions, MemberPage } from './read-list.ts'
import { readMemberList } from './read-list.ts'
import type { LiveTarget } from './target.ts'

export interface LiveListRequest extends LiveReadOptions {
  readonly target: LiveTarget
  readonly namespace: string | undefined
  readonly list: ListOptions
}

export interface LiveList {
  readonly pages: readonly MemberPage[]
  readonly version: string
  /** Empty on the last page. */
  readonly continue: string
  /** Clusters that did not answer. */
  readonly absent: readonly ClusterFreshness[]
}

type Outcome = MemberPage | MemberFault

/** Rejects with what the members say where none of them answers, with 410 where a version or token has expired. */
export async function readLiveList(request: LiveListRequest): Promise<LiveList> {
  const { list, target } = request
  const start = list.continue === '' ? firstPage(request) : laterPage(list.continue, target)
  const walk = list.limit === undefined ? await readAll(request, start) : await readWaves(request, start, list.limit)
  const faults = walk.faults.filter(({ http }) => http !== 404)
  const failed = [...walk.faults, ...target.refused]
  const gone = faults.find(({ http }) => http === 410)
  if (gone !== undefined) throw expired(`cluster ${gone.cluster}: ${gone.message}`, tokenPast(gone, start, target))
  if (walk.pages.length === 0 && failed.length > 0) throw unanswered(failed, target.absent)
  const version = start.version ?? (await pinVersions(request, walk))
  const next = walk.next === undefined ? '' : encodeContinueToken({ rv: version, ...walk.next })
  const absent = [...target.absent, ...[...faults, ...target.refused].map(absenceOf)]
  return { pages: walk.pages, version, continue: next, absent }
}

interface Start {
  /** Members left to ask, in name order. */
  readonly members: readonly Member[]
  /** The list's version on every page; undefined on the first, which makes it. */
  readonly version: string | undefined
  /** Exact versions to read at. */
  readonly pinned: VersionMap | undefined
  /** The first member's own token; empty: from its beginning. */
  readonly continue: string
}

interface Walk {
  readonly pages: readonly MemberPage[]
  readonly faults: readonly MemberFault[]
  readonly next: { readonly cluster: ClusterName; readonly continue: string } | undefined
  /** Versions of members that were asked and of which nothing is shown on this page. */
  readonly others: readonly MemberPage[]
}

function firstPage({ target, list }: LiveListRequest): Start {
  const exact = list.resourceVersionMatch === 'Exact' ? requestedVersions(list.resourceVersion) : undefined
  if (exact === undefined) return { members: target.members, version: undefined, pinned: undefined, continue: '' }
  requirePresent(exact, target, '', '')
  const members = target.members.filter(({ facts: { name } }) => exact.has(name))
  return { members, version: list.resourceVersion, pinned: exact, continue: '' }
}

function laterPage(text: string, target: LiveTarget): Start {
  const token = decodeContinueToken(text)
  const pinned = token === undefined ? undefined : decodeVersionMap(token.rv)
  if (token === undefined || pinned === undefined) throw badRequest('continue key is not valid: it was not made here')
  const behind = target.members.filter(({ facts: { name } }) => compareUtf8(name, token.cluster) >= 0)
  if (pinned.size === 0) return { members: behind, version: undefined, pinned: undefined, continue: token.continue }
  requirePresent(pinned, target, token.cluster, token.continue)
  if (!pinned.has(token.cluster as ClusterName)) {
    const further = unpinnedToken(target, token.cluster, '')
    throw expired(`the continue token names cluster ${token.cluster}, which is not part of its list`, further)
  }
  const members = behind.filter(({ facts: { name } }) => pinned.has(name))
  return { members, version: token.rv, pinned, continue: token.continue }
}

/** `cluster` and `position`: where the list stands, so that it can go on without those that left. */
function requirePresent(versions: VersionMap, target: LiveTarget, cluster: string, position: string): void {
  const names = new Set(target.members.map(({ facts }) => facts.name))
  const missing = [...versions.keys()].find((name) => !names.has(name))
  if (missing === undefined) return
  const away = target.absent.find(({ cluster }) => cluster === missing)
  if (away === undefined) {
    throw expired(`cluster ${missing} of the version has left`, unpinnedToken(target, cluster, position))
  }
  throw new StatusError('serviceUnavailable', `cluster ${missing} cannot be asked: ${away.reason ?? ''}`, {
    details: { retryAfterSeconds: 1 },
  })
}

/**
 * A token that goes on at whatever versions are there (its map is empty, the page that it leads to makes a new one): with
 * `cluster` at `position`, or where that one left with the next in order; from the beginning where there is none.
 */
function unpinnedToken({ members }: LiveTarget, cluster: string, position: string): string {
  const name = (members.find(({ facts }) => compareUtf8(facts.name, cluster) >= 0) ?? members[0])?.facts.name ?? ''
  const rv = encodeVersionMap(new Map())
  return encodeContinueToken({ rv, cluster: name, continue: name === cluster ? position : '' })
}

/** Behind a member's 410: its own token to go on with, where it gave one, else the cluster anew. Nothing was shown of it. */
function tokenPast(gone: MemberFault, start: Start, target: LiveTarget): string {
  const first = start.members[0]?.facts.name ?? ''
  return unpinnedToken(target, first, gone.cluster === first ? gone.continue : start.continue)
}

async function readAll(request: LiveListRequest, start: Start): Promise<Walk> {
  const outcomes = await mapParallel(start.members, PARALLEL_MEMBERS, (member) =>
    ask(request, start, member, undefined),
  )
  const { pages, faults } = sorted(outcomes.map(wholeOrFault))
  return { pages, faults, next: undefined, others: [] }
}

/** A server that pages without being asked to (some aggregated APIs) would make the list silently short. */
function wholeOrFault(outcome: Outcome): Outcome {
  if (outcome instanceof MemberFault || outcome.continue === '') return outcome
  return new MemberFault(outcome.cluster, undefined, 'it gave only a part of its list; ask with a limit')
}

/**
 * Each wave is twice as wide as the one before: few requests where clusters are large, few turns where they are small. Behind
 * one that fails the rest is asked at once, so that members which hang do not add up; who is left when the time is over comes
 * on the next page.
 */
async function readWaves(request: LiveListRequest, start: Start, limit: number): Promise<Walk> {
  const pages: MemberPage[] = []
  const faults: MemberFault[] = []
  let left = limit
  let width = 1
  for (let i = 0; i < start.members.length; width = faults.length > 0 ? PARALLEL_MEMBERS : nextWidth(width)) {
    if (pages.length > 0 && outOfTime(request)) return { pages, faults, next: beginningOf(start, i), others: [] }
    const wave = start.members.slice(i, i + width)
    const outcomes = await mapParallel(wave, width, (member) => ask(request, start, member, left))
    for (const [at, outcome] of outcomes.entries()) {
      i += 1
      if (outcome instanceof MemberFault) {
        faults.push(outcome)
        continue
      }
      const { length } = itemsOf(outcome)
      // A page cannot be cut in its middle: its member begins the next page instead.
      if (length > left && pages.length > 0) {
        return { pages, faults, next: { cluster: outcome.cluster, continue: '' }, others: others(outcomes, at) }
      }
      pages.push(outcome)
      left -= length
      const { cluster } = outcome
      if (outcome.continue !== '') {
        return { pages, faults, next: { cluster, continue: outcome.continue }, others: others(outcomes, at + 1) }
      }
      if (left > 0 || i >= start.members.length) continue
      return { pages, faults, next: beginningOf(start, i), others: others(outcomes, at + 1) }
    }
  }
  return { pages, faults, next: undefined, others: [] }
}

const nextWidth = (width: number): number => Math.min(width * 2, PARALLEL_MEMBERS)

function outOfTime({ clock, untilMs = Infinity }: LiveListRequest): boolean {
  return clock.monotonicMs() >= untilMs
}

function beginningOf({ members }: Start, i: number): NonNullable<Walk['next']> {
  return { cluster: members[i]?.facts.name as ClusterName, continue: '' }
}

function itemsOf({ table, objects }: MemberPage): { readonly length: number } {
  return table?.rows ?? objects
}

function others(outcomes: readonly Outcome[], from: number): MemberPage[] {
  return sorted(outcomes.slice(from)).pages
}

function sorted(outcomes: readonly Outcome[]): { pages: MemberPage[]; faults: MemberFault[] } {
  const pages: MemberPage[] = []
  const faults: MemberFault[] = []
  for (const outcome of outcomes) {
    if (outcome instanceof MemberFault) faults.push(outcome)
    else pages.push(outcome)
  }
  return { pages, faults }
}

async function ask(
  request: LiveListRequest,
  start: Pick<Start, 'pinned' | 'continue' | 'members'>,
  member: Member,
  limit: number | undefined,
): Promise<Outcome> {
  const { list, namespace, target } = request
  const token = member === start.members[0] ? start.continue : ''
  const pinned = token === '' ? start.pinned?.get(member.facts.name) : undefined
  const query = new URLSearchParams({
    ...(list.labelSelector.empty ? {} : { labelSelector: list.labelSelector.toString() }),
    ...(list.fieldSelector.empty ? {} : { fieldSelector: list.fieldSelector.toString() }),
    ...(limit === undefined ? {} : { limit: String(limit) }),
    ...(token === '' ? {} : { continue: token }),
    ...(pinned === undefined ? {} : { resourceVersion: pinned, resourceVersionMatch: 'Exact' }),
  })
  try {
    return await readMemberList(member, target, namespace, query, request)
  } catch (error) {
    if (error instanceof MemberFault) return error
    throw error
  }
}

/** The first page pins every cluster: those that it does not reach are asked for their version alone. */
async function pinVersions(request: LiveListRequest, walk: Walk): Promise<string> {
  const { members } = request.target
  const versions = new Map<ClusterName, ResourceVersion>()
  for (const { cluster, version } of [...walk.pages, ...walk.others]) versions.set(cluster, version)
  const asked = new Set([...versions.keys(), ...walk.faults.map(({ cluster }) => cluster)])
  const unasked = members.filter(({ facts: { name } }) => !asked.has(name))
  const start = { pinned: undefined, continue: '', members }
  const outcomes = await mapParallel(unasked, PARALLEL_MEMBERS, (member) => ask(request, start, member, 1))
  for (const { cluster, version } of sorted(outcomes).pages) versions.set(cluster, version)
  return encodeVersionMap(versions)
}

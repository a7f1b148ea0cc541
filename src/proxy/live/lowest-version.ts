/** `/version` of many clusters: the lowest, since what a client may do with the oldest it may do with all. */
import type { Member } from '../../fleet/member.ts'
import type { Clock } from '../../util/clock.ts'
import { MemberFault, unanswered } from './member-fault.ts'
import { mapParallel, PARALLEL_MEMBERS } from './parallel.ts'
import { readMember } from './read-list.ts'

interface VersionInfo {
  readonly gitVersion?: unknown
}

/** The whole document of the member whose version is the lowest; of several the first in name order. */
export async function readLowestVersion(
  members: readonly Member[],
  clock: Clock,
  signal: AbortSignal,
): Promise<object> {
  const outcomes = await mapParallel(members, PARALLEL_MEMBERS, (member) => readVersion(member, clock, signal))
  const found = outcomes.filter((outcome): outcome is VersionInfo => !(outcome instanceof MemberFault))
  const [first, ...others] = found
  if (first === undefined)
    throw unanswered(
      outcomes.filter((outcome) => outcome instanceof MemberFault),
      [],
    )
  return others.reduce((lowest, each) => (compare(each, lowest) < 0 ? each : lowest), first)
}

async function readVersion(member: Member, clock: Clock, signal: AbortSignal): Promise<VersionInfo | MemberFault> {
  try {
    return await readMember(member, '/version', { clock, signal, accept: 'application/json' }, async (response) => {
      return JSON.parse((await response.bytes()).toString('utf8')) as VersionInfo
    })
  } catch (error) {
    if (error instanceof MemberFault) return error
    throw error
  }
}

/** By the numbers of `v1.36.3-eks-1`; one that has none sorts last. */
function compare(a: VersionInfo, b: VersionInfo): number {
  const x = numbersOf(a)
  const y = numbersOf(b)
  for (let i = 0; i < 3; i++) {
    const difference = (x[i] ?? Infinity) - (y[i] ?? Infinity)
    if (difference !== 0 && !Number.isNaN(difference)) return difference
  }
  return 0
}

function numbersOf({ gitVersion }: VersionInfo): number[] {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(typeof gitVersion === 'string' ? gitVersion : '')
  return match === null ? [] : match.slice(1).map(Number)
}

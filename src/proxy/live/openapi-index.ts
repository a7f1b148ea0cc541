/** `/openapi/v3` of many clusters: every group-version that any of them documents. */
import type { Member } from '../../fleet/member.ts'
import type { Clock } from '../../util/clock.ts'
import { MemberFault, unanswered } from './member-fault.ts'
import { mapParallel, PARALLEL_MEMBERS } from './parallel.ts'
import { readMember } from './read-list.ts'

interface OpenApiIndex {
  readonly paths?: Readonly<Record<string, unknown>>
}

/** Under each path the first member's entry; its `serverRelativeURL` begins with /openapi/v3, so clients keep our prefix. */
export async function readOpenApiIndex(
  members: readonly Member[],
  clock: Clock,
  signal: AbortSignal,
): Promise<OpenApiIndex> {
  const outcomes = await mapParallel(members, PARALLEL_MEMBERS, (member) => readIndex(member, clock, signal))
  const found = outcomes.filter((outcome): outcome is OpenApiIndex => !(outcome instanceof MemberFault))
  if (found.length === 0)
    throw unanswered(
      outcomes.filter((outcome) => outcome instanceof MemberFault),
      [],
    )
  const paths: Record<string, unknown> = {}
  for (const { paths: own = {} } of found) {
    for (const [path, entry] of Object.entries(own)) {
      if (!Object.hasOwn(paths, path)) paths[path] = entry
    }
  }
  return { paths }
}

async function readIndex(member: Member, clock: Clock, signal: AbortSignal): Promise<OpenApiIndex | MemberFault> {
  try {
    return await readMember(member, '/openapi/v3', { clock, signal, accept: 'application/json' }, async (response) => {
      return JSON.parse((await response.bytes()).toString('utf8')) as OpenApiIndex
    })
  } catch (error) {
    if (error instanceof MemberFault) return error
    throw error
  }
}

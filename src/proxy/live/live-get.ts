/** One object, asked of every member that serves its kind. */
import type { Member } from '../../fleet/member.ts'
import type { CanonicalObject } from '../../kube/canonical-object.ts'
import { canonicalize } from '../../kube/canonical-object.ts'
import { apiVersionOf, resourcePath } from '../../kube/group-version.ts'
import type { ClusterName } from '../../kube/names.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import { notFound } from '../../kube/status-error.ts'
import { ambiguous } from '../owners.ts'
import { MemberFault, unanswered } from './member-fault.ts'
import type { MemberTable } from './member-table.ts'
import { isTable, parseMemberTable } from './member-table.ts'
import { mapParallel, PARALLEL_MEMBERS } from './parallel.ts'
import type { LiveReadOptions } from './read-list.ts'
import { readMember } from './read-list.ts'
import type { LiveTarget } from './target.ts'

export interface LiveObject {
  readonly cluster: ClusterName
  readonly object: CanonicalObject | undefined
  /** Instead of the object, where a Table was asked for and the member made one. */
  readonly table: MemberTable | undefined
}

/**
 * Rejects with `notFound` only where every member has said so: an object must not seem deleted because its cluster does
 * not answer. With `conflict` where several have it.
 */
export async function readLiveObject(
  target: LiveTarget,
  path: ResourcePath,
  options: LiveReadOptions,
): Promise<LiveObject> {
  const members = target.members.filter(({ facts }) => {
    const allowed = target.namespaces(facts.name)
    return allowed === undefined || path.namespace === undefined || allowed.has(path.namespace)
  })
  const outcomes = await mapParallel(members, PARALLEL_MEMBERS, (member) => ask(target, path, member, options))
  const found = outcomes.filter((outcome) => outcome !== undefined && !(outcome instanceof MemberFault)) as LiveObject[]
  const faults = [...outcomes.filter((outcome) => outcome instanceof MemberFault), ...target.refused]
  const [first] = found
  if (first !== undefined) {
    if (found.length > 1) throw ambiguous(path, found)
    return first
  }
  if (faults.length > 0 || target.absent.length > 0) throw unanswered(faults, target.absent)
  throw notFound(path, path.name ?? '')
}

async function ask(
  target: LiveTarget,
  path: ResourcePath,
  member: Member,
  options: LiveReadOptions,
): Promise<LiveObject | MemberFault | undefined> {
  const { name: cluster } = member.facts
  try {
    return await readMember(member, resourcePath(target.gvr, path.namespace, path.name), options, async (response) => {
      const bytes = await response.bytes()
      if (isTable(bytes, options.accept)) return { cluster, object: undefined, table: parseMemberTable(bytes, cluster) }
      const identity = { apiVersion: apiVersionOf(target.gvr), kind: target.kind, cluster }
      return { cluster, object: canonicalize(bytes, identity), table: undefined }
    })
  } catch (error) {
    if (!(error instanceof MemberFault)) throw error
    return error.http === 404 ? undefined : error
  }
}

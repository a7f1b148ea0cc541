/** Which members have to be asked so that everything is described that any of them serves. */
import type { DiscoveredResource } from '../../fleet/discovery/discovered.ts'
import type { Member } from '../../fleet/member.ts'
import type { GroupVersion } from '../../kube/group-version.ts'
import { gvrKey } from '../../kube/group-version.ts'
import type { MemberDiscovery } from '../ports.ts'

export interface Cover {
  /** In name order; each serves something that those before it do not. Its first member counts where they differ. */
  readonly members: readonly Member[]
  /** Members that alone serve all of it: any of them will do. */
  readonly whole: readonly Member[]
}

/** Of one group and version, or of everything. Members that were never heard are left out. */
export function coverOf(members: readonly Member[], discovery: MemberDiscovery, gv: GroupVersion | undefined): Cover {
  const served = members
    .map((member) => ({ member, keys: keysOf(discovery.resources(member.facts.name), gv) }))
    .filter(({ keys }) => keys.size > 0)
  const all = new Set<string>()
  const needed: Member[] = []
  for (const { member, keys } of served) {
    const before = all.size
    for (const key of keys) all.add(key)
    if (all.size > before) needed.push(member)
  }
  const whole = served.filter(({ keys }) => keys.size === all.size).map(({ member }) => member)
  return { members: needed, whole }
}

function keysOf(resources: readonly DiscoveredResource[] | undefined, gv: GroupVersion | undefined): Set<string> {
  const ofInterest = resources?.filter(
    ({ group, version }) => gv === undefined || (group === gv.group && version === gv.version),
  )
  return new Set(ofInterest?.map(gvrKey))
}

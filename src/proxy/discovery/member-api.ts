/** The merged API of the members, made anew only when one of them changes. */
import type { DiscoveredResource } from '../../fleet/discovery/discovered.ts'
import type { FleetReader } from '../../fleet/fleet.ts'
import type { ClusterName } from '../../kube/names.ts'
import type { MemberDiscovery } from '../ports.ts'
import type { DiscoveryForm, DiscoveryPath } from './discovery-path.ts'
import type { Document } from './documents.ts'
import { aggregated, apiGroup, apiGroupList, apiResourceList, apiVersions } from './documents.ts'
import type { MergedGroup } from './merged-resources.ts'
import { mergeResources } from './merged-resources.ts'

export class MemberApi {
  readonly #fleet: Pick<FleetReader, 'members'>
  readonly #discovery: MemberDiscovery
  #inputs: readonly (readonly DiscoveredResource[])[] = []
  #groups: readonly MergedGroup[] = []

  constructor(fleet: Pick<FleetReader, 'members'>, discovery: MemberDiscovery) {
    this.#fleet = fleet
    this.#discovery = discovery
  }

  /** Of all members, or of one; undefined while none of them has been heard. */
  groups(cluster: ClusterName | undefined): readonly MergedGroup[] | undefined {
    const names = cluster === undefined ? this.#fleet.members().map(({ facts }) => facts.name) : [cluster]
    const inputs = names.map((name) => this.#discovery.resources(name)).filter((resources) => resources !== undefined)
    if (inputs.length === 0 && names.length > 0) return undefined
    if (cluster !== undefined) return mergeResources(inputs)
    const same = inputs.length === this.#inputs.length && inputs.every((input, i) => input === this.#inputs[i])
    if (!same) {
      this.#groups = mergeResources(inputs)
      this.#inputs = inputs
    }
    return this.#groups
  }
}

/** undefined for a group or version there is none of. */
export function documentOf(
  groups: readonly MergedGroup[],
  path: DiscoveryPath,
  form: DiscoveryForm,
): Document | undefined {
  switch (path.type) {
    case 'root':
      if (form.aggregated !== undefined) return aggregated(groups, path.root, form.aggregated)
      return path.root === '/api' ? apiVersions(groups) : apiGroupList(groups)
    case 'group':
      return apiGroup(groups, path.group)
    case 'version':
      return apiResourceList(groups, path.groupVersion)
    default:
      return path satisfies never
  }
}

/** What members serve, without the verbs that a read-only server refuses: clients offer nothing that cannot work. */
import type { DiscoveredResource } from '../../fleet/discovery/discovered.ts'
import type { MemberDiscovery } from '../ports.ts'

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])
/** Self reviews are answered here. */
const REVIEWS = /^self\w*reviews$/

export function readOnlyDiscovery(discovery: MemberDiscovery): MemberDiscovery {
  const known = new WeakMap<readonly DiscoveredResource[], readonly DiscoveredResource[]>()
  return {
    resources(cluster) {
      const resources = discovery.resources(cluster)
      if (resources === undefined) return undefined
      const reduced = known.get(resources) ?? resources.map(reading)
      known.set(resources, reduced)
      return reduced
    },
  }
}

/** What reaches into a workload is refused to `get` too (write-guard.ts). */
const REACHES_IN: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward', 'proxy'])

function reading(resource: DiscoveredResource): DiscoveredResource {
  if (REVIEWS.test(resource.resource)) return resource
  return {
    ...resource,
    verbs: resource.verbs.filter((verb) => READS.has(verb)),
    subresources: resource.subresources.filter((name) => !REACHES_IN.has(name)),
    readOnly: true,
  }
}

/** The last plugin of a proxy without a control plane, over the members of a test. */
import { createMembersPlugin, type MembersPluginOptions } from '../../src/proxy/plugins/members.ts'
import type { Plugin } from '../../src/proxy/plugin.ts'
import { createWriteServices } from '../../src/proxy/write/write.ts'
import type { TestFleet } from './fleet-fixture.ts'
import type { MemberWorld } from './member-fixture.ts'

/** Goes by the clock of `fleet`, unless `more` has another. */
export function membersPlugin(
  { columns, clock }: Pick<TestFleet, 'columns' | 'clock'>,
  { discovery, fleet }: Pick<MemberWorld, 'discovery' | 'fleet'>,
  more: Partial<MembersPluginOptions> = {},
): Plugin {
  const services = createWriteServices({ clock: more.clock ?? clock })
  return createMembersPlugin({ ...services, columns, clock, discovery, random: () => 0, fleet, ...more })
}

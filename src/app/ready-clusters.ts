/**
 * `--stale-clusters=drop`: the fleet as the controller sees it holds only clusters that the control plane calls Ready, so
 * that the others leave the cache, as in karmada-search. The default keeps them, marked stale.
 */
import type { FleetChange, FleetReader } from '../fleet/fleet.ts'

/** A view of `fleet` without the members that are not ready; a change of readiness looks like coming or going. */
export function readyClusters(fleet: FleetReader): FleetReader {
  return {
    members: () => fleet.members().filter(({ facts }) => facts.ready),
    member(name) {
      const member = fleet.member(name)
      return member?.facts.ready === true ? member : undefined
    },
    onChange: (listener) =>
      fleet.onChange((change: FleetChange) => {
        const gone = change.type === 'updated' && !change.member.facts.ready
        listener(gone ? { type: 'disengaged', member: change.member } : change)
      }),
  }
}

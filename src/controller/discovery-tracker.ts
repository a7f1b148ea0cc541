/**
 * Asks each member again and again what it serves: every 10 s (an unchanged answer has no body), sooner when someone has
 * reason to doubt, more and more slowly while the member fails. What a member served before is kept while it cannot say.
 */
import type { DiscoveredResource } from '../fleet/discovery/discovered.ts'
import type { FleetReader } from '../fleet/fleet.ts'
import type { ClusterFacts, Member } from '../fleet/member.ts'
import { gvrKey, type GroupVersionResource } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import { KnownResources } from './known-resources.ts'
import { MemberDiscovery, type DiscoveryFailure, type MemberDiscoveryOptions } from './member-discovery.ts'

export interface DiscoveryTrackerOptions extends MemberDiscoveryOptions {
  readonly fleet: FleetReader
}

export class DiscoveryTracker {
  /** What anyone ever served; `learn` adds the control plane's own. */
  readonly known = new KnownResources()
  readonly #options: DiscoveryTrackerOptions
  readonly #members = new Map<ClusterName, MemberDiscovery>()
  readonly #listeners = new Set<(cluster: ClusterName) => void>()

  constructor(options: DiscoveryTrackerOptions) {
    this.#options = options
  }

  /** Undefined: this cluster (under this uid) never answered. The same array as long as nothing changed. */
  resources(facts: ClusterFacts): readonly DiscoveredResource[] | undefined {
    return this.#tracker(facts)?.tracked?.resources
  }

  /** Why the last question had no answer; undefined where it had one, or none was asked yet. */
  failure(facts: ClusterFacts): DiscoveryFailure | undefined {
    return this.#tracker(facts)?.failure
  }

  /** Grows each time the resource came back after it had been missing. */
  returns(facts: ClusterFacts, gvr: GroupVersionResource): number {
    return this.#tracker(facts)?.tracked?.returns.get(gvrKey(gvr)) ?? 0
  }

  /** Called when what a member serves has changed, when it answers for the first time, and when it fails or recovers. */
  onChange(listener: (cluster: ClusterName) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Asks a member ahead of its time, at most every 2 s; `answered` is called once with its next answer, if one comes. */
  refresh(cluster: ClusterName, answered?: () => void): void {
    this.#members.get(cluster)?.refresh(answered)
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>()
    const engaged = (member: Member): void => {
      const run = this.#follow(member, signal).finally(() => running.delete(run))
      running.add(run)
    }
    const unlisten = this.#options.fleet.onChange(({ type, member }) => {
      if (type === 'engaged') engaged(member)
      else if (type === 'updated') this.refresh(member.facts.name)
    })
    for (const member of this.#options.fleet.members()) engaged(member)
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    unlisten()
    await Promise.allSettled(running)
  }

  /** A cluster that is reached anew under its uid goes on from what it served before. */
  async #follow(member: Member, signal: AbortSignal): Promise<void> {
    const { name, uid } = member.facts
    const before = this.#members.get(name)
    const tracker = new MemberDiscovery(member, this.#options, before?.uid === uid ? before.tracked : undefined, () => {
      this.#changed(tracker)
    })
    this.#members.set(name, tracker)
    await tracker.run(AbortSignal.any([signal, member.signal]))
  }

  #tracker({ name, uid }: ClusterFacts): MemberDiscovery | undefined {
    const tracker = this.#members.get(name)
    return tracker?.uid === uid ? tracker : undefined
  }

  #changed({ name, tracked }: MemberDiscovery): void {
    if (tracked !== undefined) this.known.learn(tracked.resources)
    for (const listener of [...this.#listeners]) listener(name)
  }
}

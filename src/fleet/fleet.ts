/**
 * The members there are now. Providers write (`engage`, `update`, `disengage`), everyone else reads.
 *
 * Contract: a listener hears every change in the order it happened and never re-entrantly for one change; `engage` under
 * the name of another UID first disengages the old one, whose signal is aborted before the new member is seen.
 */
import { compareUtf8 } from '../util/bytes.ts'
import type { ClusterName } from '../kube/names.ts'
import type { CallerAccess, ClusterFacts, Member, MemberClient } from './member.ts'

export type FleetChange =
  | { readonly type: 'engaged'; readonly member: Member }
  | { readonly type: 'updated'; readonly member: Member }
  | { readonly type: 'disengaged'; readonly member: Member }

export interface FleetReader {
  /** In the byte order of their names. */
  members(): readonly Member[]
  member(name: ClusterName): Member | undefined
  /** Returns how to stop listening. */
  onChange(listener: (change: FleetChange) => void): () => void
}

export interface FleetWriter {
  /** A cluster joined, or how it is reached changed (then the client is replaced and the old signal aborted). */
  engage(facts: ClusterFacts, client: MemberClient, callers?: CallerAccess): void
  /** Facts changed, the way to reach it did not. */
  update(facts: ClusterFacts): void
  disengage(name: ClusterName, reason: string): void
}

interface Engaged {
  facts: ClusterFacts
  readonly controller: AbortController
  member: Member
}

export class Fleet implements FleetReader, FleetWriter {
  readonly #engaged = new Map<ClusterName, Engaged>()
  readonly #listeners = new Set<(change: FleetChange) => void>()
  readonly #closeFailed: (error: unknown) => void
  #sorted: readonly Member[] | undefined

  /** `closeFailed` hears of clients that fail to close. */
  constructor(closeFailed: (error: unknown) => void) {
    this.#closeFailed = closeFailed
  }

  members(): readonly Member[] {
    this.#sorted ??= [...this.#engaged.values()]
      .map((engaged) => engaged.member)
      .sort((a, b) => compareUtf8(a.facts.name, b.facts.name))
    return this.#sorted
  }

  member(name: ClusterName): Member | undefined {
    return this.#engaged.get(name)?.member
  }

  onChange(listener: (change: FleetChange) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  engage(facts: ClusterFacts, client: MemberClient, callers?: CallerAccess): void {
    this.disengage(facts.name, 'replaced')
    const controller = new AbortController()
    const member = { facts, client, ...(callers === undefined ? {} : { callers }), signal: controller.signal }
    this.#engaged.set(facts.name, { facts, controller, member })
    this.#changed({ type: 'engaged', member })
  }

  update(facts: ClusterFacts): void {
    const engaged = this.#engaged.get(facts.name)
    if (engaged === undefined) return
    engaged.facts = facts
    engaged.member = { ...engaged.member, facts }
    this.#changed({ type: 'updated', member: engaged.member })
  }

  disengage(name: ClusterName, reason: string): void {
    const engaged = this.#engaged.get(name)
    if (engaged === undefined) return
    this.#engaged.delete(name)
    engaged.controller.abort(new Error(`cluster ${name} ${reason}`))
    this.#changed({ type: 'disengaged', member: engaged.member })
    const { client, callers } = engaged.member
    for (const each of new Set([client, callers?.client ?? client])) each.close().catch(this.#closeFailed)
  }

  #changed(change: FleetChange): void {
    this.#sorted = undefined
    for (const listener of [...this.#listeners]) listener(change)
  }
}

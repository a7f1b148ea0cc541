/** A service and members that take sessions, for tests that each have their own. */
import assert from 'node:assert/strict'
import { startSessionMember, type SessionMember } from '../support/session-member.ts'
import { startWholeService, type WholeService, type WholeServiceOptions } from '../support/whole-service.ts'

export class SessionWorld {
  readonly members: SessionMember[] = []
  #service: WholeService | undefined

  async service(options: WholeServiceOptions = {}): Promise<WholeService> {
    this.#service = await startWholeService(options)
    return this.#service
  }

  async member(...args: Parameters<typeof startSessionMember>): Promise<SessionMember> {
    const member = await startSessionMember(...args)
    this.members.push(member)
    return member
  }

  /** To be called after each test: everything ends, and nothing of ours has broken. */
  async end(): Promise<void> {
    const service = this.#service
    this.#service = undefined
    try {
      await service?.stop()
    } finally {
      for (const member of this.members.splice(0)) await member.close()
    }
    assert.deepEqual(service?.faults, [])
  }
}

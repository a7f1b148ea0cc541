/**
 * Knows which answers are still on their way, so that a test in virtual time does not run ahead of real sockets: a list
 * counts until its body is read, a watch until its head is there.
 */
import type { MemberClient, MemberRequest, MemberResponse } from '../../src/fleet/member.ts'
import { settle } from '../support/fake-clock.ts'

const STALLED_AFTER_MS = 20 // real time; a loopback answer that takes longer is one that a test holds back

export class TrackedClient implements MemberClient {
  readonly #client: MemberClient
  #pending = 0

  constructor(client: MemberClient) {
    this.#client = client
  }

  async request(request: MemberRequest): Promise<MemberResponse> {
    this.#pending += 1
    let response: MemberResponse
    try {
      response = await this.#client.request(request)
    } catch (error) {
      this.#pending -= 1
      throw error
    }
    if (request.path.includes('watch=true') && response.status === 200) {
      this.#pending -= 1
      return response
    }
    return this.#counted(response)
  }

  onRecovery(listener: () => void): () => void {
    return this.#client.onRecovery?.(listener) ?? (() => undefined)
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  /** Waits until nothing is on its way, or what is left is held back. */
  async quiet(): Promise<void> {
    await settle()
    const end = performance.now() + STALLED_AFTER_MS
    while (this.#pending > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 1))
    await settle()
  }

  #counted(response: MemberResponse): MemberResponse {
    let counted = true
    const done = (): void => {
      if (counted) this.#pending -= 1
      counted = false
    }
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        yield* response.body
      } finally {
        done()
      }
    }
    return { ...response, body: body(), bytes: (limit) => response.bytes(limit).finally(done) }
  }
}

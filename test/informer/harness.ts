/** One fake member, one reflector on its pods, virtual time. */
import { createMemberClient, type MemberClientOptions } from '../../src/fleet/member-client.ts'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { HttpListerWatcher, type HttpListerWatcherOptions } from '../../src/informer/http-lister-watcher.ts'
import { runReflector } from '../../src/informer/reflector.ts'
import { FakeClock, seededRandom } from '../support/fake-clock.ts'
import { startFakeMember, type FakeMember, type FakeMemberOptions, type NewObject } from '../support/fake-member.ts'
import { RecordingStore } from './recording-store.ts'
import { TrackedClient } from './tracked-client.ts'

export const PODS = { group: '', version: 'v1', resource: 'pods' }

export interface HarnessOptions {
  readonly member?: FakeMemberOptions
  readonly source?: Partial<HttpListerWatcherOptions>
  readonly client?: Partial<MemberClientOptions>
  /** Where the client connects to; default: the member itself. */
  readonly url?: (member: FakeMember) => string
}

export class Harness implements AsyncDisposable {
  readonly clock: FakeClock
  readonly member: FakeMember
  readonly client: TrackedClient
  readonly store = new RecordingStore()
  readonly errors: { readonly error: unknown; readonly waitMs: number; readonly atMs: number }[] = []
  readonly #stop = new AbortController()
  readonly #options: HarnessOptions
  running: Promise<void> | undefined

  constructor(clock: FakeClock, member: FakeMember, options: HarnessOptions) {
    this.clock = clock
    this.member = member
    this.#options = options
    const server = options.url?.(member) ?? member.url
    this.client = new TrackedClient(
      createMemberClient({ server, credentials: noCredentials, clock, ...options.client }),
    )
  }

  run(): void {
    const random = seededRandom(7)
    const { clock, client } = this
    const source = new HttpListerWatcher({
      client,
      cluster: 'member1',
      gvr: PODS,
      clock,
      random,
      ...this.#options.source,
    })
    this.running = runReflector(
      source,
      this.store,
      {
        clock,
        random,
        onError: (error, waitMs) => this.errors.push({ error, waitMs, atMs: clock.monotonicMs() }),
      },
      this.#stop.signal,
    )
  }

  /** Real time only: no timer of the reflector fires. */
  until(condition: () => boolean, what?: string): Promise<void> {
    return this.member.until(condition, what)
  }

  /** Lets `ms` of virtual time pass, never ahead of answers that are on their way. */
  async elapse(ms: number, stepMs = 1_000): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      await this.client.quiet()
      await this.clock.advance(Math.min(stepMs, left))
    }
    await this.client.quiet()
  }

  /** The same until the condition holds. */
  async elapseUntil(condition: () => boolean, stepMs = 100, limitMs = 600_000): Promise<void> {
    for (let left = limitMs; !condition(); left -= stepMs) {
      if (left <= 0) throw new Error(`condition not met within ${limitMs} ms of virtual time`)
      await this.elapse(stepMs, stepMs)
    }
  }

  /** The first list is there and its watch is open. */
  async synced(): Promise<void> {
    await this.until(() => this.store.phase === 'watching' && this.member.watches('pods').length === 1, 'a live watch')
  }

  /** Ends the watch cleanly after it lived long enough to count as sound. */
  async endWatch(): Promise<void> {
    await this.clock.advance(2_000)
    this.member.endWatches('pods')
  }

  lists(): number {
    return this.member.requested({ resource: 'pods', watch: false, where: ({ query }) => query.get('limit') !== '1' })
      .length
  }

  watchRequests(): number {
    return this.member.requested({ resource: 'pods', watch: true }).length
  }

  codes(): (string | undefined)[] {
    return this.errors.map(({ error }) => (error as { code?: string }).code)
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the test is over'))
    await this.running
    await this.client.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.member.close()
  }
}

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const clock = new FakeClock()
  const member = await startFakeMember({ clock, ...options.member })
  return new Harness(clock, member, options)
}

export function pod(name: string, more: object = {}): NewObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, ...more }
}

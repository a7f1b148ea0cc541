/** Members for tests of live reads: fake API servers reached as any member, or answers out of a function. */
import { Readable } from 'node:stream'
import type { DiscoveredResource } from '../../src/fleet/discovery/discovered.ts'
import { fetchDiscovery } from '../../src/fleet/discovery.ts'
import { Fleet } from '../../src/fleet/fleet.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { ClusterFacts, MemberClient, MemberRequest, MemberResponse } from '../../src/fleet/member.ts'
import type { MemberDiscovery } from '../../src/proxy/ports.ts'
import type { Clock } from '../../src/util/clock.ts'
import { systemClock } from '../../src/util/clock.ts'
import { facts } from '../support/cluster-facts.ts'
import type { FakeMember } from '../support/fake-member.ts'
import { startFakeMember } from '../support/fake-member.ts'
import type { TestObject } from './fleet-fixture.ts'

export type Reply = { readonly status?: number; readonly body: unknown; readonly headers?: Record<string, string> }

/** Answers without a network; what `reply` throws is what the client throws. */
export function scriptedClient(reply: (request: MemberRequest) => Reply | Promise<Reply>): MemberClient {
  return {
    async request(sent): Promise<MemberResponse> {
      const { body: stream } = sent
      const request = stream instanceof Readable ? { ...sent, body: Buffer.concat(await stream.toArray()) } : sent
      const { status = 200, body, headers = {} } = await reply(request)
      const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
      return {
        status,
        headers: { 'content-type': 'application/json', ...headers },
        body: (async function* () {
          yield bytes
        })(),
        bytes: () => Promise.resolve(bytes),
      }
    },
    close: () => Promise.resolve(),
  }
}

export function served(resource: string, kind: string, rest: Partial<DiscoveredResource> = {}): DiscoveredResource {
  return {
    group: '',
    version: 'v1',
    preferred: true,
    kind,
    resource,
    singular: kind.toLowerCase(),
    namespaced: true,
    verbs: ['get', 'list', 'watch'],
    shortNames: [],
    categories: [],
    subresources: [],
    ...rest,
  }
}

/** A fleet and what its members serve. */
export class MemberWorld {
  readonly fleet = new Fleet((error) => {
    throw error
  })
  readonly #served = new Map<string, readonly DiscoveredResource[]>()
  readonly #fakes: FakeMember[] = []
  readonly clock: Clock

  constructor(clock: Clock = systemClock) {
    this.clock = clock
  }

  readonly discovery: MemberDiscovery = { resources: (cluster) => this.#served.get(cluster) }

  engage(
    name: string,
    client: MemberClient,
    resources: readonly DiscoveredResource[] | undefined,
    rest: Partial<ClusterFacts> = {},
  ): void {
    if (resources !== undefined) this.#served.set(name, resources)
    this.fleet.engage(facts(name, rest), client, { identity: 'impersonated', client })
  }

  /** A real API server on loopback. */
  async start(name: string, options: Parameters<typeof startFakeMember>[0] = {}): Promise<FakeMember> {
    const fake = await startFakeMember({ name, ...options })
    this.#fakes.push(fake)
    const client = createMemberClient({
      server: fake.url,
      credentials: { current: () => Promise.resolve({ headers: {}, tls: {} }) },
      clock: this.clock,
      qps: 0,
    })
    const { resources } = await fetchDiscovery(client, { signal: AbortSignal.timeout(10_000) })
    this.engage(name, client, resources)
    return fake
  }

  async close(): Promise<void> {
    for (const { facts: each, client } of this.fleet.members()) {
      this.fleet.disengage(each.name, 'the test is over')
      await client.close()
    }
    for (const fake of this.#fakes) await fake.close()
  }
}

/** A member that serves given lists by their paths, in pages where asked. */
export function listingClient(
  lists: Record<string, { kind: string; items: readonly TestObject[] }>,
  version: number,
): MemberClient {
  return scriptedClient(({ path }) => listReply(lists, path, version))
}

/** `prefix` is that of the list over all namespaces. */
function pathOf(prefix: string, { metadata: { name, namespace } }: TestObject): string {
  const at = prefix.lastIndexOf('/')
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`
  return `${prefix.slice(0, at)}${scope}${prefix.slice(at)}/${name}`
}

function listReply(
  lists: Record<string, { kind: string; items: readonly TestObject[] }>,
  path: string,
  version: number,
): Reply {
  const { pathname, searchParams } = new URL(path, 'http://member')
  const list = lists[pathname]
  const object = Object.entries(lists).flatMap(([prefix, { items }]) =>
    items.filter((i) => pathOf(prefix, i) === pathname),
  )
  if (object[0] !== undefined) return { body: object[0] }
  if (list === undefined) return { status: 404, body: { kind: 'Status', code: 404, message: 'no such path' } }
  const from = Number(searchParams.get('continue') ?? 0)
  const limit = Number(searchParams.get('limit') ?? list.items.length)
  const next = from + limit < list.items.length ? { continue: String(from + limit) } : {}
  return {
    body: {
      kind: list.kind,
      apiVersion: 'v1',
      metadata: { resourceVersion: String(version), ...next },
      items: list.items.slice(from, from + limit),
    },
  }
}

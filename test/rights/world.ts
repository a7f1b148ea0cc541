/** Fake members with RBAC objects whose reviews are answered by a function, and rights over them in virtual time. */
import { Fleet } from '../../src/fleet/fleet.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { MemberClient, MemberRequest, MemberResponse } from '../../src/fleet/member.ts'
import type { ClusterRights, RightsQuestion } from '../../src/http/rights.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { FleetRights, type FleetRightsOptions } from '../../src/rights/fleet-rights.ts'
import type { MemberRightsState } from '../../src/rights/member-rights.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { FakeClock, seededRandom } from '../support/fake-clock.ts'
import { facts } from '../support/cluster-facts.ts'
import { startFakeMember, type FakeMember, type NewObject } from '../support/fake-member.ts'
import { bindingObject, roleObject, type BindingDraft, type RuleDraft } from './rbac-objects.ts'

/** May somebody list all pods? */
export const QUESTION: Omit<RightsQuestion, 'user'> = {
  verb: 'list',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
  byObject: false,
  namespaced: true,
}

export interface Review {
  readonly user: string
  readonly groups: readonly string[]
  readonly resourceAttributes: Readonly<Record<'verb' | 'group' | 'resource' | 'namespace' | 'name', string>>
}

export class TestMember {
  /** Every review of somebody's rights, strangers' left out. */
  readonly reviews: Review[] = []
  /** The status of the answer to a review, or an HTTP code. Default: denied. */
  decide: (review: Review) => boolean | number | Promise<boolean> = () => false
  incomplete = false
  strangersAllowed = false
  readonly fake: FakeMember
  readonly name: ClusterName
  /** Everything fails as if nobody listened. */
  away = false

  constructor(name: string, fake: FakeMember) {
    this.name = name as ClusterName
    this.fake = fake
  }

  bind(name: string, user: string, rule: RuleDraft, namespace = ''): void {
    this.fake.put(stored(roleObject({ namespace: '', name, rules: [rule] })))
    const binding: BindingDraft = {
      namespace,
      name,
      roleRef: { kind: 'ClusterRole', name },
      subjects: [{ kind: 'User', name: user }],
    }
    this.fake.put(stored(bindingObject(binding)))
  }

  /** Speaks to the fake, and answers reviews by itself. */
  client(clock: FakeClock): MemberClient {
    const real = createMemberClient({
      server: this.fake.url,
      credentials: { current: () => Promise.resolve({ headers: {}, tls: {} }) },
      clock,
      qps: 0,
    })
    return {
      ...(real.onRecovery === undefined ? {} : { onRecovery: (listener) => real.onRecovery?.(listener) ?? ignore }),
      request: (request) => (request.method === 'POST' ? this.#review(request) : real.request(request)),
      close: () => real.close(),
    }
  }

  async #review({ path, body }: MemberRequest): Promise<MemberResponse> {
    if (path.endsWith('/selfsubjectrulesreviews')) return reply(201, { status: { incomplete: this.incomplete } })
    const { spec } = JSON.parse(String(body)) as { spec: Review }
    if (spec.user.startsWith('fleetsearch:stranger:')) return reply(201, { status: { allowed: this.strangersAllowed } })
    this.reviews.push(spec)
    const answer = await this.decide(spec)
    return typeof answer === 'number' ? reply(answer, {}) : reply(201, { status: { allowed: answer } })
  }
}

const ignore = (): void => undefined

function stored(object: object): NewObject {
  const { metadata, ...rest } = object as { metadata: { resourceVersion?: string } }
  const { resourceVersion: _none, ...named } = metadata
  return { ...rest, metadata: named } as unknown as NewObject
}

function reply(status: number, body: object): MemberResponse {
  const bytes = Buffer.from(JSON.stringify(body))
  return {
    status,
    headers: {},
    body: (async function* () {
      yield await Promise.resolve(bytes)
    })(),
    bytes: () => Promise.resolve(bytes),
  }
}

export class RightsFixture {
  readonly clock = new FakeClock()
  readonly fleet = new Fleet((error) => {
    throw error
  })
  readonly rights: FleetRights
  readonly #members: TestMember[] = []
  readonly #stop = new AbortController()
  readonly #running: Promise<void>

  constructor(options: Partial<FleetRightsOptions> = {}) {
    const logger = createLogger('silent')
    this.rights = new FleetRights({ fleet: this.fleet, clock: this.clock, random: seededRandom(1), logger, ...options })
    this.#running = this.rights.run(this.#stop.signal)
  }

  /** A member that is not part of the fleet yet. */
  async prepare(name: string): Promise<TestMember> {
    const fake = await startFakeMember({ name, clock: this.clock })
    const member = new TestMember(name, fake)
    this.#members.push(member)
    return member
  }

  engage(member: TestMember): void {
    this.fleet.engage(facts(member.name), member.client(this.clock))
  }

  /** In the fleet, and followed. */
  async start(name: string, prepare: (member: TestMember) => void = ignore): Promise<TestMember> {
    const member = await this.prepare(name)
    prepare(member)
    this.engage(member)
    await this.until(() => this.state(member)?.decides === 'local')
    return member
  }

  state({ name }: TestMember): MemberRightsState | undefined {
    return this.rights.states().get(name)
  }

  async ask(member: TestMember, question: Partial<RightsQuestion> & { readonly as: string }): Promise<ClusterRights> {
    const { as, ...rest } = question
    const whole: RightsQuestion = {
      user: { name: as, uid: '', groups: [], extra: {} },
      ...QUESTION,
      ...rest,
    }
    const answers = await this.rights.of(whole, [member.name], AbortSignal.timeout(10_000))
    return answers.get(member.name) as ClusterRights
  }

  until(condition: () => boolean): Promise<void> {
    return this.clock.advanceUntil(condition, 50)
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the test is over'))
    await this.#running
    for (const { name } of this.#members) this.fleet.disengage(name, 'the test is over')
    for (const { fake } of this.#members) await fake.close()
  }
}

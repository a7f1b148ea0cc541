/** Self reviews without a control plane: the members' own word on the credentials they are reached with, and this server's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemberError } from '../../src/fleet/member-error.ts'
import type { MemberRequest } from '../../src/fleet/member.ts'
import { sleep } from '../../src/util/sleep.ts'
import type { Answer } from '../http/loopback.ts'
import { P, PREFIX, withApi } from './api-fixture.ts'
import { TestFleet } from './fleet-fixture.ts'
import { MemberWorld, scriptedClient, type Reply } from './member-fixture.ts'
import { membersPlugin } from './members-plugin.ts'
import { facts } from '../support/cluster-facts.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any
type Judge = (request: MemberRequest, fleet: TestFleet) => Reply | Promise<Reply>

/** A member that allows these verbs, and everything that is read at paths. */
const allowing =
  (...verbs: string[]): Judge =>
  ({ body }) => {
    const { kind, spec } = JSON.parse(String(body)) as Json
    const { verb } = spec.resourceAttributes ?? spec.nonResourceAttributes ?? {}
    const rule = { verbs, apiGroups: [''], resources: ['pods'] }
    const rules = { resourceRules: [rule], nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] }
    const status =
      kind === 'SelfSubjectRulesReview' ? { ...rules, incomplete: false } : { allowed: verbs.includes(verb) }
    return { status: 201, body: { kind, apiVersion: 'authorization.k8s.io/v1', spec, status } }
  }

interface World {
  readonly asked: (MemberRequest & { readonly cluster: string })[]
  review(kind: string, spec: object, prefix?: string, resource?: string): Promise<Answer>
  /** What is answered about this verb of pods, or of a subresource of theirs. */
  may(verb: string, subresource?: string, prefix?: string): Promise<Json>
}

async function withMembers(
  members: Readonly<Record<string, Judge>>,
  mayWrite: boolean,
  run: (world: World, fleet: TestFleet) => Promise<void>,
): Promise<void> {
  const fleet = new TestFleet()
  const { clock } = fleet
  const world = new MemberWorld(clock)
  const asked: World['asked'] = []
  for (const [cluster, judge] of Object.entries(members)) {
    const client = scriptedClient((request) => {
      asked.push({ ...request, cluster })
      return judge(request, fleet)
    })
    world.fleet.engage(facts(cluster), client, { identity: 'own', client })
  }
  const plugin = membersPlugin(fleet, world, { mayWrite: () => mayWrite })
  await withApi(
    fleet,
    world,
    async (api) => {
      const review: World['review'] = async (kind, spec, prefix = P, resource = `${kind.toLowerCase()}s`) => {
        const group = kind === 'SelfSubjectReview' ? 'authentication.k8s.io' : 'authorization.k8s.io'
        const body = JSON.stringify({ kind, apiVersion: `${group}/v1`, spec })
        const headers = { 'content-type': 'application/json' }
        let answered = false
        const answer = api
          .ask(`${prefix}/apis/${group}/v1/${resource}`, { method: 'POST', headers, body })
          .finally(() => (answered = true))
        await clock.advanceUntil(() => answered, 1_000)
        return answer
      }
      const may: World['may'] = async (verb, subresource, prefix) => {
        const more = subresource === undefined ? {} : { subresource }
        const spec = { resourceAttributes: { verb, resource: 'pods', ...more } }
        const answer = await review('SelfSubjectAccessReview', spec, prefix)
        assert.equal(answer.status, 201, answer.text)
        assert.deepEqual(answer.json.spec, spec)
        return answer.json.status
      }
      await run({ asked, review, may }, fleet)
    },
    { behind: [plugin] },
  )
}

test('E9: allowed is what one member allows its credentials, and the reason names them', () =>
  withMembers({ m1: allowing('list', 'delete'), m2: allowing('list') }, true, async ({ may, asked }) => {
    assert.deepEqual(await may('list'), { allowed: true, reason: 'allowed in m1, m2' })
    assert.deepEqual(await may('delete'), { allowed: true, reason: 'allowed in m1, not in m2' })
    assert.deepEqual(await may('patch'), { allowed: false, reason: 'not in m1, m2' })
    assert.ok(
      asked.every(({ headers }) => headers?.['impersonate-user'] === undefined),
      'with their own credentials',
    )
    asked.length = 0
    const chosen = `${PREFIX}/proxying/cluster.m2/proxy`
    assert.deepEqual(await may('delete', undefined, chosen), { allowed: false, reason: 'not in m2' })
    assert.deepEqual(
      asked.map(({ cluster }) => cluster),
      ['m2'],
    )
  }))

test('E9: a server that is read-only says so, whatever the members allow, and asks them nothing', () =>
  withMembers({ m1: allowing('list', 'delete', 'create', 'get') }, false, async ({ may, review, asked }) => {
    const no = { allowed: false, reason: 'this server is read-only' }
    const chosen = `${PREFIX}/proxying/cluster.m1/proxy`
    for (const [verb, subresource] of [['delete'], ['create', 'exec'], ['get', 'exec'], ['get', 'proxy']] as const) {
      assert.deepEqual(await may(verb, subresource), no, verb)
      assert.deepEqual(await may(verb, subresource, chosen), no, verb)
    }
    assert.equal(asked.length, 0)
    assert.deepEqual(await may('get', 'log'), { allowed: true, reason: 'allowed in m1' })
    const { json } = await review('SelfSubjectRulesReview', { namespace: 'default' })
    assert.deepEqual(json.status, {
      resourceRules: [{ verbs: ['list', 'get'], apiGroups: [''], resources: ['pods'] }],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
      incomplete: false,
    })
  }))

test('a member that cannot tell is named, takes no more than 5 s, and allows nothing', () =>
  withMembers(
    {
      m1: allowing('list'),
      m2: async ({ signal }, { clock }) => {
        await sleep(600_000, clock, signal)
        return { body: {} }
      },
      m3: () => {
        throw new MemberError('refused', 'nobody listens')
      },
      m4: () => ({ status: 405, body: { kind: 'Status', code: 405 } }),
      m5: () => ({ status: 201, body: 'no JSON' }),
    },
    true,
    async ({ may, review }, { clock }) => {
      const startedMs = clock.monotonicMs()
      const evaluationError = 'cannot be told for m2, m3, m4, m5'
      assert.deepEqual(await may('list'), { allowed: true, reason: 'allowed in m1', evaluationError })
      assert.ok(clock.monotonicMs() - startedMs <= 6_000)
      assert.deepEqual(await may('delete'), { allowed: false, reason: 'not in m1', evaluationError })
      const { json } = await review('SelfSubjectRulesReview', { namespace: 'default' })
      assert.deepEqual([json.status.incomplete, json.status.evaluationError], [true, evaluationError])
      assert.equal(json.status.resourceRules.length, 1)
    },
  ))

test('E9: rules of several members are one list, each of them once', () =>
  withMembers({ m1: allowing('list'), m2: allowing('list'), m3: allowing('*') }, false, async ({ review }) => {
    const { json } = await review('SelfSubjectRulesReview', { namespace: 'default' })
    assert.deepEqual(
      json.status.resourceRules.map(({ verbs }: Json) => verbs),
      [['list'], ['get', 'list', 'watch']],
    )
  }))

test('who the caller is here, and 400 for what is no review', () =>
  withMembers({ m1: allowing('list') }, true, async ({ review, asked }) => {
    const self = await review('SelfSubjectReview', {})
    assert.deepEqual(self.json.status.userInfo, { username: 'admin', groups: ['system:authenticated'] })
    assert.equal((await review('Pod', {}, P, 'selfsubjectaccessreviews')).status, 400)
    assert.equal(asked.length, 0)
  }))

/**
 * Members that begin an answer and then say nothing more: who asked is told in bounded (virtual) time, what others have is
 * shown, and no connection is left.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { customType, type FakeMember, type NewObject } from '../support/fake-member.ts'
import { settle } from '../support/fake-clock.ts'
import type { Answer, Loopback } from '../http/loopback.ts'
import { P, PREFIX, withApi } from './api-fixture.ts'
import { decodeToken, TestFleet } from './fleet-fixture.ts'
import { MemberWorld } from './member-fixture.ts'
import { membersPlugin } from './members-plugin.ts'

const FOOS = '/apis/example.io/v1/foos'
/** What a kube-apiserver itself gives a list. */
const BOUND_MS = 60_000

const foo = (name: string): NewObject => ({
  apiVersion: 'example.io/v1',
  kind: 'Foo',
  metadata: { name, namespace: 'a', annotations: { padding: 'x'.repeat(500) } },
})

interface World {
  readonly api: Loopback
  readonly fleet: TestFleet
  readonly members: readonly FakeMember[]
  /** The answer, and how long it took on the clock. */
  ask(path: string, method?: string, body?: object): Promise<Answer & { readonly tookMs: number }>
}

/** Members of these names, each with `foo-NAME-0` and `foo-NAME-1`; foos are registered nowhere. */
async function withFoos(names: readonly string[], run: (world: World) => Promise<void>): Promise<void> {
  const fleet = new TestFleet()
  const { clock } = fleet
  const world = new MemberWorld(clock)
  const members: FakeMember[] = []
  for (const name of names) {
    const objects = [0, 1].map((i) => foo(`foo-${name}-${i}`))
    members.push(await world.start(name, { extraTypes: [customType('Foo')], objects, clock }))
  }
  const plugin = membersPlugin(fleet, world)
  await withApi(
    fleet,
    world,
    async (api) => {
      const ask: World['ask'] = async (path, method = 'GET', body) => {
        const startedMs = clock.monotonicMs()
        let answered = false
        const options = body === undefined ? {} : { body: JSON.stringify(body) }
        const answer = api
          .ask(path, { method, headers: { 'content-type': 'application/json' }, ...options })
          .finally(() => (answered = true))
        await clock.advanceUntil(() => answered, 1_000)
        return { ...(await answer), tookMs: clock.monotonicMs() - startedMs }
      }
      await run({ api, fleet, members, ask })
    },
    { behind: [plugin] },
  )
}

const names = ({ json }: Answer): string[] =>
  (json.items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)

const inTheMiddle = { fault: { type: 'stallAfter', bytes: 700 } } as const

test('A7: mid-list: the others are shown, the one that hangs is named, its connection is closed', async () => {
  await withFoos(['m1', 'm2', 'm3'], async ({ ask, members: [, m2] }) => {
    const before = m2!.connections
    m2!.misbehave(inTheMiddle)
    const answer = await ask(P + FOOS)
    assert.ok(answer.tookMs <= BOUND_MS, String(answer.tookMs))
    assert.equal(answer.status, 200)
    assert.deepEqual(names(answer), ['foo-m1-0', 'foo-m1-1', 'foo-m3-0', 'foo-m3-1'])
    assert.match(String(answer.headers['warning']), /1 of 3 clusters is missing from this answer: m2 \(no byte for/)
    assert.deepEqual(Object.keys(decodeToken(answer.json.metadata.resourceVersion) as object), ['m1', 'm3'])
    await m2!.until(() => m2!.connections <= before, 'the end of the connection')
    const chosen = await ask(`${PREFIX}/proxying/cluster.m2/proxy${FOOS}`)
    assert.ok(chosen.tookMs <= BOUND_MS)
    assert.equal(chosen.status, 503)
    assert.match(chosen.json.message, /m2: no byte for/)
    m2!.behave()
    assert.equal(names(await ask(P + FOOS)).length, 6)
  })
})

test('A7: mid-list in pages: those that hang do not add up, and every page of the others comes', async () => {
  const all = Array.from({ length: 9 }, (_, i) => `m${i}`)
  await withFoos(all, async ({ ask, members }) => {
    for (const member of members.slice(0, 6)) member.misbehave(inTheMiddle)
    const seen: string[] = []
    let token = ''
    do {
      const answer = await ask(`${P}${FOOS}?limit=2&continue=${token}`)
      assert.ok(answer.tookMs <= BOUND_MS, String(answer.tookMs))
      assert.equal(answer.status, 200, answer.text)
      if (token === '') assert.match(String(answer.headers['warning']), /6 of \d clusters are missing/)
      seen.push(...names(answer))
      token = (answer.json.metadata.continue as string | undefined) ?? ''
    } while (token !== '')
    assert.deepEqual(
      seen,
      ['m6', 'm7', 'm8'].flatMap((name) => [`foo-${name}-0`, `foo-${name}-1`]),
    )
  })
})

test('one object: found where somebody answers, and never 404 while somebody hangs', async () => {
  await withFoos(['m1', 'm2'], async ({ ask, members: [, m2] }) => {
    m2!.misbehave({ fault: { type: 'stall' } })
    const found = await ask(`${P}/apis/example.io/v1/namespaces/a/foos/foo-m1-0`)
    assert.deepEqual([found.status, found.tookMs <= BOUND_MS], [200, true])
    const missing = await ask(`${P}/apis/example.io/v1/namespaces/a/foos/nowhere`)
    assert.deepEqual([missing.status, missing.tookMs <= BOUND_MS], [503, true])
    assert.match(missing.json.message, /m2/)
  })
})

test('G2: mid-watch: a member that falls silent is asked again, the others’ events never wait', async () => {
  await withFoos(['m1', 'm2'], async ({ api, fleet: { clock }, members: [m1, m2] }) => {
    const watch = await api.watch(`${P}${FOOS}?watch=true`)
    await watch.until(4)
    await m2!.until(() => m1!.watches('foos').length + m2!.watches('foos').length === 2)
    await clock.advance(61_000) // bookmarks have come: from now on silence means something
    await settle(20)
    m2!.endWatches('foos')
    await m2!.until(() => m2!.watches('foos').length === 0)
    await clock.advanceUntil(() => m2!.watches('foos').length === 1)
    const connections = m2!.connections
    m2!.holdWatches('foos')
    m2!.put(foo('foo-m2-new'))
    m1!.put(foo('foo-m1-new'))
    await watch.until(5)
    assert.equal(watch.events[4]?.object.metadata.name, 'foo-m1-new')
    const startedMs = clock.monotonicMs()
    await clock.advanceUntil(() => watch.events.length === 6, 1_000)
    assert.ok(clock.monotonicMs() - startedMs <= 95_000, 'a bookmark and a half')
    assert.equal(watch.events[5]?.object.metadata.name, 'foo-m2-new')
    assert.equal(watch.isEnded, false)
    await m2!.until(() => m2!.connections <= connections, 'the end of the silent connection')
    watch.close()
    await m2!.until(() => m2!.watches('foos').length === 0, 'the end of the watch')
  })
})

test('a write whose answer breaks off in silence is 504, and says that it may have been carried out', async () => {
  await withFoos(['m1', 'm2'], async ({ ask, members: [, m2] }) => {
    m2!.misbehave({
      on: { method: 'PUT' },
      fault: { type: 'body', text: '{"kind":"Foo","meta', headers: { 'content-length': '700' } },
    })
    const path = '/apis/example.io/v1/namespaces/a/foos/foo-m2-0'
    const answer = await ask(`${PREFIX}/proxying/cluster.m2/proxy${path}`, 'PUT', foo('foo-m2-0'))
    assert.ok(answer.tookMs <= BOUND_MS)
    assert.equal(answer.status, 504, answer.text)
    assert.match(answer.json.message, /cluster m2 .*may have been carried out/)
  })
})

/** Orders and fields on lists that are read live: the same rules as from the cache, over members that know neither. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldSource } from '../../src/http/field-source.ts'
import { LiveBudget } from '../../src/proxy/live/live-budget.ts'
import { systemClock } from '../../src/util/clock.ts'
import type { Answer, Loopback } from '../http/loopback.ts'
import { customType, type FakeMember, type NewObject } from '../support/fake-member.ts'
import { P, PREFIX, withApi } from './api-fixture.ts'
import { TestFleet, token } from './fleet-fixture.ts'
import { MemberWorld } from './member-fixture.ts'
import { membersPlugin } from './members-plugin.ts'

const FOOS = '/apis/example.io/v1/foos'
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

const foo = (name: string, spec: object): NewObject => ({
  apiVersion: 'example.io/v1',
  kind: 'Foo',
  metadata: { name, namespace: 'a', annotations: { 'x.y/z': name } },
  spec,
})

/** As a schema would have it. */
const fields: FieldSource = {
  exists: (_gvk, [first, second]) => Promise.resolve(first === 'metadata' || second === 'size' || second === 'parts'),
}

interface World {
  readonly api: Loopback
  readonly m1: FakeMember
  readonly m2: FakeMember
}

/** `small` and `none` in m1, `large`, `middle` in m2. */
async function withFoos(run: (world: World) => Promise<void>, budget?: LiveBudget): Promise<void> {
  const fleet = new TestFleet()
  const world = new MemberWorld(systemClock)
  const extraTypes = [customType('Foo')]
  const m1 = await world.start('m1', {
    extraTypes,
    objects: [foo('small', { size: 3, parts: [{ image: 'a' }] }), foo('none', {})],
  })
  const m2 = await world.start('m2', {
    extraTypes,
    objects: [foo('large', { size: 20, parts: [{ image: 'a' }, { image: 'b' }] }), foo('middle', { size: 10 })],
  })
  const plugin = membersPlugin(fleet, world, { clock: systemClock, fields, budget })
  await withApi(fleet, world, (api) => run({ api, m1, m2 }), { behind: [plugin] })
}

const names = ({ json }: Answer): string[] =>
  ((json?.items ?? []) as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)

test('an order over members that do not sort, in the query and in the path', () =>
  withFoos(async ({ api }) => {
    assert.deepEqual(names(await api.ask(`${P}${FOOS}?sortBy=-.spec.size`)), ['large', 'middle', 'small', 'none'])
    assert.deepEqual(names(await api.ask(`${P}${FOOS}?sortBy=.spec.size`)), ['small', 'middle', 'large', 'none'])
    const byPath = `${PREFIX}/proxying/karmada;sortBy=-cluster,name/proxy`
    assert.deepEqual(names(await api.ask(byPath + FOOS)), ['large', 'middle', 'none', 'small'])
    const table = await api.ask(`${P}${FOOS}?sortBy=name`, { headers: { accept: TABLE } })
    assert.deepEqual(
      (table.json.rows as { cells: string[] }[]).map(({ cells }) => cells[0]),
      ['large', 'middle', 'none', 'small'],
    )
    const unknown = await api.ask(`${P}${FOOS}?sortBy=size`)
    assert.equal(unknown.status, 400)
    assert.match(unknown.json.message, /"size" is no column of this kind/)
  }))

test('pages in an order show the state of the first one, whatever changes meanwhile', () =>
  withFoos(async ({ api, m1, m2 }) => {
    const path = `${P}${FOOS}?sortBy=-.spec.size&limit=2`
    const first = await api.ask(path)
    assert.deepEqual(names(first), ['large', 'middle'])
    assert.equal(first.json.metadata.remainingItemCount, 2)
    assert.equal(first.json.metadata.resourceVersion, token({ m1: m1.version, m2: m2.version }))
    m1.delete('Foo', 'a', 'small')
    m2.put(foo('new', { size: 5 }))
    const second = await api.ask(`${path}&continue=${first.json.metadata.continue}`)
    assert.deepEqual(names(second), ['small', 'none'])
    assert.equal(second.json.metadata.resourceVersion, first.json.metadata.resourceVersion)
    assert.equal(second.json.metadata.continue, '')
    const other = await api.ask(`${P}${FOOS}?sortBy=name&limit=2&continue=${first.json.metadata.continue}`)
    assert.deepEqual([other.status, /another order/.test(other.json.message)], [400, true])
    const unordered = await api.ask(`${P}${FOOS}?limit=2&continue=${first.json.metadata.continue}`)
    assert.ok(unordered.status === 400 || unordered.status === 410, unordered.text)
    m1.compact()
    const expired = await api.ask(`${path}&continue=${first.json.metadata.continue}`)
    assert.equal(expired.status, 410)
    const onward = await api.ask(`${path}&continue=${expired.json.metadata.continue}`)
    assert.deepEqual(names(onward), ['new', 'none'], 'behind the same object, as it is now')
  }))

test('any field of the schema, tested here; what members know is theirs to select by', () =>
  withFoos(async ({ api, m2 }) => {
    const list = async (selector: string, more = ''): Promise<string[]> =>
      names(await api.ask(`${P}${FOOS}?fieldSelector=${encodeURIComponent(selector)}${more}`))
    assert.deepEqual(await list('spec.size=10'), ['middle'])
    assert.deepEqual(await list('spec.size!=10'), ['none', 'small', 'large'])
    assert.deepEqual(await list('spec.parts.image=a'), ['small', 'large'])
    assert.deepEqual(await list('spec.parts.image='), ['none', 'middle'])
    assert.deepEqual(await list("metadata.annotations['x.y/z']=large,cluster=m2"), ['large'])
    assert.deepEqual(await list('spec.parts.image=a,cluster=m1'), ['small'])
    assert.deepEqual(await list('spec.parts.image=a', '&sortBy=-.spec.size'), ['large', 'small'])
    m2.requests.length = 0
    assert.deepEqual(await list('metadata.name=large,spec.size=20'), ['large'])
    assert.deepEqual(
      m2.requests.map(({ query }) => query.get('fieldSelector')),
      ['metadata.name=large'],
    )
    const unknown = await api.ask(`${P}${FOOS}?fieldSelector=spec.nothing%3D1`)
    assert.equal(unknown.status, 400)
    assert.match(unknown.json.message, /field label not supported: spec.nothing/)
    const watch = await api.ask(`${P}${FOOS}?watch=true&fieldSelector=spec.size%3D10`)
    assert.equal(watch.status, 400, 'which objects leave a selection only their cache can tell')
  }))

test('pages of a selection bring everything once', () =>
  withFoos(async ({ api }) => {
    for (const limit of [1, 2, 3, 4]) {
      const seen: string[] = []
      let next = ''
      do {
        const query = `limit=${limit}&fieldSelector=spec.parts.image%3Da&continue=${next}`
        const answer = await api.ask(`${P}${FOOS}?${query}`)
        assert.equal(answer.status, 200, answer.text)
        assert.ok(names(answer).length <= limit)
        seen.push(...names(answer))
        next = (answer.json.metadata.continue as string | undefined) ?? ''
      } while (next !== '')
      assert.deepEqual(seen, ['small', 'large'])
    }
  }))

test('what is held to be sorted is bounded with all live lists: 429, and given back', async () => {
  const budget = new LiveBudget(1_000)
  await withFoos(async ({ api }) => {
    assert.equal((await api.ask(`${P}${FOOS}?sortBy=name`)).status, 429)
    assert.equal(budget.used, 0)
  }, budget)
})

/** Members whose answers to live reads are JSON, and not what was asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/util/clock.ts'
import type { Loopback } from '../http/loopback.ts'
import { customType } from '../support/fake-member.ts'
import { P, withApi } from './api-fixture.ts'
import { pod, TestFleet } from './fleet-fixture.ts'
import { listingClient, MemberWorld, scriptedClient, served } from './member-fixture.ts'
import { membersPlugin } from './members-plugin.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

function withMembers(members: MemberWorld, run: (api: Loopback) => Promise<void>): Promise<void> {
  const fleet = new TestFleet()
  const behind = [membersPlugin(fleet, members, { clock: systemClock })]
  return withApi(fleet, members, run, { behind })
}

/** `good` has one event; `bad` answers everything with this body. */
function eventsAnd(body: object): MemberWorld {
  const members = new MemberWorld(systemClock)
  const kinds = [served('events', 'Event')]
  const items = { kind: 'EventList', items: [pod('default', 'e1', {})] }
  members.engage('good', listingClient({ '/api/v1/events': items }, 7), kinds)
  members.engage(
    'bad',
    scriptedClient(() => ({ body })),
    kinds,
  )
  return members
}

const tableOf = (rows: unknown): object => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { resourceVersion: '5' },
  columnDefinitions: [{ name: 'Name' }],
  rows,
})

test('a Table in place of the list asked for is a fault that is named, neither an empty list nor the answer', async () => {
  const members = eventsAnd(tableOf([{ cells: ['x'], object: { metadata: { name: 'x', namespace: 'default' } } }]))
  await withMembers(members, async (api) => {
    for (const query of ['', '?limit=1']) {
      const { json, headers } = await api.ask(`${P}/api/v1/events${query}`)
      assert.equal(json.kind, 'EventList')
      assert.match(String(headers['warning']), /missing from this answer: bad/)
    }
    const { status } = await api.ask(`${P}/api/v1/namespaces/default/events/x`)
    assert.equal(status, 503)
  })
})

test('a Table whose rows are none is a fault that is named', async () => {
  for (const rows of [[null], [5], [{ cells: 'x' }], [{ cells: [], object: { metadata: null } }], {}]) {
    const members = new MemberWorld(systemClock)
    const kinds = [served('widgets', 'Widget', { group: 'acme.example.io' })]
    members.engage(
      'bad',
      scriptedClient(() => ({ body: tableOf(rows) })),
      kinds,
    )
    await withMembers(members, async (api) => {
      const { status, json } = await api.ask(`${P}/apis/acme.example.io/v1/widgets`, { headers: { accept: TABLE } })
      assert.equal(status, 503, JSON.stringify(rows))
      assert.match(json.message, /bad: a Table, but its rows are none/)
    })
  }
})

test('a live watch leaves out an object that is none, and goes on', async () => {
  const members = new MemberWorld(systemClock)
  const foos = customType('Foo')
  const one = await members.start('m1', { extraTypes: [foos] })
  const foo = (name: string) => ({ apiVersion: 'example.io/v1', kind: 'Foo', metadata: { name, namespace: 'a' } })
  const ok = JSON.stringify({
    type: 'ADDED',
    object: { metadata: { name: 'ok', namespace: 'a', resourceVersion: one.version } },
  })
  one.misbehave({
    on: { resource: 'foos', watch: true },
    times: 1,
    fault: { type: 'body', text: `{"type":"ADDED","object":{"metadata":{}}}\n${ok}\n` },
  })
  await withMembers(members, async (api) => {
    const watch = await api.watch(`${P}/apis/example.io/v1/foos?watch=true`)
    await watch.until(1)
    one.put(foo('later'))
    await watch.until(2)
    assert.deepEqual(
      watch.events.map(({ object }) => object.metadata.name),
      ['ok', 'later'],
    )
    watch.close()
  })
})

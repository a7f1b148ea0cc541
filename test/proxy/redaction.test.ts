/** Of a kind that an operator redacts: what the cache shows, what the members show, and what may be written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactionOf, REDACTED_ANNOTATION } from '../../src/kube/redaction.ts'
import type { MemberRequest } from '../../src/fleet/member.ts'
import type { Loopback } from '../http/loopback.ts'
import { P, PREFIX, S, withApi } from './api-fixture.ts'
import { PODS, TestFleet, type TestObject } from './fleet-fixture.ts'
import { MemberWorld, scriptedClient, served } from './member-fixture.ts'

const CONFIG = { group: '', version: 'v1', resource: 'configmaps' }
const PATH = '/api/v1/namespaces/default/configmaps/c'
const SECRET = 's3cret-value'

const object: TestObject = {
  metadata: {
    name: 'c',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '5',
    labels: { app: 'x' },
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"password":"${SECRET}"}}` },
  },
  data: { password: SECRET, user: 'root' },
}

type Asked = (MemberRequest & { readonly cluster: string })[]

/** A config map in m1, redacted; pods beside it are not. */
async function withConfig(run: (api: Loopback, asked: Asked, fleet: TestFleet) => Promise<void>): Promise<void> {
  const fleet = new TestFleet()
    .register(CONFIG, 'ConfigMap', true, redactionOf(['ConfigMap: data.password'], { group: '', kind: 'ConfigMap' }))
    .register(PODS, 'Pod', true)
  fleet.shard('m1', CONFIG, 'ConfigMap').list([object], 5)
  const members = new MemberWorld()
  const asked: Asked = []
  const full = { kind: 'ConfigMap', apiVersion: 'v1', ...object }
  const client = scriptedClient((request) => {
    asked.push({ ...request, cluster: 'm1' })
    const isList = /configmaps(\?|$)/.test(request.path)
    return {
      body: isList
        ? { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '5' }, items: [object] }
        : full,
    }
  })
  members.engage('m1', client, [served('configmaps', 'ConfigMap'), served('pods', 'Pod')])
  await withApi(fleet, members, (api) => run(api, asked, fleet))
}

test('search/cache shows it without the value, with a marker, in every form; nothing selects or sorts by the value', () =>
  withConfig(async (api) => {
    const list = await api.ask(`${S}/api/v1/configmaps`)
    assert.deepEqual(list.json.items[0].data, { password: 'redacted', user: 'root' })
    assert.match(list.json.items[0].metadata.annotations[REDACTED_ANNOTATION], /^data\.password, /)
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    for (const [query, headers] of [
      ['', {}],
      ['?includeObject=Object', table],
      ['?labelSelector=app%3Dx', {}],
      ['', { accept: 'application/yaml' }],
      ['', { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }],
    ] as const) {
      const { status, text } = await api.ask(`${S}/api/v1/configmaps${query}`, { headers })
      assert.equal(status, 200)
      assert.doesNotMatch(text, new RegExp(SECRET), query)
    }
    const guess = await api.ask(`${S}/api/v1/configmaps?fieldSelector=data.password%3D${SECRET}`)
    assert.notDeepEqual(guess.json.items?.length, 1)
  }))

test('the proxy reads it live, whole, and without the marker', () =>
  withConfig(async (api, asked) => {
    const shown = await api.ask(P + PATH)
    assert.equal(shown.json.data.password, SECRET)
    assert.equal(shown.json.metadata.annotations[REDACTED_ANNOTATION], undefined)
    const list = await api.ask(`${P}/api/v1/configmaps?resourceVersion=0`)
    assert.equal(list.json.items[0].data.password, SECRET)
    assert.deepEqual(
      asked.map(({ method }) => method),
      ['GET', 'GET'],
    )
  }))

test('the proxy reads it as the caller, whatever rights results are shown by', () =>
  withConfig(async (api, asked) => {
    api.user = { name: 'alice', uid: '', groups: ['dev', 'system:authenticated'], extra: {} }
    await api.ask(P + PATH)
    await api.ask(`${P}/api/v1/configmaps`)
    assert.deepEqual(
      asked.map(({ headers }) => [headers?.['impersonate-user'], headers?.['impersonate-group']]),
      [
        ['alice', ['dev']],
        ['alice', ['dev']],
      ],
    )
  }))

test('what is made from the redacted object is refused, however it is sent, and nothing reaches the member', () =>
  withConfig(async (api, asked) => {
    const { items } = (await api.ask(`${S}/api/v1/configmaps`)).json as { items: [TestObject] }
    const [item] = items
    const json = JSON.stringify({ ...item, metadata: { ...item.metadata, resourceVersion: '5' } })
    const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations:\n    ${REDACTED_ANNOTATION}: data.password\ndata:\n  password: redacted\n`
    const pointer = `/metadata/annotations/${REDACTED_ANNOTATION.replace('/', '~1')}`
    const field = (n: number, bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from([(n << 3) | 2, bytes.length]), bytes])
    const entry = Buffer.concat([field(1, Buffer.from(REDACTED_ANNOTATION)), field(2, Buffer.from('data'))])
    const raw = field(1, Buffer.concat([field(1, Buffer.from('c')), field(12, entry)]))
    const protobuf = Buffer.concat([Buffer.from('k8s\0'), field(2, raw)])
    const chosen = `${PREFIX}/proxying/cluster.m1/proxy`
    const sent: [method: string, path: string, type: string, body: string | Buffer][] = [
      ['PUT', PATH, 'application/json', json],
      ['PUT', PATH, 'application/yaml', yaml],
      ['PUT', PATH, 'application/vnd.kubernetes.protobuf', protobuf],
      ['PATCH', `${PATH}?fieldManager=x`, 'application/apply-patch+yaml', yaml],
      ['PATCH', PATH, 'application/merge-patch+json', json],
      ['PATCH', PATH, 'application/strategic-merge-patch+json', json],
      ['PATCH', PATH, 'application/json-patch+json', JSON.stringify([{ op: 'add', path: pointer, value: 'x' }])],
      ['POST', '/api/v1/namespaces/default/configmaps', 'application/json', json],
    ]
    for (const [method, path, type, body] of sent) {
      asked.length = 0
      const answer = await api.ask(chosen + path, { method, headers: { 'content-type': type }, body })
      assert.deepEqual([answer.status, answer.json.reason], [422, 'Invalid'], `${method} ${type}: ${answer.text}`)
      assert.match(answer.json.message, /shown without some of its values .* would erase them/)
      assert.deepEqual(
        asked.filter((request) => request.method !== 'GET'),
        [],
        `${method} ${type}`,
      )
    }
    const whole = (await api.ask(P + PATH)).text
    const put = await api.ask(P + PATH, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: whole })
    assert.equal(put.status, 200, put.text)
  }))

test('another redaction is another content: what was kept before is gone at once', () =>
  withConfig(async (api, _asked, fleet) => {
    fleet.register(CONFIG, 'ConfigMap', true, redactionOf(['ConfigMap: data.*'], { group: '', kind: 'ConfigMap' }))
    assert.deepEqual((await api.ask(`${S}/api/v1/configmaps`)).json.items, [])
    fleet.shard('m1', CONFIG, 'ConfigMap').list([object], 5)
    const { items } = (await api.ask(`${S}/api/v1/configmaps`)).json
    assert.deepEqual(items[0].data, { password: 'redacted', user: 'redacted' })
  }))

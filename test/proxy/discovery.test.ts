import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOnlyDiscovery } from '../../src/proxy/discovery/read-only.ts'
import { readEntries, readFields, textOf, writeField } from '../../src/kube/protobuf.ts'
import type { Loopback } from '../http/loopback.ts'
import { P, PREFIX, withApi } from './api-fixture.ts'
import { TestFleet } from './fleet-fixture.ts'
import type { Reply } from './member-fixture.ts'
import { MemberWorld, scriptedClient, served } from './member-fixture.ts'
import { membersPlugin } from './members-plugin.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const V2BETA1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'

/** Members by name, with what they answer to other than discovery. */
function world(replies: Record<string, (path: string, accept: unknown) => Reply>): {
  fleet: TestFleet
  members: MemberWorld
} {
  const fleet = new TestFleet()
  const members = new MemberWorld(fleet.clock)
  const resources = {
    m1: [
      served('pods', 'Pod', { shortNames: ['po'], categories: ['all'], subresources: ['log', 'status', 'eviction'] }),
      served('nodes', 'Node', { namespaced: false }),
      served('deployments', 'Deployment', { group: 'apps', subresources: ['scale'] }),
    ],
    m2: [
      served('pods', 'Pod', { verbs: ['get', 'delete'], subresources: ['exec'] }),
      served('widgets', 'Widget', { group: 'acme.io', version: 'v1beta1', preferred: false }),
      served('widgets', 'Widget', { group: 'acme.io', version: 'v1' }),
    ],
  }
  for (const name of ['m1', 'm2'] as const) {
    const client = scriptedClient(
      ({ path, headers }) => replies[name]?.(path, headers?.['accept']) ?? { status: 404, body: {} },
    )
    members.engage(name, client, resources[name])
  }
  return { fleet, members }
}

function withMembers(
  replies: Parameters<typeof world>[0],
  run: (api: Loopback) => Promise<void>,
  readOnly = false,
): Promise<void> {
  const { fleet, members } = world(replies)
  const discovery = readOnly ? readOnlyDiscovery(members.discovery) : members.discovery
  return withApi(fleet, members, run, { behind: [membersPlugin(fleet, { ...members, discovery })] })
}

test('E9: plain discovery of all members, merged, under the prefix', async () => {
  await withMembers({}, async (api) => {
    const core = await api.ask(`${P}/api`)
    assert.deepEqual(core.json, { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] })
    const groups = await api.ask(`${P}/apis`)
    assert.deepEqual(
      groups.json.groups.map(({ name, preferredVersion, versions }: Json) => [
        name,
        preferredVersion.version,
        versions.length,
      ]),
      [
        ['apps', 'v1', 1],
        ['acme.io', 'v1', 2],
      ],
    )
    assert.equal((await api.ask(`${P}/apis/acme.io`)).json.versions[1].groupVersion, 'acme.io/v1beta1')
    const { json } = await api.ask(`${P}/api/v1/`)
    assert.equal(json.groupVersion, 'v1')
    const pods = json.resources.find(({ name }: Json) => name === 'pods')
    assert.deepEqual(pods, {
      name: 'pods',
      singularName: 'pod',
      namespaced: true,
      kind: 'Pod',
      verbs: ['get', 'list', 'watch', 'delete'],
      shortNames: ['po'],
      categories: ['all'],
    })
    const eviction = json.resources.find(({ name }: Json) => name === 'pods/eviction')
    assert.deepEqual([eviction.group, eviction.version, eviction.kind], ['policy', 'v1', 'Eviction'])
    assert.ok(json.resources.some(({ name }: Json) => name === 'pods/exec'))
    const scale = (await api.ask(`${P}/apis/apps/v1`)).json.resources[1]
    assert.deepEqual([scale.name, scale.kind, scale.group], ['deployments/scale', 'Scale', 'autoscaling'])
    for (const path of ['/apis/none', '/apis/none/v1', '/api/v2', '/apis/apps/v9', '/nothing', '/apis//v1']) {
      const { status, json: body } = await api.ask(P + path)
      assert.equal(status, 404, path)
      assert.equal(body.kind, 'Status')
    }
  })
})

test('E9: the root names what is served, of all members and of a chosen one', () =>
  withMembers({}, async (api) => {
    const own = ['/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version']
    const acme = ['/apis/acme.io', '/apis/acme.io/v1', '/apis/acme.io/v1beta1']
    const { status, json } = await api.ask(`${P}/`)
    assert.equal(status, 200)
    assert.deepEqual(json, {
      paths: ['/api', '/api/v1', '/apis', ...acme, '/apis/apps', '/apis/apps/v1', ...own],
    })
    assert.deepEqual((await api.ask(P)).json, json, 'without the slash too')
    const chosen = await api.ask(`${PREFIX}/proxying/cluster.m2/proxy/`)
    assert.deepEqual(chosen.json.paths, ['/api', '/api/v1', '/apis', ...acme, ...own])
  }))

test('a read-only server offers nothing that it refuses, of subresources either', () =>
  withMembers(
    {},
    async (api) => {
      for (const path of ['/api/v1', '/apis/apps/v1', '/apis/acme.io/v1']) {
        for (const { name, verbs } of (await api.ask(P + path)).json.resources as Json[]) {
          assert.ok(verbs.length > 0, `${name} is offered for nothing`)
          assert.deepEqual(
            verbs.filter((verb: string) => !['get', 'list', 'watch'].includes(verb)),
            [],
            name,
          )
        }
      }
      const { json } = await api.ask(`${P}/apis`, { headers: { accept: V2 } })
      assert.deepEqual(json.items[0].versions[0].resources[0].subresources[0].verbs, ['get'])
      const core = (await api.ask(`${P}/api/v1`)).json.resources.map(({ name }: Json) => name)
      assert.deepEqual(
        core.filter((name: string) => name.includes('/')),
        ['pods/log', 'pods/status'],
      )
    },
    true,
  ))

test('E9: aggregated discovery in both versions, with an ETag that answers 304', async () => {
  await withMembers({}, async (api) => {
    for (const [accept, version] of [
      [`${V2},${V2BETA1},application/json`, 'v2'],
      [`${V2BETA1},application/json`, 'v2beta1'],
    ] as const) {
      const { json, headers } = await api.ask(`${P}/apis`, { headers: { accept } })
      assert.equal(json.kind, 'APIGroupDiscoveryList')
      assert.equal(json.apiVersion, `apidiscovery.k8s.io/${version}`)
      assert.equal(
        headers['content-type'],
        `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
      )
      assert.deepEqual(
        json.items.map(({ metadata }: Json) => metadata.name),
        ['apps', 'acme.io'],
      )
      assert.deepEqual(
        json.items[1].versions.map((v: Json) => [v.version, v.freshness]),
        [
          ['v1', 'Current'],
          ['v1beta1', 'Current'],
        ],
      )
      const again = await api.ask(`${P}/apis`, { headers: { accept, 'if-none-match': headers.etag ?? '' } })
      assert.equal(again.status, 304)
      assert.equal(again.raw.length, 0)
    }
    const { json } = await api.ask(`${P}/api`, { headers: { accept: V2 } })
    const pods = json.items[0].versions[0].resources[0]
    assert.equal(json.items[0].metadata.name, '')
    assert.deepEqual(pods.responseKind, { group: '', version: 'v1', kind: 'Pod' })
    assert.equal(pods.scope, 'Namespaced')
    assert.deepEqual(
      pods.subresources.map(({ subresource }: Json) => subresource),
      ['log', 'status', 'eviction', 'exec'],
    )
    const plain = await api.ask(`${P}/apis`, { headers: { accept: 'application/yaml' } })
    assert.match(plain.text, /^apiVersion: v1\ngroups:/)
    assert.equal(
      (await api.ask(`${P}/apis`, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })).status,
      406,
    )
  })
})

test('a chosen member shows its own discovery alone', async () => {
  await withMembers({}, async (api) => {
    const { json } = await api.ask(`${PREFIX}/proxying/cluster.m1/proxy/apis`)
    assert.deepEqual(
      json.groups.map(({ name }: Json) => name),
      ['apps'],
    )
  })
})

test('E9: version, health and OpenAPI come from whichever member answers, and no redirect loses the prefix', async () => {
  const openapi = (paths: Json) => ({ body: { paths } })
  const asked: string[] = []
  const m1 = (path: string): Reply => {
    asked.push(`m1 ${path}`)
    if (path === '/version') return { status: 503, body: {} }
    if (path === '/openapi/v3') return openapi({ 'api/v1': { serverRelativeURL: '/openapi/v3/api/v1?hash=A' } })
    if (path === '/openapi/v3/apis/apps/v1')
      return { status: 301, body: '', headers: { location: '/openapi/v3/other' } }
    return { body: { from: 'm1', path } }
  }
  const m2 = (path: string): Reply => {
    asked.push(`m2 ${path}`)
    if (path === '/version') return { body: { gitVersion: 'v1.36.3' } }
    if (path === '/openapi/v3') {
      const entry = (hash: string) => ({ serverRelativeURL: `/openapi/v3/x?hash=${hash}` })
      return openapi({ 'api/v1': entry('B'), 'apis/acme.io/v1': entry('C') })
    }
    return { body: { from: 'm2', path } }
  }
  await withMembers({ m1, m2 }, async (api) => {
    assert.equal((await api.ask(`${P}/version`)).json.gitVersion, 'v1.36.3')
    const index = await api.ask(`${P}/openapi/v3`)
    assert.deepEqual(index.json.paths, {
      'api/v1': { serverRelativeURL: '/openapi/v3/api/v1?hash=A' },
      'apis/acme.io/v1': { serverRelativeURL: '/openapi/v3/x?hash=C' },
    })
    asked.length = 0
    const acme = await api.ask(`${P}/openapi/v3/apis/acme.io/v1?hash=C&timeout=3s`)
    assert.deepEqual(asked, ['m2 /openapi/v3/apis/acme.io/v1?timeout=3s'], 'only who serves it, without the hash')
    assert.equal(acme.json.from, 'm2')
    const moved = await api.ask(`${P}/openapi/v3/apis/apps/v1`)
    assert.equal(moved.status, 301)
    assert.equal(moved.headers.location, `${P}/openapi/v3/other`)
    assert.equal((await api.ask(`${P}/healthz`)).json.from, 'm1')
    assert.equal((await api.ask(`${PREFIX}/proxying/cluster.m2/proxy/healthz`)).json.from, 'm2')
    assert.equal((await api.ask(`${P}/version`, { method: 'HEAD' })).status, 200)
    assert.equal((await api.ask(`${P}/version`, { method: 'POST' })).status, 404)
  })
})

test('E9: the version of many clusters is the lowest, a broken answer counts for nothing', async () => {
  const version = (gitVersion: unknown) => (path: string) =>
    path === '/version' ? { body: { gitVersion, platform: 'linux' } } : { status: 404, body: {} }
  await withMembers({ m1: version('v1.36.3'), m2: version('v1.9.11-eks-1') }, async (api) => {
    assert.deepEqual((await api.ask(`${P}/version`)).json, { gitVersion: 'v1.9.11-eks-1', platform: 'linux' })
  })
  await withMembers({ m1: version(3), m2: version('v1.36.3') }, async (api) => {
    assert.equal((await api.ask(`${P}/version`)).json.gitVersion, 'v1.36.3')
  })
})

test('E9: OpenAPI that no member has as a whole is united, in JSON and in protobuf, the first cluster counts', async () => {
  const v2 = (name: string, own: string): Reply => ({
    body: {
      swagger: '2.0',
      info: { title: name },
      paths: { '/api/': name, [own]: name },
      definitions: { Pod: name, [own]: name },
    },
  })
  const entry = (name: string, value: string) =>
    Buffer.concat([writeField(1, Buffer.from(name)), writeField(2, Buffer.from(value))])
  const protobuf = (name: string, own: string): Reply => ({
    headers: { 'content-type': 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
    body: Buffer.concat([
      writeField(1, Buffer.from('2.0')),
      writeField(8, Buffer.concat([writeField(2, entry('/api/', name)), writeField(2, entry(own, name))])),
      writeField(9, Buffer.concat([writeField(1, entry('Pod', name)), writeField(1, entry(own, name))])),
    ]).toString('latin1'),
  })
  const answers = (name: string, own: string) => (path: string, accept: unknown) => {
    if (path !== '/openapi/v2') return { status: 404, body: {} }
    return String(accept).includes('protobuf') ? protobuf(name, own) : v2(name, own)
  }
  await withMembers({ m1: answers('m1', 'Node'), m2: answers('m2', 'Widget') }, async (api) => {
    const { json, headers } = await api.ask(`${P}/openapi/v2`)
    assert.deepEqual(json, {
      swagger: '2.0',
      info: { title: 'm1' },
      paths: { '/api/': 'm1', Node: 'm1', Widget: 'm2' },
      definitions: { Pod: 'm1', Node: 'm1', Widget: 'm2' },
    })
    const again = await api.ask(`${P}/openapi/v2`, { headers: { 'if-none-match': String(headers.etag) } })
    assert.equal(again.status, 304)
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
    const { text } = await api.ask(`${P}/openapi/v2`, { headers: { accept } })
    const document = Buffer.from(text)
    const names = (field: number, inner: number) =>
      (readEntries(document, field) ?? []).flatMap((map) =>
        (readEntries(map, inner) ?? []).map((bytes) => {
          const fields = readFields(bytes) ?? new Map<number, Buffer[]>()
          return `${textOf(fields, 1)}=${textOf(fields, 2)}`
        }),
      )
    assert.deepEqual(names(8, 2), ['/api/=m1', 'Node=m1', 'Widget=m2'])
    assert.deepEqual(names(9, 1), ['Pod=m1', 'Node=m1', 'Widget=m2'])
    assert.equal((await api.ask(`${PREFIX}/proxying/cluster.m2/proxy/openapi/v2`)).json.info.title, 'm2')
  })
})

test('E9: a group and version of which members have different kinds is documented with all of them', async () => {
  const document = (name: string): Reply => ({
    body: {
      openapi: '3.0.0',
      info: name,
      paths: { [name]: {} },
      components: { schemas: { [name]: {}, Shared: name } },
    },
  })
  const { fleet, members } = world({})
  const client = (name: string) =>
    scriptedClient(({ path }) => (path === '/openapi/v3/apis/x.io/v1' ? document(name) : { status: 404, body: {} }))
  members.engage('x1', client('x1'), [served('as', 'A', { group: 'x.io' })])
  members.engage('x2', client('x2'), [served('bs', 'B', { group: 'x.io' })])
  const behind = [membersPlugin(fleet, members)]
  await withApi(
    fleet,
    members,
    async (api) => {
      const { json } = await api.ask(`${P}/openapi/v3/apis/x.io/v1`)
      assert.deepEqual(json.paths, { x1: {}, x2: {} })
      assert.deepEqual(json.components, { schemas: { x1: {}, Shared: 'x1', x2: {} } })
    },
    { behind },
  )
})

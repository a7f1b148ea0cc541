import assert from 'node:assert/strict'
import { systemClock } from '../../src/util/clock.ts'
import { createWriteServices } from '../../src/proxy/write/write.ts'
import { test } from 'node:test'
import { MemberError } from '../../src/fleet/member-error.ts'
import type { MemberRequest } from '../../src/fleet/member.ts'
import { impersonationHeaders } from '../../src/proxy/impersonation.ts'
import { createKarmadaPlugin } from '../../src/proxy/plugins/karmada.ts'
import { WatchGuards } from '../../src/proxy/watch/watch-guards.ts'
import { EVERYTHING, FakeRights, NOTHING, scope } from '../support/fake-rights.ts'
import type { Loopback } from '../http/loopback.ts'
import { P, PREFIX, withApi } from './api-fixture.ts'
import type { TestFleet } from './fleet-fixture.ts'
import { pod, podFleet } from './fleet-fixture.ts'
import type { Reply } from './member-fixture.ts'
import { MemberWorld, scriptedClient, served } from './member-fixture.ts'
import { facts } from '../support/cluster-facts.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const WIDGETS = { group: 'acme.io', version: 'v1', resource: 'widgets' }

/** A control plane that answers `reply` and remembers what it was asked. */
function withHost(
  reply: (request: MemberRequest) => Reply,
  run: (api: Loopback, asked: MemberRequest[], members: MemberWorld) => Promise<void>,
  fleet: TestFleet = podFleet({ m1: { objects: [pod('a', 'p')], version: 1 } }),
  rights?: FakeRights,
): Promise<void> {
  const members = new MemberWorld(fleet.clock)
  const widgets = served('widgets', 'Widget', WIDGETS)
  const gadgets = served('gadgets', 'Gadget', { group: 'acme.io' })
  members.engage(
    'm1',
    scriptedClient(() => ({ body: { gitVersion: 'm1' } })),
    [served('pods', 'Pod'), widgets, gadgets],
  )
  const asked: MemberRequest[] = []
  const host = scriptedClient((request) => {
    asked.push(request)
    return reply(request)
  })
  const { cache, columns, clock } = fleet
  const { discovery } = members
  const onFault = assert.ifError
  const guarded = rights && { rights, guards: new WatchGuards({ rights, cache, clock, onFault }) }
  const sources = { discovery, fleet: members.fleet, rights: guarded }
  const plugin = createKarmadaPlugin({
    ...createWriteServices({ clock: systemClock }),
    host,
    cache,
    columns,
    clock,
    random: () => 0,
    ...sources,
  })
  return withApi(fleet, members, (api) => run(api, asked, members), { behind: [plugin] })
}

test('F2: what is not registered is asked of the control plane as the caller, whose incoming headers are not relayed', async () => {
  await withHost(
    () => ({ status: 403, body: { kind: 'Status', code: 403, reason: 'Forbidden', message: 'bob may not' } }),
    async (api, asked) => {
      api.user = {
        name: 'bob:ö',
        uid: 'u-1',
        groups: ['dev', '開発', 'system:authenticated'],
        extra: { 'Acme.io/Team%': ['x'], 'authentication.kubernetes.io/credential-id': ['secret'] },
      }
      const headers = {
        'impersonate-user': 'root',
        'x-remote-user': 'root',
        authorization: 'Bearer t',
        cookie: 'c=1',
        accept: 'application/json',
      }
      const { status, json } = await api.ask(`${P}/api/v1/secrets?limit=1&x=%2F`, { headers })
      assert.equal(status, 403)
      assert.equal(json.message, 'bob may not')
      assert.equal(asked.length, 1)
      assert.equal(asked[0]?.path, '/api/v1/secrets?limit=1&x=%2F')
      assert.deepEqual(asked[0]?.headers, {
        accept: 'application/json',
        'impersonate-user': Buffer.from('bob:ö').toString('latin1'),
        'impersonate-group': ['dev', Buffer.from('開発').toString('latin1')],
        'impersonate-uid': 'u-1',
        'impersonate-extra-acme.io%2Fteam%25': ['x'],
      })
    },
  )
})

test('F2: a caller without a name, or with one that cannot be sent, is refused, never served as ourselves', () => {
  const user = { name: '', uid: '', groups: [], extra: {} }
  assert.throws(() => impersonationHeaders(user), { code: 'forbidden' })
  assert.throws(() => impersonationHeaders({ ...user, name: 'a\r\nImpersonate-User: b' }), { code: 'forbidden' })
})

test('D5: create of an unregistered kind, and every other write, goes to the control plane as the caller', async () => {
  await withHost(
    () => ({ status: 201, body: { kind: 'Secret' } }),
    async (api, asked) => {
      const body = '{"metadata": {"name": "s", "resourceVersion": "e30"}}'
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        assert.equal((await api.ask(`${P}/api/v1/namespaces/a/secrets?a=1`, { method, body })).status, 201)
      }
      assert.deepEqual(
        asked.map(({ method, path, headers, body: sent }) => [
          `${method} ${path}`,
          headers?.['impersonate-user'],
          String(sent),
        ]),
        ['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [
          `${method} /api/v1/namespaces/a/secrets?a=1`,
          'admin',
          body,
        ]),
      )
    },
  )
})

test('registered kinds are never asked of the control plane, a dead one is 503', async () => {
  await withHost(
    () => {
      throw new MemberError('refused', 'connection refused')
    },
    async (api, asked) => {
      assert.equal((await api.ask(`${P}/api/v1/pods`)).json.items.length, 1)
      assert.equal(asked.length, 0)
      const { status, headers } = await api.ask(`${P}/api/v1/secrets`)
      assert.equal(status, 503)
      assert.equal(headers['retry-after'], '1')
    },
  )
})

test('answers are relayed with their type, tag and warnings; watches as they come; HEAD without a body', async () => {
  await withHost(
    ({ path, headers }) => {
      if (headers?.['if-none-match'] === '"1"') return { status: 304, body: '', headers: { etag: '"1"' } }
      if (path.includes('watch=true')) return { body: '{"type":"ADDED","object":{"metadata":{"name":"s"}}}\n' }
      return {
        body: { path },
        headers: { etag: '"1"', warning: '299 - "old"', 'x-internal': 'no', 'content-type': 'application/x' },
      }
    },
    async (api, asked) => {
      const { json, headers } = await api.ask(`${P}/openapi/v2`)
      assert.equal(json.path, '/openapi/v2')
      assert.equal(headers['content-type'], 'application/x')
      assert.equal(headers['etag'], '"1"')
      assert.equal(headers['warning'], '299 - "old"')
      assert.equal(headers['x-internal'], undefined)
      assert.equal((await api.ask(`${P}/openapi/v2`, { headers: { 'if-none-match': '"1"' } })).status, 304)
      const watch = await api.watch(`${P}/api/v1/secrets?watch=true`)
      await watch.ended
      assert.equal(watch.events[0]?.type, 'ADDED')
      assert.equal(asked.at(-1)?.idleMs, 3_615_000, 'a quiet watch is not a broken one before a server would end it')
      await (
        await api.watch(`${P}/api/v1/secrets?watch=true&timeoutSeconds=7200`)
      ).ended
      assert.equal(asked.at(-1)?.idleMs, 7_215_000)
      const head = await api.ask(`${P}/api/v1/secrets`, { method: 'HEAD' })
      assert.equal(asked.at(-1)?.method, 'HEAD')
      assert.equal(head.text, '')
    },
  )
})

test('registered kinds that only members serve are merged into the control plane’s discovery', async () => {
  const groupEntry = {
    name: 'apps',
    versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
    preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
  }
  const host = ({ path, headers }: MemberRequest): Reply => {
    const aggregated = String(headers?.['accept']).includes('as=APIGroupDiscoveryList')
    switch (path) {
      case '/api':
        return {
          body: { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0' }] },
        }
      case '/apis':
        return aggregated
          ? {
              body: {
                kind: 'APIGroupDiscoveryList',
                items: [
                  {
                    metadata: { name: 'apps' },
                    versions: [{ version: 'v1', resources: [{ resource: 'deployments', verbs: ['create'] }] }],
                  },
                ],
              },
            }
          : { body: { kind: 'APIGroupList', apiVersion: 'v1', groups: [groupEntry] } }
      case '/api/v1':
        return {
          body: { kind: 'APIResourceList', groupVersion: 'v1', resources: [{ name: 'pods', verbs: ['create'] }] },
        }
      default:
        return { status: 404, body: { kind: 'Status', code: 404 } }
    }
  }
  const fleet = podFleet({ m1: { objects: [], version: 1 } }).register(WIDGETS, 'Widget', true)
  await withHost(
    host,
    async (api, asked) => {
      assert.equal((await api.ask(`${P}/api`)).json.serverAddressByClientCIDRs.length, 1)
      assert.deepEqual(
        (await api.ask(`${P}/apis`)).json.groups.map(({ name }: Json) => name),
        ['apps', 'acme.io'],
      )
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
      const { json } = await api.ask(`${P}/apis`, { headers: { accept } })
      assert.deepEqual(
        json.items.map(({ metadata }: Json) => metadata.name),
        ['apps', 'acme.io'],
      )
      const names = json.items[1].versions[0].resources.map(({ resource }: Json) => resource)
      assert.deepEqual(names, ['widgets'], 'gadgets are not registered: nobody would answer for them')
      assert.deepEqual((await api.ask(`${P}/api/v1`)).json.resources, [{ name: 'pods', verbs: ['create'] }])
      assert.equal((await api.ask(`${P}/apis/acme.io/v1`)).json.resources[0].name, 'widgets')
      assert.equal((await api.ask(`${P}/apis/acme.io`)).json.name, 'acme.io')
      assert.equal((await api.ask(`${P}/apis/none`)).status, 404)
      assert.ok(asked.every(({ headers }) => headers?.['impersonate-user'] === 'admin'))
    },
    fleet,
  )
})

test('a chosen member: its discovery and version, its registered kinds, and the others as the caller', async () => {
  await withHost(
    () => ({ body: {} }),
    async (api, asked) => {
      const m1 = `${PREFIX}/proxying/cluster.m1/proxy`
      assert.deepEqual(
        (await api.ask(`${m1}/apis`)).json.groups.map(({ name }: Json) => name),
        ['acme.io'],
      )
      assert.equal((await api.ask(`${m1}/version`)).json.gitVersion, 'm1')
      assert.equal((await api.ask(`${m1}/api/v1/pods`)).json.items.length, 1)
      assert.equal((await api.ask(`${m1}/api/v1/secrets`)).status, 404, 'it serves none')
      assert.equal((await api.ask(`${m1}/apis/acme.io/v1/gadgets`, { method: 'POST', body: '{}' })).status, 200)
      assert.equal(asked.length, 0, 'the control plane is another cluster')
      // The audit log names it wherever it was asked, and nowhere else.
      for (const [path, named] of [
        [`${m1}/version`, true],
        [`${m1}/metrics`, true],
        [`${m1}/apis/acme.io/v1/gadgets`, true],
        [`${m1}/api/v1/pods?consistency=strong`, true],
        [`${m1}/api/v1/pods`, false],
        [`${m1}/apis`, false],
        [`${P}/metrics`, false],
      ] as const) {
        api.audited.length = 0
        await api.ask(path)
        assert.deepEqual(api.audited, named ? [['proxy.fleetsearch.dev/cluster', 'm1']] : [], path)
      }
    },
  )
})

test('E9: a self review is asked of the control plane as the caller', async () => {
  await withHost(
    () => ({ status: 201, body: { kind: 'SelfSubjectAccessReview', status: { allowed: true } } }),
    async (api, asked) => {
      api.user = { name: 'bob', uid: '', groups: ['dev'], extra: {} }
      const body = '{"spec":{"resourceAttributes":{"verb":"list","resource":"pods"}}}'
      const headers = { 'content-type': 'application/json', 'impersonate-user': 'root' }
      const path = `${P}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`
      const { status, json } = await api.ask(path, { method: 'POST', headers, body })
      assert.equal(status, 201)
      assert.equal(json.status.allowed, true)
      assert.equal(asked[0]?.method, 'POST')
      assert.equal(String(asked[0]?.body), body)
      assert.equal(asked[0]?.headers?.['impersonate-user'], 'bob')
      assert.equal(asked.length, 1)
    },
  )
})

async function review(api: Loopback, kind: string, spec: object): Promise<Json> {
  const path = `${P}/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`
  const body = JSON.stringify({ kind, apiVersion: 'authorization.k8s.io/v1', spec })
  const { status, json } = await api.ask(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  assert.equal(status, 201)
  return json.status
}

test('E9: can-i of a registered kind is what its members allow, of anything else what the control plane does', async () => {
  const fleet = podFleet({ m1: { objects: [], version: 1 }, m2: { objects: [], version: 1 } })
  const rights = new FakeRights({ m1: scope(['ns1']), m2: { undetermined: 'no RBAC' } })
  await withHost(
    () => ({ status: 201, body: { status: { allowed: true, reason: 'the host' } } }),
    async (api, asked) => {
      const canI = (attributes: object): Promise<Json> =>
        review(api, 'SelfSubjectAccessReview', { resourceAttributes: attributes })
      assert.deepEqual(await canI({ verb: 'delete', resource: 'pods', namespace: 'ns1' }), {
        allowed: true,
        reason: 'allowed in m1, not in m2',
        evaluationError: 'cannot be told for m2',
      })
      assert.equal((await canI({ verb: 'list', resource: 'pods' })).allowed, false)
      assert.equal(
        (await canI({ verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'ns2' })).allowed,
        false,
      )
      assert.equal(rights.questions.at(-1)?.subresource, 'exec')
      assert.equal(asked.length, 0, 'the control plane has no say in them')
      assert.equal((await canI({ verb: 'list', resource: 'secrets' })).reason, 'the host')
      assert.equal((await canI({ verb: '*', resource: '*', group: '*' })).reason, 'the host')
      assert.equal(asked.length, 2)
    },
    fleet,
    rights,
  )
})

test('E9: the rules of can-i --list are the members’ for registered kinds and the control plane’s for the rest', async () => {
  const fleet = podFleet({ m1: { objects: [], version: 1 }, m2: { objects: [], version: 1 } })
  const host = [
    { verbs: ['get', 'delete'], apiGroups: [''], resources: ['pods', 'pods/log', 'secrets'] },
    { verbs: ['create'], apiGroups: [''], resources: ['pods'] },
    { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews'] },
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  ]
  await withHost(
    () => ({ status: 201, body: { status: { resourceRules: host, nonResourceRules: [], incomplete: false } } }),
    async (api) => {
      const { resourceRules } = await review(api, 'SelfSubjectRulesReview', { namespace: 'ns1' })
      assert.deepEqual(resourceRules, [
        { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] },
        { verbs: ['get', 'delete'], apiGroups: [''], resources: ['secrets'] },
        host[2],
        host[3],
      ])
    },
    fleet,
    new FakeRights({ m1: NOTHING, m2: EVERYTHING }),
  )
})

test('E9: OpenAPI of registered kinds that only members have joins the control plane’s', async () => {
  const fleet = podFleet({ m1: { objects: [], version: 1 } }).register(WIDGETS, 'Widget', true)
  fleet.shard('m1', WIDGETS, 'Widget').list([], 1)
  const hosts = { 'api/v1': { serverRelativeURL: '/openapi/v3/api/v1?hash=H' } }
  await withHost(
    ({ path }) => (path === '/openapi/v3' ? { body: { paths: hosts } } : { status: 404, body: { code: 404 } }),
    async (api, asked, members) => {
      const client = scriptedClient(({ path }) => {
        const entry = (name: string) => ({ serverRelativeURL: `/openapi/v3/${name}?hash=M` })
        const paths = {
          'api/v1': entry('api/v1'),
          'apis/acme.io/v1': entry('apis/acme.io/v1'),
          'apis/b/v1': entry('b'),
        }
        return path === '/openapi/v3' ? { body: { paths } } : { body: { info: path } }
      })
      members.fleet.engage(facts('m1'), client)
      const index = await api.ask(`${P}/openapi/v3`)
      assert.deepEqual(index.json.paths, {
        'apis/acme.io/v1': { serverRelativeURL: '/openapi/v3/apis/acme.io/v1?hash=M' },
        ...hosts,
      })
      assert.equal((await api.ask(`${P}/openapi/v3/apis/acme.io/v1?hash=M`)).json.info, '/openapi/v3/apis/acme.io/v1')
      assert.equal((await api.ask(`${P}/openapi/v3/apis/b/v1?hash=M`)).status, 404)
      assert.equal(asked.length, 3)
    },
    fleet,
  )
})

/** What of a request reaches a cluster, and what of its answer the caller, byte for byte, over real sockets. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { CallerAccess } from '../../src/fleet/member.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import { createForwarder } from '../../src/proxy/forward/forward.ts'
import type { Destination } from '../../src/proxy/forward/destination.ts'
import { createProxyHandler } from '../../src/proxy/framework.ts'
import { systemClock } from '../../src/util/clock.ts'
import { serveHttp } from '../fleet/test-server.ts'
import { Loopback } from '../http/loopback.ts'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

interface World {
  readonly api: Loopback
  readonly seen: readonly Seen[]
}

type Answer = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void

async function withMember(
  answer: Answer,
  run: (world: World) => Promise<void>,
  identity: CallerAccess['identity'] = 'impersonated',
): Promise<void> {
  const seen: Seen[] = []
  await using server = await serveHttp((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('latin1')
      seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
      answer(request, response, body)
    })
  })
  const client = createMemberClient({
    server: server.url,
    credentials: { current: () => Promise.resolve({ headers: { authorization: 'Bearer impersonator' }, tls: {} }) },
    clock: systemClock,
    qps: 0,
  })
  const left = new AbortController()
  const destination: Destination = {
    name: 'cluster m1',
    identity,
    client,
    takesWholeIdentity: false,
    signal: left.signal,
  }
  const forwarder = createForwarder({ clock: systemClock })
  const plugin = {
    name: 'all',
    order: 1,
    supports: () => true,
    connect: (request: Parameters<typeof forwarder.forward>[0]) => forwarder.forward(request, destination),
  }
  const api = await Loopback.start(createProxyHandler({ plugins: [plugin], fleet: { member: () => undefined } }))
  try {
    await run({ api, seen })
    const faults = api.faults.filter((fault) => (fault as Error).message !== 'the client is gone')
    assert.deepEqual(faults, [])
  } finally {
    await api.close()
    await client.close()
  }
}

const ok: Answer = (_request, response) => response.end('{}')

test('path, query, body and media type arrive byte for byte; who called says nothing by headers', () =>
  withMember(ok, async ({ api, seen }) => {
    const query = '?fieldManager=a%20b&x=1&x=2&empty=&pretty&q=%E2%82%AC+%2B'
    const body = '{"a":9007199254740993,\n "__proto__": {"b":"1e3"} , "a":2}'
    await api.ask(`/karmada/proxy/api/v1/namespaces/a%2Db/pods/p${query}`, {
      method: 'PATCH',
      headers: {
        'content-type': 'application/json-patch+json',
        authorization: 'Bearer of-the-caller',
        cookie: 'session=1',
        'impersonate-user': 'root',
        'x-remote-user': 'root',
        'x-my-user': 'root',
        'fleetsearch-cluster': '',
        'kubectl-command': 'kubectl label',
        connection: 'keep-alive, x-hop',
        'x-hop': '1',
      },
      body,
    })
    const [request] = seen
    assert.equal(request?.method, 'PATCH')
    assert.equal(request.url, `/api/v1/namespaces/a%2Db/pods/p${query}`)
    assert.equal(request.body, body)
    const { headers } = request
    assert.equal(headers['content-type'], 'application/json-patch+json')
    assert.equal(headers['kubectl-command'], 'kubectl label')
    assert.equal(headers.authorization, 'Bearer impersonator')
    assert.equal(headers['impersonate-user'], 'admin')
    assert.equal(headers['impersonate-group'], undefined, 'system:authenticated is added by the member')
    for (const name of ['cookie', 'x-remote-user', 'x-my-user', 'fleetsearch-cluster', 'x-hop']) {
      assert.equal(headers[name], undefined, name)
    }
  }))

test('a chunked body is streamed, a GET has none', () =>
  withMember(ok, async ({ api, seen }) => {
    await api.ask('/k/proxy/api/v1/pods')
    await new Promise<void>((resolve, reject) => {
      const request = http.request(`${api.url}/k/proxy/api/v1/pods`, { method: 'POST' }, (response) => {
        response.resume().once('end', resolve)
      })
      request.once('error', reject)
      request.write('first,')
      request.end('second')
    })
    assert.deepEqual(
      seen.map(({ body, headers }) => [
        body,
        (headers['transfer-encoding'] ?? headers['content-length']) === undefined ? 'none' : 'framed',
      ]),
      [
        ['', 'none'],
        ['first,second', 'framed'],
      ],
    )
  }))

test('the answer comes back with its headers, and redirects keep the prefix', () =>
  withMember(
    (_request, response) => {
      response.setHeader('warning', ['299 - "one"', '299 - "two"'])
      response.writeHead(307, {
        location: '/api/v1/namespaces/a/services/s/proxy/',
        'x-kubernetes-pf-flowschema-uid': 'u',
        'retry-after': '3',
        'content-type': 'text/plain',
      })
      response.end('there')
    },
    async ({ api }) => {
      const answer = await api.ask('/k/proxy/api/v1/pods')
      assert.equal(answer.status, 307)
      assert.equal(answer.text, 'there')
      const prefix = '/apis/search.karmada.io/v1alpha1/proxying/k/proxy'
      assert.equal(answer.headers.location, `${prefix}/api/v1/namespaces/a/services/s/proxy/`)
      assert.equal(answer.headers['retry-after'], '3')
      assert.equal(answer.headers['x-kubernetes-pf-flowschema-uid'], 'u')
      assert.deepEqual(
        answer.rawHeaders.filter(([name]) => name === 'warning').map(([, value]) => value),
        ['299 - "one"', '299 - "two"'],
      )
    },
  ))

const bob: UserInfo = {
  name: 'team:bøb',
  uid: 'u-1',
  groups: ['équipe', 'system:authenticated'],
  extra: { 'example.org/scope': ['a', 'b'], 'authentication.kubernetes.io/credential-id': ['X509=1'] },
}

test('F2: uid and extras go only where the impersonator is shown to hold the right to vouch for them', async () => {
  for (const held of ['uids', 'userextras', 'none']) {
    const answer: Answer = (request, response, body) => {
      if (request.url !== '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews') return response.end('{}')
      const { resource } = JSON.parse(body).spec.resourceAttributes as { resource: string }
      response.writeHead(201).end(JSON.stringify({ status: { allowed: resource === held } }))
    }
    await withMember(answer, async ({ api, seen }) => {
      api.user = bob
      await api.ask('/k/proxy/api/v1/pods')
      await api.ask('/k/proxy/api/v1/pods')
      const [first, second] = seen.filter(({ method }) => method === 'GET')
      for (const { headers } of [first!, second!]) {
        const text = (name: string): string => Buffer.from(String(headers[name]), 'latin1').toString('utf8')
        assert.equal(text('impersonate-user'), 'team:bøb')
        assert.equal(text('impersonate-group'), 'équipe')
        assert.equal(headers['impersonate-uid'], held === 'uids' ? 'u-1' : undefined)
        assert.equal(headers['impersonate-extra-example.org%2fscope'], held === 'userextras' ? 'a, b' : undefined)
        assert.ok(!Object.keys(headers).some((name) => name.includes('credential-id')))
      }
      assert.equal(seen.filter(({ method }) => method === 'POST').length, 3, 'asked once for each')
    })
  }
})

test('F2: a service account goes without the groups that its cluster adds; other groups stay', () =>
  withMember(ok, async ({ api, seen }) => {
    const name = 'system:serviceaccount:ns1:robot'
    const groups = ['system:serviceaccounts', 'system:serviceaccounts:ns1', 'system:authenticated']
    api.user = { name, uid: '', groups, extra: {} }
    await api.ask('/k/proxy/api/v1/pods')
    api.user = { name, uid: '', groups: [...groups, 'robots'], extra: {} }
    await api.ask('/k/proxy/api/v1/pods')
    assert.equal(seen[0]?.headers['impersonate-group'], undefined)
    assert.match(String(seen[1]?.headers['impersonate-group']), /robots/)
  }))

test('a kubeconfig’s own user is not impersonated', () =>
  withMember(
    ok,
    async ({ api, seen }) => {
      await api.ask('/k/proxy/api/v1/pods')
      assert.equal(seen[0]?.headers['impersonate-user'], undefined)
    },
    'own',
  ))

test('401 is about the credentials of the service: 502, never the caller’s', () =>
  withMember(
    (_request, response) => response.writeHead(401).end('{}'),
    async ({ api }) => {
      const answer = await api.ask('/k/proxy/api/v1/pods')
      assert.equal(answer.status, 502)
      assert.match(answer.json.message, /cluster m1 does not accept the credentials/)
    },
  ))

test('nothing is sent twice: a connection that breaks is 502, and says that the write may have happened', () =>
  withMember(
    (request) => request.socket.destroy(),
    async ({ api, seen }) => {
      const answer = await api.ask('/k/proxy/api/v1/pods', { method: 'POST', body: '{}' })
      assert.equal(answer.status, 502)
      assert.match(answer.json.message, /may have been carried out/)
      assert.equal(seen.length, 1)
    },
  ))

test('a client that goes away aborts the request to the cluster', async () => {
  const aborted = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const answer: Answer = (_request, response) => {
    response.once('close', () => aborted.resolve())
    begun.resolve()
  }
  await withMember(answer, async ({ api }) => {
    const request = http.request(`${api.url}/k/proxy/api/v1/pods`)
    request.once('error', () => undefined)
    request.end()
    await begun.promise
    request.destroy()
    await aborted.promise
  })
})

test('an answer is read no faster than its client takes it', async () => {
  let written = 0
  const stalled = Promise.withResolvers<void>()
  const answer: Answer = (_request, response) => {
    const chunk = Buffer.alloc(256 * 1024)
    const more = (): void => {
      while (written < 512 * 1024 * 1024) {
        written += chunk.length
        if (!response.write(chunk)) {
          response.once('drain', more)
          return stalled.resolve()
        }
      }
    }
    more()
  }
  await withMember(answer, async ({ api }) => {
    const request = http.request(`${api.url}/k/proxy/api/v1/namespaces/a/pods/p/proxy/big`)
    request.once('error', () => undefined)
    const response = await new Promise<http.IncomingMessage>((resolve) => request.once('response', resolve).end())
    await stalled.promise
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(written < 64 * 1024 * 1024, `${written} bytes are under way`)
    response.destroy()
  })
})

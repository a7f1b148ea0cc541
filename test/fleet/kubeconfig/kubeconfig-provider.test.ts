import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { Fleet } from '../../../src/fleet/fleet.ts'
import { inClusterClient, kubeconfigClient } from '../../../src/fleet/kubeconfig/context-client.ts'
import { KubeconfigProvider } from '../../../src/fleet/kubeconfig/kubeconfig-provider.ts'
import type { ClusterName } from '../../../src/kube/names.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { createAuthority } from '../../support/certificates.ts'
import { FakeClock, until } from '../../support/fake-clock.ts'
import { serveHttp, serveHttps } from '../test-server.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-'))
after(() => {
  rmSync(folder, { recursive: true })
})
const signal = AbortSignal.any([])

interface Entry {
  readonly name: string
  readonly server: string
  readonly user?: string
  readonly token?: string
}

function kubeconfig(entries: readonly Entry[], current = ''): string {
  return JSON.stringify({
    'current-context': current,
    clusters: entries.map(({ name, server }) => ({ name, cluster: { server } })),
    users: entries.map(({ name, user = name, token }) => ({ name: user, user: { token } })),
    contexts: entries.map(({ name, user = name }) => ({ name, context: { cluster: name, user } })),
  })
}

function start(content: string, contexts: readonly string[] = [], logger = createLogger('silent')) {
  const file = path.join(folder, `config-${Math.random().toString(36).slice(2)}`)
  writeFileSync(file, content)
  const clock = new FakeClock()
  const fleet = new Fleet((error) => assert.fail(error as Error))
  const changes: string[] = []
  fleet.onChange(({ type, member }) => changes.push(`${type} ${member.facts.name}`))
  const stop = new AbortController()
  const provider = new KubeconfigProvider({
    files: [file],
    contexts,
    fleet,
    clock,
    environment: {},
    logger,
  })
  const running = provider.run(stop.signal)
  return {
    clock,
    fleet,
    changes,
    running,
    rewrite: (next: string) => {
      writeFileSync(file, next)
    },
    /** Lets the provider look at the file again. */
    async reread(): Promise<void> {
      const before = clock.pending
      await until(() => clock.pending > 0 && clock.pending >= before, 'the next look at the file')
      await clock.advance(5_000)
      await until(() => clock.pending > 0, 'the next look at the file')
    },
    async stop(): Promise<void> {
      stop.abort()
      await running
    },
  }
}

test('contexts become members, come and go with the file, and leave when the provider stops', async () => {
  const a = { name: 'a', server: 'https://a:6443' }
  const b = { name: 'b', server: 'https://b:6443' }
  const h = start(kubeconfig([a, b]))
  await until(() => h.changes.length === 2)
  const uid = h.fleet.member('a' as ClusterName)?.facts.uid
  h.rewrite(kubeconfig([a, { name: 'c', server: 'https://c:6443' }]))
  await h.reread()
  assert.deepEqual(h.changes.splice(0), ['engaged a', 'engaged b', 'disengaged b', 'engaged c'])
  assert.equal(h.fleet.member('a' as ClusterName)?.facts.uid, uid)

  h.rewrite('users: [')
  await h.reread()
  assert.deepEqual(h.changes, [], 'a broken file changes nothing')

  const old = h.fleet.member('a' as ClusterName)
  h.rewrite(kubeconfig([{ ...a, server: 'https://a:7443' }]))
  await h.reread()
  assert.deepEqual(h.changes.splice(0), ['disengaged c', 'disengaged a', 'engaged a'])
  assert.equal(old?.signal.aborted, true)
  assert.notEqual(h.fleet.member('a' as ClusterName)?.facts.uid, uid)
  await h.stop()
  assert.deepEqual(h.changes, ['disengaged a'])
  assert.equal(h.clock.pending, 0)
})

test('a changed token is used without another engagement', async () => {
  const seen: (string | undefined)[] = []
  await using server = await serveHttp((request, response) => {
    seen.push(request.headers.authorization)
    response.end()
  })
  const h = start(kubeconfig([{ name: 'a', server: server.url, token: 'one' }]))
  await until(() => h.changes.length === 1)
  const client = h.fleet.member('a' as ClusterName)?.client
  const get = async (): Promise<void> =>
    void (await (await client?.request({ method: 'GET', path: '/', signal }))?.bytes())
  await get()
  h.rewrite(kubeconfig([{ name: 'a', server: server.url, token: 'two' }]))
  await h.reread()
  await h.clock.advance(5_000)
  await get()
  assert.deepEqual(seen, ['Bearer one', 'Bearer two'])
  assert.deepEqual(h.changes, ['engaged a'])
  await h.stop()
})

test('where no context is a member, the log names what is asked for and what there is', async () => {
  const lines: string[] = []
  const logger = createLogger('warn', { write: (line: string) => lines.push(line) })
  const h = start(kubeconfig([{ name: 'dev', server: 'https://dev:6443' }]), ['prod-*'], logger)
  await until(() => lines.length > 0)
  assert.match(lines.join(''), /"contexts":\["prod-\*"\].*"there":\["dev"\]/)
  await h.stop()
  assert.equal(lines.length, 1)
})

test('contexts are filtered, and those that reach the same cluster as the same user count once', async () => {
  const user = 'me'
  const entries = [
    { name: 'prod/a', server: 'https://a', user },
    { name: 'prod/b', server: 'https://a', user },
    { name: 'prod/c', server: 'https://a', user: 'other' },
    { name: 'dev', server: 'https://dev', user },
  ]
  const h = start(kubeconfig(entries, 'prod/b'), ['prod/*'])
  await until(() => h.changes.length === 2)
  assert.deepEqual(
    h.fleet.members().map(({ facts }) => facts.name),
    ['prod/b', 'prod/c'],
  )
  await h.stop()
})

test('a context without a usable server is a member that says so', async () => {
  const h = start(kubeconfig([{ name: 'a', server: 'not a url' }]))
  await until(() => h.changes.length === 1)
  const member = h.fleet.member('a' as ClusterName)
  assert.match(member?.facts.unreachable ?? '', /is not a URL/)
  await assert.rejects(member?.client.request({ method: 'GET', path: '/', signal }) ?? Promise.resolve(), {
    code: 'unreachable',
  })
  await h.stop()
})

test('files that cannot be read at the start are an error', async () => {
  const provider = new KubeconfigProvider({
    files: [path.join(folder, 'none')],
    fleet: new Fleet(() => undefined),
    clock: new FakeClock(),
    environment: {},
    logger: createLogger('silent'),
  })
  await assert.rejects(provider.run(signal), { code: 'auth', message: /no kubeconfig could be read/ })
})

test('a client for one context, and one for the cluster we run in', async () => {
  const authority = await createAuthority('ca')
  const pair = await authority.issue({ commonName: 'api', ips: ['127.0.0.1'] })
  const seen: (string | undefined)[] = []
  await using server = await serveHttps({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
    seen.push(request.headers.authorization)
    response.end()
  })
  writeFileSync(path.join(folder, 'ca.crt'), authority.certPem)
  writeFileSync(path.join(folder, 'token'), 'pod-token\n')
  const file = path.join(folder, 'one')
  writeFileSync(
    file,
    `current-context: x
clusters: [{name: x, cluster: {server: "${server.url}", certificate-authority: ca.crt}}]
users: [{name: x, user: {tokenFile: token}}]
contexts: [{name: x, context: {cluster: x, user: x}}]`,
  )
  const environment = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(server.port) }
  const options = { clock: new FakeClock(), environment }
  for (const client of [await kubeconfigClient([file], undefined, options), inClusterClient(options, folder)]) {
    assert.equal((await client?.request({ method: 'GET', path: '/', signal }))?.status, 200)
    await client?.close()
  }
  assert.deepEqual(seen, ['Bearer pod-token', 'Bearer pod-token'])
  assert.equal(inClusterClient({ ...options, environment: {} }), undefined)
  await assert.rejects(kubeconfigClient([file], 'y', options), { code: 'unreachable' })
})

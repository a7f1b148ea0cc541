import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { clientRootsIn, frontProxyIn } from '../../src/apiserver/authn/config-map.ts'
import { LiveTrust } from '../../src/app/authentication.ts'
import { reviewPoster } from '../../src/app/control-plane.ts'
import type { AuthenticationConfig } from '../../src/app/options/serving-config.ts'
import { WatchedFiles } from '../../src/app/watched-files.ts'
import { ReviewMetrics } from '../../src/apiserver/review-metrics.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { MemberError } from '../../src/fleet/member-error.ts'
import type { MemberClient, MemberRequest } from '../../src/fleet/member.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { createAuthority, type Authority } from '../support/certificates.ts'
import { FakeClock, seededRandom, until } from '../support/fake-clock.ts'
import { startFakeMember, type FakeMember } from '../support/fake-member.ts'

const NAME = 'extension-apiserver-authentication'

function configMap(data: Record<string, string>, name = NAME): Parameters<FakeMember['put']>[0] {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'kube-system' },
    data,
  } as unknown as Parameters<FakeMember['put']>[0]
}

describe('what a ConfigMap says of trust', () => {
  it('is two CAs, names, and headers in lower case', async () => {
    const ca = await createAuthority('a')
    const pem = ca.certPem
    assert.equal(clientRootsIn({ 'client-ca-file': pem })?.length, 1)
    assert.equal(clientRootsIn({}), undefined)
    const proxy = frontProxyIn({
      'requestheader-client-ca-file': `${pem}${pem}`,
      'requestheader-allowed-names': '["a","b"]',
      'requestheader-username-headers': '["X-Remote-User"]',
      'requestheader-uid-headers': '["X-Remote-Uid"]',
      'requestheader-group-headers': '[" X-Remote-Group "]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    })
    assert.equal(proxy?.roots.length, 2)
    const { roots: _roots, ...names } = proxy ?? { roots: [] }
    assert.deepEqual(names, {
      allowedNames: ['a', 'b'],
      usernameHeaders: ['x-remote-user'],
      uidHeaders: ['x-remote-uid'],
      groupHeaders: ['x-remote-group'],
      extraHeaderPrefixes: ['x-remote-extra-'],
    })
    assert.equal(frontProxyIn({ 'requestheader-allowed-names': '["a"]' }), undefined)
  })

  it('is nothing where it cannot be read', async () => {
    const pem = (await createAuthority('a')).certPem
    assert.throws(() => clientRootsIn({ 'client-ca-file': 'nonsense' }))
    for (const names of ['front-proxy', '{}', '[1]', '[""]', '[" "]', 'null']) {
      assert.throws(
        () => frontProxyIn({ 'requestheader-client-ca-file': pem, 'requestheader-allowed-names': names }),
        names,
      )
    }
    assert.throws(() =>
      frontProxyIn({ 'requestheader-client-ca-file': pem, 'requestheader-extra-headers-prefix': '[""]' }),
    )
  })
})

describe('live trust', () => {
  let folder = ''
  let one: Authority
  let two: Authority
  const logged: string[] = []
  const log = createLogger('info', { write: (line: string) => logged.push(line) })
  const nothing: AuthenticationConfig = {
    kubeconfig: undefined,
    clientCaFile: undefined,
    requestHeader: undefined,
    skipLookup: false,
    tolerateLookupFailure: false,
    tokenTtlMs: 0,
  }

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-trust-'))
    one = await createAuthority('one')
    two = await createAuthority('two')
  })
  after(() => rm(folder, { recursive: true, force: true }))
  beforeEach(() => {
    logged.length = 0
  })

  function setUp(config: Partial<AuthenticationConfig>, client: MemberClient = dead) {
    const clock = new FakeClock()
    const files = new WatchedFiles(clock, log)
    const trust = new LiveTrust({
      config: { ...nothing, ...config },
      files,
      client,
      clock,
      random: seededRandom(1),
      log,
    })
    return { clock, files, trust }
  }

  const dead: MemberClient = {
    request: () => Promise.reject(new Error('not to be asked')),
    close: () => Promise.resolve(),
  }

  const issuers = (trust: LiveTrust): string[] => trust.source().clientRoots.map(({ subject }) => subject)

  it('reads files that were named again when they change, and keeps what it had where they cannot be used', async () => {
    const clientCaFile = path.join(folder, 'client-ca.crt')
    await writeFile(clientCaFile, one.certPem)
    const { clock, files, trust } = setUp({ clientCaFile, skipLookup: true })
    await trust.loadFiles()
    assert.equal(trust.needsLookup, false)
    assert.deepEqual(issuers(trust), ['CN=one'])
    const stop = new AbortController()
    const running = files.run(stop.signal)
    await writeFile(clientCaFile, `${one.certPem}${two.certPem}`)
    await clock.advanceUntil(() => issuers(trust).length === 2, 1_000)
    await writeFile(clientCaFile, 'half a certificate')
    await clock.advanceUntil(() => logged.some((line) => line.includes('cannot be used')), 1_000)
    await clock.advance(30_000)
    assert.equal(logged.filter((line) => line.includes('cannot be used')).length, 1)
    assert.equal(issuers(trust).length, 2)
    await rm(clientCaFile)
    await clock.advanceUntil(() => logged.filter((line) => line.includes('cannot be used')).length === 2, 1_000)
    assert.equal(issuers(trust).length, 2)
    await writeFile(clientCaFile, two.certPem)
    await clock.advanceUntil(() => issuers(trust).length === 1, 1_000)
    assert.deepEqual(issuers(trust), ['CN=two'])
    stop.abort()
    await running
    assert.equal(clock.pending, 0)
  })

  it('does not start with a file that cannot be used', async () => {
    const clientCaFile = path.join(folder, 'bad.crt')
    await writeFile(clientCaFile, 'no certificate')
    await assert.rejects(setUp({ clientCaFile }).trust.loadFiles(), /no certificate/)
  })

  it('F1: trusts nobody until the ConfigMap is read, follows it, and trusts nobody once it is gone', async () => {
    const member = await startFakeMember({ objects: [configMap({ 'client-ca-file': two.certPem }, 'another')] })
    const client = createMemberClient({
      server: member.url,
      credentials: { current: () => Promise.resolve({ tls: {}, headers: {} }) },
      clock: new FakeClock(),
    })
    const { clock, trust } = setUp({}, client)
    const stop = new AbortController()
    const following = trust.follow(stop.signal)
    const ready = (): string => trust.check.check().state
    await until(() => logged.some((line) => line.includes('says nothing')))
    assert.deepEqual(trust.source(), { clientRoots: [], frontProxy: undefined })
    assert.equal(ready(), 'pending')
    member.put(configMap({ 'client-ca-file': one.certPem }))
    await clock.advanceUntil(() => ready() === 'ready')
    await trust.lookedUp(stop.signal)
    assert.deepEqual(issuers(trust), ['CN=one'])
    assert.equal(trust.source().frontProxy, undefined)
    member.put(
      configMap({
        'client-ca-file': two.certPem,
        'requestheader-client-ca-file': one.certPem,
        'requestheader-username-headers': '["X-Remote-User"]',
      }),
    )
    await clock.advanceUntil(() => trust.source().frontProxy !== undefined)
    assert.deepEqual(issuers(trust), ['CN=two'])
    const { frontProxy } = trust.source()
    member.put(configMap({ 'client-ca-file': one.certPem, 'requestheader-client-ca-file': 'broken' }))
    await clock.advanceUntil(() => logged.some((line) => line.includes('cannot be used')))
    assert.deepEqual(issuers(trust), ['CN=two'])
    assert.equal(trust.source().frontProxy, frontProxy)
    member.delete('ConfigMap', 'kube-system', NAME)
    await clock.advanceUntil(() => ready() === 'pending')
    assert.deepEqual(trust.source(), { clientRoots: [], frontProxy: undefined })
    stop.abort()
    await following
    await client.close()
    await member.close()
  })

  it('looks up only what no flag names', async () => {
    const clientCaFile = path.join(folder, 'own.crt')
    await writeFile(clientCaFile, one.certPem)
    const data = { 'client-ca-file': two.certPem, 'requestheader-client-ca-file': two.certPem }
    const member = await startFakeMember({ objects: [configMap(data)] })
    const client = createMemberClient({
      server: member.url,
      credentials: { current: () => Promise.resolve({ tls: {}, headers: {} }) },
      clock: new FakeClock(),
    })
    const { clock, trust } = setUp({ clientCaFile }, client)
    await trust.loadFiles()
    assert.equal(trust.needsLookup, true)
    const stop = new AbortController()
    const following = trust.follow(stop.signal)
    await clock.advanceUntil(() => trust.source().frontProxy !== undefined)
    assert.deepEqual(issuers(trust), ['CN=one'])
    assert.equal(trust.source().frontProxy?.roots[0]?.subject, 'CN=two')
    assert.ok(member.requests.every(({ url }) => !url.includes('configmaps') || url.includes('fieldSelector')))
    stop.abort()
    await following
    await client.close()
    await member.close()
  })

  it('gives up at start when it cannot look up, and says what to do, unless it is told to go on', async () => {
    const refused: MemberClient = {
      request: () => Promise.reject(new MemberError('refused', 'refused')),
      close: () => Promise.resolve(),
    }
    const { clock, trust } = setUp({}, refused)
    const stop = new AbortController()
    const following = trust.follow(stop.signal)
    const looked = trust.lookedUp(stop.signal).then(
      () => 'read',
      (error: unknown) => String(error),
    )
    await clock.advance(31_000)
    assert.match(await looked, /extension-apiserver-authentication .*--authentication-tolerate-lookup-failure/)
    stop.abort()
    await following
    const tolerant = setUp({ tolerateLookupFailure: true }, refused)
    await tolerant.trust.lookedUp(new AbortController().signal)
    assert.deepEqual(tolerant.trust.source().clientRoots, [])
  })
})

describe('reviews of the control plane', () => {
  function setUp(...answers: (number | Error)[]) {
    const asked: MemberRequest[] = []
    const clock = new FakeClock()
    const registry = createMetricsRegistry()
    const client: MemberClient = {
      request(request) {
        asked.push(request)
        const answer = answers.shift() ?? 201
        if (answer instanceof Error) return Promise.reject(answer)
        return Promise.resolve({
          status: answer,
          headers: {},
          body: (async function* () {})(),
          bytes: () => Promise.resolve(Buffer.from('{"status":{"allowed":true}}')),
        })
      },
      close: () => Promise.resolve(),
    }
    const post = reviewPoster({ client, path: '/reviews', metrics: new ReviewMetrics(registry, 'authz'), clock })
    return { asked, clock, post, registry }
  }
  const signal = new AbortController().signal

  it('are asked again while the control plane restarts', async () => {
    const { asked, clock, post, registry } = setUp(new Error('refused'), 503, 429, 201)
    const answer = post({}, signal)
    await clock.advanceUntil(() => asked.length === 4)
    assert.deepEqual(await answer, { status: { allowed: true } })
    assert.match(await registry.metrics(), /apiserver_delegated_authz_request_total\{code="201"\} 1/)
    assert.equal(clock.pending, 0)
  })

  it('that are refused are not asked again', async () => {
    const { asked, post } = setUp(403)
    await assert.rejects(post({}, signal), /answered 403/)
    assert.equal(asked.length, 1)
  })

  it('end when nobody answers', async () => {
    const { clock, post, registry } = setUp(...Array.from({ length: 10 }, () => new Error('refused')))
    const answer = assert.rejects(post({}, signal))
    await clock.advance(11_000)
    await answer
    assert.match(await registry.metrics(), /code="<error>"\} 1/)
    assert.equal(clock.pending, 0)
  })
})

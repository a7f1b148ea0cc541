import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { ContextCredentials } from '../../../src/fleet/kubeconfig/context-credentials.ts'
import { ExecPlugin } from '../../../src/fleet/kubeconfig/exec-plugin.ts'
import type { KubeCluster, KubeContext, KubeExec, KubeUser } from '../../../src/fleet/kubeconfig/kubeconfig.ts'
import { MemberError } from '../../../src/fleet/member-error.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-'))
after(() => {
  rmSync(folder, { recursive: true })
})

const CLUSTER: KubeCluster = {
  server: 'https://10.0.0.1:6443',
  insecureSkipVerify: false,
  disableCompression: false,
  execConfig: { audience: 'prod' },
}

function credentialsOf(user: Partial<KubeUser>, cluster: Partial<KubeCluster> = {}) {
  const clock = new FakeClock()
  const context: KubeContext = {
    name: 'x',
    clusterName: 'x',
    userName: 'x',
    cluster: { ...CLUSTER, ...cluster },
    user: { impersonateGroups: [], impersonateExtra: {}, ...user },
  }
  const environment = { PATH: process.env['PATH'] }
  return { clock, source: new ContextCredentials({ context: () => context, environment, clock }) }
}

const file = (name: string, content: string): string => {
  const full = path.join(folder, name)
  writeFileSync(full, content)
  return full
}
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** A plugin written in JavaScript; it also writes down each start. */
function plugin(script: string, more: Partial<KubeExec> = {}): { exec: KubeExec; starts: string; count(): number } {
  const starts = file(`starts-${Math.random().toString(36).slice(2)}`, '')
  const source = `const fs = require('node:fs'); fs.appendFileSync(${JSON.stringify(starts)}, 'x'); ${script}`
  const exec: KubeExec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', source],
    env: {},
    installHint: '',
    provideClusterInfo: false,
    interactiveMode: 'Never',
    ...more,
  }
  return { exec, starts, count: () => readLength(starts) }
}

function readLength(name: string): number {
  return Number(process.getBuiltinModule('node:fs').statSync(name).size)
}

const says = (status: string): string =>
  `console.log(JSON.stringify({kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status: ${status}}))`

test('tokens, passwords, certificates, impersonation', async () => {
  const token = credentialsOf({ token: 'abc\n' }, { caData: base64('CA'), insecureSkipVerify: true, serverName: 'api' })
  assert.deepEqual(await token.source.current(), {
    headers: { authorization: 'Bearer abc' },
    tls: { ca: 'CA', insecureSkipVerify: true, serverName: 'api' },
  })
  const basic = credentialsOf({ username: 'bob', password: 'secret' })
  assert.equal((await basic.source.current()).headers.authorization, `Basic ${base64('bob:secret')}`)
  const cert = credentialsOf({ certData: base64('CERT'), certFile: '/none', keyFile: file('key', 'KEY') })
  assert.deepEqual((await cert.source.current()).tls, { cert: 'CERT', key: 'KEY' })
  const as = credentialsOf({
    token: 'abc',
    impersonate: 'jane',
    impersonateGroups: ['devs', 'ops'],
    impersonateUid: 'u-1',
    impersonateExtra: { 'example.io/Scopes': ['a', 'b'] },
  })
  assert.deepEqual((await as.source.current()).headers, {
    authorization: 'Bearer abc',
    'impersonate-user': 'jane',
    'impersonate-group': ['devs', 'ops'],
    'impersonate-uid': 'u-1',
    'impersonate-extra-example.io%2fscopes': ['a', 'b'],
  })
})

test('files are read again on rotation, and listeners are told', async () => {
  const tokenFile = file('token', 'one\n')
  const { source, clock } = credentialsOf({
    token: 'never',
    tokenFile,
    certFile: file('crt', 'A'),
    keyFile: file('k', 'K'),
  })
  let changes = 0
  source.onChange(() => void changes++)
  const first = await source.current()
  assert.equal(first.headers.authorization, 'Bearer one')
  file('token', 'two')
  file('crt', 'B')
  assert.equal(await source.current(), first)
  await clock.advance(10_000)
  const second = await source.current()
  assert.deepEqual([second.headers.authorization, second.tls.cert], ['Bearer two', 'B'])
  await clock.advance(10_000)
  await source.current()
  assert.equal(changes, 1)
})

test('a 401 forgets at once, but not more often than every half minute', async () => {
  const tokenFile = file('rejected', 'one')
  const { source, clock } = credentialsOf({ tokenFile })
  await source.current()
  file('rejected', 'two')
  source.rejected()
  assert.equal((await source.current()).headers.authorization, 'Bearer two')
  file('rejected', 'three')
  source.rejected()
  assert.equal((await source.current()).headers.authorization, 'Bearer two')
  await clock.advance(30_000)
  source.rejected()
  assert.equal((await source.current()).headers.authorization, 'Bearer three')
})

test('a file that is not there', async () => {
  const { source } = credentialsOf({ tokenFile: path.join(folder, 'none') })
  await assert.rejects(source.current(), {
    name: 'MemberError',
    code: 'auth',
    message: /cannot read .*none \(ENOENT\)/,
  })
})

test('an exec plugin is told about its cluster, runs once for all who ask, and again when its token ends', async () => {
  const until = (clock: FakeClock): string => new Date(clock.nowMs() + 60_000).toISOString()
  const script = `const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
    ${says(`{token: [info.spec.cluster.server, info.spec.cluster.config.audience, info.spec.interactive, process.env.PROFILE].join('|'),
      expirationTimestamp: ${JSON.stringify(until(new FakeClock()))}}`)}`
  const { exec, count } = plugin(script, { provideClusterInfo: true, env: { PROFILE: 'prod' } })
  const { source, clock } = credentialsOf({ exec })
  const all = await Promise.all(Array.from({ length: 40 }, () => source.current()))
  assert.equal(all[0]?.headers.authorization, 'Bearer https://10.0.0.1:6443|prod|false|prod')
  assert.equal(count(), 1)
  await clock.advance(49_000)
  await source.current()
  assert.equal(count(), 1)
  await clock.advance(11_000)
  await source.current()
  assert.equal(count(), 2)
  source.rejected()
  await source.current()
  assert.equal(count(), 3)
})

test('an exec plugin may give a certificate', async () => {
  const { exec } = plugin(says(`{clientCertificateData: 'CERT', clientKeyData: 'KEY'}`))
  const { source } = credentialsOf({ exec, certData: base64('other'), keyData: base64('other') })
  assert.deepEqual(await source.current(), { headers: {}, tls: { cert: 'CERT', key: 'KEY' } })
})

test('an exec plugin that fails says why, without its secrets, and is not started in a storm', async () => {
  const { exec, count } = plugin(`console.error('session expired, run login; token=hunter2'); process.exit(3)`)
  const { source, clock } = credentialsOf({ exec })
  const failure = async (): Promise<MemberError> => {
    const error: unknown = await source.current().catch((thrown: unknown) => thrown)
    assert.ok(error instanceof MemberError)
    return error
  }
  const errors = await Promise.all(Array.from({ length: 40 }, failure))
  assert.equal(errors[0]?.code, 'auth')
  assert.match(errors[0].message, /failed \(3\): session expired, run login/)
  assert.doesNotMatch(errors[0].message, /hunter2/)
  assert.equal(count(), 1)
  await clock.advance(10_000)
  await failure()
  assert.equal(count(), 2)
})

test('what else an exec plugin can do wrong', async () => {
  const cases: readonly (readonly [string, Partial<KubeExec>, RegExp])[] = [
    ['', { command: 'no-such-plugin', args: [], installHint: 'brew install it' }, /not installed. brew install it/],
    ['', { command: '' }, /no command/],
    ['', { interactiveMode: 'Always' }, /wants a terminal/],
    [`console.log('not json')`, {}, /not JSON/],
    [`console.log('{}')`, {}, /no ExecCredential/],
    [says('{}'), {}, /neither token nor certificate/],
    [says(`{clientCertificateData: 'C'}`), {}, /half of a certificate/],
    [says(`{token: 'x'}`), { apiVersion: 'client.authentication.k8s.io/v1beta1' }, /the kubeconfig says .*v1beta1/],
  ]
  for (const [script, more, message] of cases) {
    const { source } = credentialsOf({ exec: plugin(script, more).exec })
    await assert.rejects(source.current(), { code: 'auth', message })
  }
})

test('an exec plugin that hangs is killed', async () => {
  const { exec } = plugin('setInterval(() => {}, 1000); process.stdin.resume()')
  const options = { exec, cluster: CLUSTER, ca: undefined, environment: { PATH: process.env['PATH'] }, timeoutMs: 300 }
  const hanging = new ExecPlugin(new FakeClock()).credential(options)
  await assert.rejects(hanging, { code: 'auth', message: /did not finish within 300 ms/ })
})

test('the in-tree providers go through the Kubernetes client', async () => {
  const soon = Math.floor(Date.now() / 1_000) + 3_600
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const idToken = `${part({ alg: 'none' })}.${part({ exp: soon })}.sig`
  const oidc = credentialsOf({ authProvider: { name: 'oidc', config: { 'id-token': idToken } } })
  assert.equal((await oidc.source.current()).headers.authorization, `Bearer ${idToken}`)

  const config = { 'access-token': 'gcp-token', expiry: new Date(soon * 1_000).toISOString() }
  const gcp = credentialsOf({ authProvider: { name: 'gcp', config } })
  assert.equal((await gcp.source.current()).headers.authorization, 'Bearer gcp-token')

  const expired = { 'access-token': 'secret-token', expiry: '2020-01-01T00:00:00Z' }
  const stale = credentialsOf({ authProvider: { name: 'gcp', config: expired } })
  await assert.rejects(stale.source.current(), { code: 'auth', message: 'auth-provider gcp: Token is expired!' })
  const unknown = credentialsOf({ authProvider: { name: 'openstack' } })
  await assert.rejects(unknown.source.current(), { code: 'auth', message: /"openstack" is not supported/ })
})

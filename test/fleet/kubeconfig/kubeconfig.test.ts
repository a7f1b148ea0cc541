import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { contextOf } from '../../../src/fleet/kubeconfig/context-client.ts'
import { contextFilter } from '../../../src/fleet/kubeconfig/context-globs.ts'
import { loadKubeconfig, mergeKubeconfigs } from '../../../src/fleet/kubeconfig/kubeconfig.ts'

const FULL = `
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: prod
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: api.prod
    proxy-url: socks5://127.0.0.1:1080
    disable-compression: true
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: prod}
- name: skip
  cluster: {server: http://localhost:8080, insecure-skip-tls-verify: true}
users:
- name: admin
  user:
    client-certificate: /abs/client.crt
    client-key-data: a2V5
    as: jane
    as-groups: [devs, 42]
    as-uid: u-1
    as-user-extra: {scopes: [a, b]}
- name: numeric
  user: {token: 12345, username: bob, password: 678}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [token, 1]
      env: [{name: PROFILE, value: prod}]
      provideClusterInfo: true
      interactiveMode: IfAvailable
contexts:
- name: prod
  context: {cluster: prod, user: admin, namespace: shop}
- name: anonymous
  context: {cluster: skip}
- name: plugin
  context: {cluster: skip, user: plugin}
- name: numeric
  context: {cluster: skip, user: numeric}
- name: lost-cluster
  context: {cluster: nowhere, user: admin}
- name: lost-user
  context: {cluster: prod, user: nobody}
`

test('everything that a cluster and a user can say is read', () => {
  const { contexts, currentContext, faults } = mergeKubeconfigs([{ file: '/home/me/.kube/config', text: FULL }])
  assert.equal(currentContext, 'prod')
  assert.deepEqual(
    contexts.map(({ name }) => name),
    ['prod', 'anonymous', 'plugin', 'numeric'],
  )
  assert.deepEqual(faults, ['context lost-cluster: no cluster "nowhere"', 'context lost-user: no user "nobody"'])
  const [prod, anonymous, plugin, numeric] = contexts
  assert.deepEqual(prod?.cluster, {
    server: 'https://10.0.0.1:6443',
    insecureSkipVerify: false,
    disableCompression: true,
    caFile: '/home/me/.kube/pki/ca.crt',
    serverName: 'api.prod',
    proxyUrl: 'socks5://127.0.0.1:1080',
    execConfig: { audience: 'prod' },
  })
  assert.deepEqual(prod.user, {
    certFile: '/abs/client.crt',
    keyData: 'a2V5',
    impersonate: 'jane',
    impersonateGroups: ['devs', '42'],
    impersonateUid: 'u-1',
    impersonateExtra: { scopes: ['a', 'b'] },
  })
  assert.equal(anonymous?.cluster.insecureSkipVerify, true)
  assert.deepEqual(anonymous.user, { impersonateGroups: [], impersonateExtra: {} })
  assert.equal(plugin?.user.exec?.command, '/home/me/.kube/bin/login')
  assert.deepEqual(plugin.user.exec.args, ['token', '1'])
  assert.deepEqual(plugin.user.exec.env, { PROFILE: 'prod' })
  assert.equal(numeric?.user.token, '12345')
  assert.equal(numeric.user.password, '678')
})

test('of several files the first word counts, and each file resolves its own paths', () => {
  const file = (name: string, server: string, extra = ''): string =>
    `clusters: [{name: ${name}, cluster: {server: "${server}", certificate-authority: ca.crt}}]\n` +
    `contexts: [{name: ${name}, context: {cluster: ${name}}}]\n${extra}`
  const merged = mergeKubeconfigs([
    { file: '/a/config', text: file('one', 'https://first') },
    { file: '/b/config', text: file('one', 'https://second', 'current-context: two') },
    { file: '/c/config', text: file('two', 'https://third', 'current-context: one') },
  ])
  assert.equal(merged.currentContext, 'two')
  assert.deepEqual(
    merged.contexts.map(({ cluster }) => [cluster.server, cluster.caFile]),
    [
      ['https://first', '/a/ca.crt'],
      ['https://third', '/c/ca.crt'],
    ],
  )
  assert.equal(contextOf(merged, undefined).cluster.server, 'https://third')
  assert.equal(contextOf(merged, 'one').cluster.server, 'https://first')
  assert.throws(() => contextOf(merged, 'three'), { code: 'unreachable', message: /no context "three"/ })
})

test('files: a missing one is left out, none at all and bad YAML are told without quoting the file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-'))
  const good = path.join(folder, 'good')
  const bad = path.join(folder, 'bad')
  await writeFile(good, 'clusters: []')
  await writeFile(bad, 'users:\n- user: {token: "hunter2\n  x: [')
  assert.deepEqual((await loadKubeconfig([path.join(folder, 'none'), good])).contexts, [])
  await assert.rejects(loadKubeconfig([path.join(folder, 'none')]), {
    code: 'auth',
    message: /no kubeconfig could be read/,
  })
  await assert.rejects(loadKubeconfig([good, bad]), (error: Error) => {
    assert.match(error.message, /bad is not YAML/)
    assert.doesNotMatch(error.message, /hunter2/)
    return true
  })
  await rm(folder, { recursive: true })
})

test('a kubeconfig of any shape is read without harm', () => {
  for (const text of ['', 'null', '[]', '42', 'clusters: 1', 'contexts: [null, 1, {name: x}, {name: y, context: 3}]']) {
    const { contexts } = mergeKubeconfigs([{ file: '/x', text }])
    assert.deepEqual(contexts, [], text)
  }
})

test('contexts are chosen by globs', () => {
  const names = ['prod-eu', 'prod-us', 'dev', 'arn:aws:eks:eu-west-1:1:cluster/prod-eu', 'a.b']
  const chosen = (...globs: string[]): string[] => names.filter(contextFilter(globs))
  assert.deepEqual(chosen(), names)
  assert.deepEqual(chosen('prod-*'), ['prod-eu', 'prod-us'])
  assert.deepEqual(chosen('*prod-eu'), ['prod-eu', 'arn:aws:eks:eu-west-1:1:cluster/prod-eu'])
  assert.deepEqual(chosen('!dev', '!arn:*'), ['prod-eu', 'prod-us', 'a.b'])
  assert.deepEqual(chosen('prod-*', '!*-us'), ['prod-eu'])
  assert.deepEqual(chosen('a?b', 'de'), ['a.b'])
  assert.deepEqual(chosen('a.b'), ['a.b'])
})

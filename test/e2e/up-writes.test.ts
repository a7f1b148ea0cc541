/** `fleetsearch up --allow-writes` over a real member: who has the token of the start changes, everybody else reads. */
import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { PROXY, startLocal, type LocalProcess } from '../support/local-process.ts'
import {
  kubeconfig as kubeconfigOf,
  startControlPlane,
  tryKubectl,
  type RealCluster,
} from '../support/real-parts/index.ts'

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps'

describe('up --allow-writes', () => {
  let member: RealCluster
  let up: LocalProcess
  let kubeconfig = ''

  before(async () => {
    member = await startControlPlane({ name: 'laptop', users: [{ name: 'reader', token: 'reader-token' }] })
    await member.ok(CONFIGMAPS, { body: { metadata: { name: 'one' } } })
    up = await startLocal('up', {
      flags: [`--kubeconfig=${member.kubeconfigPath}`, '--allow-writes', '--log-level=debug'],
    })
    kubeconfig = await announced(up)
  })

  after(async () => {
    await up?.stop()
    await member?.stop()
  })

  it('takes changes from who shows the token, which only its owner can read and nothing prints', async () => {
    assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600)
    const { clusters } = JSON.parse(await readFile(kubeconfig, 'utf8')) as {
      clusters: [{ cluster: { server: string } }]
    }
    const chosen = clusters[0].cluster.server.replace('/karmada/', '/cluster.laptop/')
    const token = /token\/([^/]+)/.exec(chosen)?.[1] ?? ''
    for (const args of [
      ['label', 'cm', 'one', 'a=b'],
      ['create', 'cm', 'two', '--server', chosen],
      ['delete', 'cm', 'two'],
    ]) {
      const { code, stderr } = await tryKubectl(args, { kubeconfig })
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    }
    const one = (await member.ok(`${CONFIGMAPS}/one`)) as { metadata: { labels: object; annotations?: object } }
    assert.deepEqual([one.metadata.labels, one.metadata.annotations], [{ a: 'b' }, undefined])
    assert.ok(token.length > 40 && !up.output().includes(token))
    const shown = await up.request(`${PROXY}${CONFIGMAPS}/one`, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(shown.status, 200)
  })

  it('E9: can-i is what the member allows the credentials of the kubeconfig', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const metadata = { name: 'reader' }
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }]
    await member.ok(`${rbac}/clusterroles`, { body: { metadata, rules } })
    const apiGroup = 'rbac.authorization.k8s.io'
    const roleRef = { apiGroup, kind: 'ClusterRole', name: 'reader' }
    const subjects = [{ apiGroup, kind: 'User', name: 'reader' }]
    await member.ok(`${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } })
    const file = path.join(member.folder, 'reader')
    const { url, caPem } = member
    await writeFile(file, kubeconfigOf({ name: 'laptop', url, caPem, token: 'reader-token' }))
    const reading = await startLocal('up', { flags: [`--kubeconfig=${file}`, '--allow-writes'] })
    try {
      const ask = async (config: string, ...args: string[]) =>
        tryKubectl(['auth', 'can-i', ...args], { kubeconfig: config })
      const theirs = await announced(reading)
      for (const [args, admin, reader] of [
        [['list', 'configmaps'], 'yes\n', 'yes\n'],
        [['delete', 'configmaps'], 'yes\n', 'no - not in laptop\n'],
        [['create', 'pods', '--subresource=exec'], 'yes\n', 'no - not in laptop\n'],
        [['get', '/metrics'], 'yes\n', 'no - not in laptop\n'],
      ] as const) {
        assert.equal((await ask(kubeconfig, ...args)).stdout, admin)
        assert.equal((await ask(theirs, ...args)).stdout, reader)
      }
      const { stdout } = await ask(theirs, '--list')
      assert.match(stdout, /^configmaps +\[\] +\[\] +\[get list watch\]$/m)
      assert.doesNotMatch(stdout, /^\*\.\*/m)
    } finally {
      await reading.stop()
    }
  })

  it('shows everybody else everything, and refuses every change and session with the reason', async () => {
    assert.equal((await up.request(`${PROXY}${CONFIGMAPS}/one`)).status, 200)
    for (const [method, path] of [
      ['DELETE', `${CONFIGMAPS}/one`],
      ['POST', '/api/v1/namespaces'],
      ['GET', '/api/v1/namespaces/default/pods/p/exec?command=id'],
      ['GET', '/api/v1/nodes/n/proxy/pods'],
    ] as const) {
      const { status, text } = await up.request(PROXY + path, { method })
      assert.equal(status, 403, text)
      assert.match(text, /needs the token of this server/)
    }
    const wrong = await up.request(`${PROXY}${CONFIGMAPS}/one`, { headers: { authorization: 'Bearer wrong' } })
    assert.equal(wrong.status, 401)
    assert.equal((await member.request(`${CONFIGMAPS}/one`)).status, 200)
  })
})

/** The kubeconfig that a server printed when it was ready. */
async function announced(server: LocalProcess): Promise<string> {
  const deadline = performance.now() + 20_000
  let file = ''
  while (file === '' && performance.now() < deadline) {
    file = /kubectl --kubeconfig (\S+)/.exec(server.output())?.[1] ?? ''
    await new Promise((resolve) => setImmediate(resolve))
  }
  return file
}

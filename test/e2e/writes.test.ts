/** What kubectl changes through `fleetsearch serve`, behind a real aggregator, in two real members. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BASE, PROXY, startKarmadaFleet, startServe, until } from '../support/karmada-fleet.ts'
import type { KarmadaFleet, ServeProcess } from '../support/karmada-fleet.ts'
import { kubeconfig, tryKubectl, type KubectlResult, type RealCluster } from '../support/real-parts/index.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const FROM = 'resource.karmada.io/cached-from-cluster'
const NAME = 'cluster.karmada.io/name'
const KINDS = [
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'Namespace' },
  { apiVersion: 'v1', kind: 'Node' },
  { apiVersion: 'v1', kind: 'Pod' },
  { apiVersion: 'apps/v1', kind: 'Deployment' },
]
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps'
const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } },
  },
}

describe('writes through serve', () => {
  let fleet: KarmadaFleet
  let serve: ServeProcess
  let member1: RealCluster
  let member2: RealCluster
  let everywhere: string
  let auditLog: string
  const chosen = new Map<string, string>()

  before(async () => {
    fleet = await startKarmadaFleet(['member1', 'member2'])
    ;[member1, member2] = fleet.members as [RealCluster, RealCluster]
    const [policy, log] = ['audit-policy.yaml', 'audit.log'].map((name) => path.join(fleet.host.folder, name))
    auditLog = log!
    await writeFile(policy!, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n')
    serve = await startServe(fleet.host, { flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`] })
    await fleet.register('all', { targetCluster: {}, resourceSelectors: KINDS })
    everywhere = await through('fleet', PROXY)
    for (const { name } of fleet.members) {
      chosen.set(name, await through(name, `${BASE}/proxying/cluster.${name}/proxy`))
    }
    await member1.ok(CONFIGMAPS, { body: { metadata: { name: 'one' }, data: { a: '1' } } })
    await member1.ok('/apis/apps/v1/namespaces/default/deployments', { body: DEPLOYMENT })
    const room = { cpu: '4', memory: '8Gi', pods: '10' }
    await member1.ok('/api/v1/nodes', {
      body: { metadata: { name: 'n1' }, status: { capacity: room, allocatable: room } },
    })
    for (const member of fleet.members) await member.ok(CONFIGMAPS, { body: { metadata: { name: 'both' } } })
    await until(
      async () => (await tryKubectl(['get', 'cm', 'one'], { kubeconfig: everywhere })).code === 0,
      'the cache',
    )
    await until(async () => (await tryKubectl(['get', 'deploy', 'web'], { kubeconfig: everywhere })).code === 0, 'more')
    await until(async () => (await tryKubectl(['get', 'node', 'n1'], { kubeconfig: everywhere })).code === 0, 'nodes')
  })

  after(async () => {
    await serve?.stop()
    await fleet?.stop()
  })

  async function through(name: string, prefix: string): Promise<string> {
    const { host } = fleet
    const file = path.join(host.folder, `through-${name}`)
    await writeFile(file, kubeconfig({ name, url: host.url + prefix, caPem: host.caPem, token: host.adminToken }))
    return file
  }

  const run = (args: readonly string[], more: Partial<Parameters<typeof tryKubectl>[1]> = {}): Promise<KubectlResult> =>
    tryKubectl([...args], { kubeconfig: everywhere, ...more })

  async function ok(args: readonly string[], more: Partial<Parameters<typeof tryKubectl>[1]> = {}): Promise<string> {
    const { code, stdout, stderr } = await run(args, more)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  const configMap = async (member: RealCluster, name = 'one'): Promise<Json> => member.ok(`${CONFIGMAPS}/${name}`)
  const deployment = async (): Promise<Json> => member1.ok('/apis/apps/v1/namespaces/default/deployments/web')
  const manifest = async (name: string, object: object): Promise<string> => {
    const file = path.join(fleet.host.folder, name)
    await writeFile(file, JSON.stringify(object))
    return file
  }

  function clean({ metadata }: Json): void {
    assert.equal(metadata.annotations?.[FROM], undefined, 'nothing of ours is left in the member')
    assert.equal(metadata.annotations?.[NAME], undefined)
    assert.match(metadata.resourceVersion, /^[0-9]+$/)
  }

  it('G8: every subresource that changes something reaches the owner, and nobody else', async () => {
    const { host } = fleet
    const pods = '/api/v1/namespaces/default/pods'
    const spec = { containers: [{ name: 'c', image: 'nginx', resources: { requests: { cpu: '100m' } } }] }
    await member1.ok(pods, { body: { metadata: { name: 'p1', labels: { guarded: 'yes' } }, spec } })
    const get = (): Promise<Json> => host.ok(`${PROXY}${pods}/p1`)
    await until(async () => (await host.request(`${PROXY}${pods}/p1`)).status === 200, 'the pod')

    const binding = {
      kind: 'Binding',
      apiVersion: 'v1',
      metadata: { name: 'p1' },
      target: { kind: 'Node', name: 'n1' },
    }
    assert.equal((await host.request(`${PROXY}${pods}/p1/binding`, { body: binding })).status, 201)
    assert.equal((await get()).spec.nodeName, 'n1')

    const patch = async (subresource: string, body: object): Promise<Json> => {
      const contentType = 'application/strategic-merge-patch+json'
      const options = { method: 'PATCH', body: JSON.stringify(body), headers: { 'content-type': contentType } }
      const answer = await host.request(`${PROXY}${pods}/p1/${subresource}`, options)
      assert.equal(answer.status, 200, `${subresource}: ${answer.text}`)
      return answer.json()
    }
    await patch('status', { status: { phase: 'Running' } })
    await patch('resize', { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '200m' } } }] } })
    await patch('ephemeralcontainers', { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] } })
    const { spec: changed, status } = (await member1.ok(`${pods}/p1`)) as Json
    assert.equal(status.phase, 'Running')
    assert.equal(changed.containers[0].resources.requests.cpu, '200m')
    assert.equal(changed.ephemeralContainers[0].name, 'debug')

    const eviction = (preconditions: object): object => ({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'p1', namespace: 'default' },
      deleteOptions: { gracePeriodSeconds: 0, preconditions },
    })
    const evict = (preconditions: object) =>
      host.request(`${PROXY}${pods}/p1/eviction`, { body: eviction(preconditions) })
    const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
    const selector = { matchLabels: { guarded: 'yes' } }
    await member1.ok(budgets, { body: { metadata: { name: 'guard' }, spec: { minAvailable: 1, selector } } })
    const refused = await evict({})
    assert.equal(refused.status, 429, refused.text)
    await member1.ok(`${budgets}/guard`, { method: 'DELETE' })
    const { resourceVersion } = (await get()).metadata
    assert.equal((await evict({ resourceVersion: Buffer.from('{"member1":"1"}').toString('base64url') })).status, 409)
    assert.equal((await evict({ resourceVersion })).status, 201)
    await until(async () => (await member1.request(`${pods}/p1`)).status === 404, 'the eviction')

    await member1.ok('/api/v1/namespaces/default/serviceaccounts', { body: { metadata: { name: 'robot' } } })
    const token = await ok(['create', 'token', 'robot'], { kubeconfig: chosen.get('member1')! })
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Json
    assert.equal(claims.sub, 'system:serviceaccount:default:robot')
    assert.equal((await member1.request('/api/v1/namespaces/default/pods', { token: token.trim() })).status, 403)
  })

  it('deletes a collection in the chosen cluster alone, and refuses to do so everywhere', async () => {
    for (const member of fleet.members) {
      await member.ok(CONFIGMAPS, { body: { metadata: { name: 'swept', labels: { sweep: 'yes' } } } })
    }
    const query = '?labelSelector=sweep%3Dyes'
    const everywhereAnswer = await fleet.host.request(`${PROXY}${CONFIGMAPS}${query}`, { method: 'DELETE' })
    assert.ok(everywhereAnswer.status >= 400 && everywhereAnswer.status < 500, everywhereAnswer.text)
    const one = await fleet.host.request(`${BASE}/proxying/cluster.member1/proxy${CONFIGMAPS}${query}`, {
      method: 'DELETE',
    })
    assert.equal(one.status, 200, one.text)
    assert.equal((await member1.request(`${CONFIGMAPS}/swept`)).status, 404)
    assert.equal((await member2.request(`${CONFIGMAPS}/swept`)).status, 200)
    await member2.ok(`${CONFIGMAPS}/swept`, { method: 'DELETE' })
  })

  it('F2: the audit log names who changed what in which cluster', async () => {
    await ok(['label', 'cm', 'one', 'audited=yes'])
    await ok(['label', 'cm', 'one', 'audited-'])
    const events = (): Json[] =>
      readFileSync(auditLog, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Json)
        .filter(({ verb, stage }) => verb === 'patch' && stage === 'ResponseComplete')
        .filter(({ requestURI }) => requestURI.includes(`${CONFIGMAPS}/one`))
    await until(async () => events().length >= 2, 'the events')
    for (const { user, annotations, responseStatus, objectRef } of events()) {
      assert.equal(user.username, 'admin')
      assert.equal(annotations['proxy.fleetsearch.dev/cluster'], 'member1')
      assert.equal(responseStatus.code, 200)
      assert.equal(objectRef.resource, 'proxying')
    }
  })

  it('D2: label, annotate, edit, replace, apply on both sides and diff leave nothing of ours in the member', async () => {
    await ok(['label', 'cm', 'one', 'team=shop'])
    assert.match(await ok(['get', 'cm', 'one', '--show-labels']), /team=shop/, 'what was written is read at once')
    await ok(['annotate', 'cm', 'one', 'note=x'])
    const editor = path.join(fleet.host.folder, 'editor.sh')
    await writeFile(editor, '#!/bin/sh\nsed -i \'s/a: "1"/a: "2"/\' "$1"\n')
    await chmod(editor, 0o755)
    await ok(['edit', 'cm', 'one'], { env: { KUBE_EDITOR: editor } })
    const edited = await configMap(member1)
    assert.deepEqual([edited.data.a, edited.metadata.labels.team, edited.metadata.annotations.note], ['2', 'shop', 'x'])
    clean(edited)
    const shown = JSON.parse(await ok(['get', 'cm', 'one', '-o', 'json'])) as Json
    assert.equal(shown.metadata.annotations[NAME], 'member1')
    const file = await manifest('shown.json', { ...shown, data: { a: '3' } })
    await ok(['replace', '-f', file])
    clean(await configMap(member1))
    const stale = await run(['replace', '-f', file])
    assert.equal(stale.code, 1)
    assert.match(stale.stderr, /Conflict|the object has been modified/)
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'default' } }
    const four = await manifest('four.json', { ...applied, data: { a: '4' } })
    const diff = await run(['diff', '-f', four])
    assert.equal(diff.code, 1, diff.stderr)
    assert.match(diff.stdout, /\+ {2}a: "4"/)
    await ok(['apply', '-f', four])
    const five = await manifest('five.json', { ...applied, data: { a: '5' } })
    await ok(['apply', '--server-side', '--force-conflicts', '-f', five])
    const last = await configMap(member1)
    assert.equal(last.data.a, '5')
    clean(last)
  })

  it('G8: patches of every form', async () => {
    await ok(['patch', 'cm', 'one', '--type=merge', '-p', '{"data":{"m":"1"}}'])
    await ok(['patch', 'cm', 'one', '--type=json', '-p', '[{"op":"add","path":"/data/j","value":"1"}]'])
    await ok(['patch', 'cm', 'one', '--type=strategic', '-p', '{"data":{"s":"1"}}'])
    await member1.ok(CONFIGMAPS, { body: { metadata: { name: 'bare' }, data: {} } })
    await until(async () => (await run(['get', 'cm', 'bare'])).code === 0, 'the new one')
    await ok([
      'patch',
      'cm',
      'bare',
      '--type=json',
      '-p',
      '[{"op":"add","path":"/metadata/annotations/x","value":"1"}]',
    ])
    assert.deepEqual((await configMap(member1, 'bare')).metadata.annotations, { x: '1' })
    const { data } = await configMap(member1)
    assert.deepEqual([data.m, data.j, data.s], ['1', '1', '1'])
  })

  it('scale, rollout restart, set image, cordon, drain, delete', async () => {
    await ok(['scale', 'deploy/web', '--replicas=3'])
    assert.equal((await deployment()).spec.replicas, 3)
    await ok(['rollout', 'restart', 'deploy/web'])
    await ok(['set', 'image', 'deploy/web', 'c=nginx:2'])
    const web = await deployment()
    assert.equal(web.spec.template.spec.containers[0].image, 'nginx:2')
    assert.ok(web.spec.template.metadata.annotations['kubectl.kubernetes.io/restartedAt'])
    clean(web)
    await ok(['cordon', 'n1'])
    assert.equal(((await member1.ok('/api/v1/nodes/n1')) as Json).spec.unschedulable, true)
    await ok(['drain', 'n1', '--dry-run=server', '--ignore-daemonsets'])
    await ok(['delete', 'cm', 'bare'])
    assert.equal((await run(['get', 'cm', 'bare'])).code, 1, 'it is gone from the answers at once')
    assert.equal((await member1.request(`${CONFIGMAPS}/bare`)).status, 404)
  })

  it('D1: the same name in two clusters is refused and nothing is written; a chosen cluster takes it', async () => {
    for (const args of [
      ['label', 'cm', 'both', 'a=b'],
      ['delete', 'cm', 'both'],
      ['patch', 'cm', 'both', '-p', '{"data":{"x":"1"}}'],
    ]) {
      const { code, stderr } = await run(args)
      assert.equal(code, 1)
      assert.match(stderr, /member1, member2/)
    }
    for (const member of fleet.members) {
      const { metadata, data } = await configMap(member, 'both')
      assert.deepEqual([metadata.labels, data], [undefined, undefined])
    }
    await ok(['label', 'cm', 'both', 'a=b'], { kubeconfig: chosen.get('member2')! })
    assert.deepEqual((await configMap(member2, 'both')).metadata.labels, { a: 'b' })
    assert.equal((await configMap(member1, 'both')).metadata.labels, undefined)
    await member2.ok(`${CONFIGMAPS}/both`, { method: 'DELETE' })
    await ok(['label', 'cm', 'both', 'c=d'])
    assert.deepEqual((await configMap(member1, 'both')).metadata.labels, { c: 'd' })
  })

  it('D5: create says how to choose a cluster, goes to the chosen one, and of unregistered kinds to the control plane', async () => {
    const refused = await run(['create', 'ns', 'nowhere'])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /choose one cluster by the path proxying\/cluster\.<NAME>/)
    await ok(['create', 'ns', 'here'], { kubeconfig: chosen.get('member2')! })
    assert.match(await ok(['get', 'ns', 'here']), /here/)
    assert.equal((await member1.request('/api/v1/namespaces/here')).status, 404)
    await ok(['create', 'secret', 'generic', 's', '--from-literal=a=b'])
    assert.equal((await fleet.host.request('/api/v1/namespaces/default/secrets/s')).status, 200)
    for (const member of fleet.members) {
      assert.equal((await member.request('/api/v1/namespaces/default/secrets/s')).status, 404)
    }
    await ok(['create', 'secret', 'generic', 'live', '--from-literal=a=b'], { kubeconfig: chosen.get('member1')! })
    assert.match(await ok(['get', 'secrets'], { kubeconfig: chosen.get('member1')! }), /live/)
  })

  it('F2: whoever has no rights in the members changes nothing there', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const rules = [{ apiGroups: ['search.karmada.io'], resources: ['proxying/proxy'], verbs: ['*'] }]
    await fleet.host.ok(`${rbac}/clusterroles`, { body: { metadata: { name: 'proxying' }, rules } })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'proxying' }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'team:bob' }]
    await fleet.host.ok(`${rbac}/clusterrolebindings`, { body: { metadata: { name: 'proxying' }, roleRef, subjects } })
    const attempt = (prefix: string, resource: string, method = 'DELETE') =>
      fleet.host.request(`${prefix}/api/v1/namespaces/default/${resource}`, { method, token: 'bob-token' })
    await until(async () => !/proxying/.test((await attempt(PROXY, 'configmaps/one')).text), 'the right to ask', 30_000)
    for (const [prefix, resource] of [
      [PROXY, 'configmaps/one'],
      [PROXY, 'secrets/s'],
      [`${BASE}/proxying/cluster.member1/proxy`, 'configmaps/one'],
      [`${BASE}/proxying/cluster.member1/proxy`, 'secrets/live'],
    ] as const) {
      const { status, text } = await attempt(prefix, resource)
      assert.equal(status, 403, text)
      assert.match(text, /team:bob/)
    }
    assert.equal((await configMap(member1)).data.a, '5')
  })

  it('a redacted kind: search and the cache do not tell the value, kubectl reads it live, and nothing is made of what is shown', async () => {
    const secret = 'hunter2-hunter2'
    await member1.ok(CONFIGMAPS, { body: { metadata: { name: 'hidden' }, data: { password: secret, user: 'root' } } })
    const cached = async (): Promise<Json> => {
      const path = `${BASE}/search/cache${CONFIGMAPS}/hidden`
      return ((await fleet.host.ok(path)) as Json).items[0]
    }
    const found = async (query: string): Promise<number> =>
      ((await fleet.host.ok(`${BASE}/search/query?q=${encodeURIComponent(query)}`)) as Json).total
    await until(async () => (await found(`data.password=${secret}`)) === 1, 'the search store')
    const registry = ['annotate', 'resourceregistries.search.karmada.io', 'all']
    const refused = await tryKubectl([...registry, 'fleetsearch.dev/redact=ConfigMap'], {
      kubeconfig: fleet.host.kubeconfigPath,
    })
    assert.match(refused.stderr, /must begin with|come paths as/)
    await ok([...registry, 'fleetsearch.dev/redact=ConfigMap: data.password'], {
      kubeconfig: fleet.host.kubeconfigPath,
    })
    await until(async () => (await cached())?.data.password === 'redacted', 'the redaction')
    await until(async () => (await found('data.password=redacted')) === 1, 'the store to be filled again')
    for (const query of [secret, `data.password=${secret}`, 'data.password~^hunter'])
      assert.equal(await found(query), 0)
    const shown = JSON.parse(await ok(['get', 'cm', 'hidden', '-o', 'json'], { kubeconfig: everywhere })) as Json
    assert.equal(shown.data.password, secret)
    const file = path.join(fleet.host.folder, 'redacted.json')
    await writeFile(file, JSON.stringify(await cached()))
    for (const verb of [['replace'], ['apply'], ['apply', '--server-side', '--force-conflicts']]) {
      const { code, stderr } = await tryKubectl([...verb, '-f', file], { kubeconfig: everywhere })
      assert.notEqual(code, 0)
      assert.match(stderr, /shown without some of its values/)
    }
    const held = (await member1.ok(`${CONFIGMAPS}/hidden`)) as Json
    assert.equal(held.data.password, secret)
    await ok(['label', 'cm', 'hidden', 'x=y'], { kubeconfig: everywhere })
    assert.equal(((await member1.ok(`${CONFIGMAPS}/hidden`)) as Json).data.password, secret)
  })
})

/** ResourceRegistries as an operator handles them: kubectl, a real APIService, an etcd that a karmada-search has used. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startKarmadaFleet, startServe, until, type KarmadaFleet, type ServeProcess } from '../support/karmada-fleet.ts'
import { startEtcd, type RealEtcd } from '../support/real-parts/etcd.ts'
import type { KubectlOptions, KubectlResult } from '../support/real-parts/index.ts'

const KEYS = '/registry/search.karmada.io/resourceRegistries'

const manifest = (name: string, kinds: readonly string[], metadata = ''): string => `
apiVersion: search.karmada.io/v1alpha1
kind: ResourceRegistry
metadata:
  name: ${name}
${metadata}
spec:
  targetCluster: {}
  resourceSelectors:
${kinds.map((kind) => `  - {apiVersion: v1, kind: ${kind}}`).join('\n')}
`

describe('registries in etcd behind an APIService', () => {
  let fleet: KarmadaFleet
  let etcd: RealEtcd
  let serve: ServeProcess
  const kubectl = (args: string, options: KubectlOptions = {}): Promise<string> =>
    fleet.host.kubectl(args.split(' '), options)
  const tryKubectl = (args: string, options: KubectlOptions = {}): Promise<KubectlResult> =>
    fleet.host.tryKubectl(args.split(' '), options)
  const selectors = async (name: string): Promise<string> =>
    kubectl(`get rr ${name} -o jsonpath={.spec.resourceSelectors[*].kind}`)

  before(async () => {
    ;[fleet, etcd] = await Promise.all([startKarmadaFleet(['m1']), startEtcd({ tls: true })])
    const value = readFileSync(new URL('../fixtures/karmada-search/etcd-value.json', import.meta.url), 'utf8')
    await etcd.put(`${KEYS}/all`, value)
    serve = await startServe(fleet.host, {
      flags: [
        `--etcd-servers=${etcd.urls.join(',')}`,
        `--etcd-cafile=${etcd.files.caFile}`,
        `--etcd-certfile=${etcd.files.certFile}`,
        `--etcd-keyfile=${etcd.files.keyFile}`,
      ],
    })
  })
  after(async () => {
    await serve?.stop()
    await Promise.all([fleet?.stop(), etcd?.stop()])
  })

  it('shows what a karmada-search left, in a table, and follows it', async () => {
    await until(async () => /all +1 +2 /.test(await kubectl('get rr')), 'both kinds of the one cluster')
    const table = await kubectl('get resourceregistries')
    assert.match(table, /^NAME +CLUSTERS +RESOURCES +OBJECTS +BACKEND +READY +AGE/)
    assert.match(await kubectl('get rr all -o yaml'), /uid: 3174c7c9-1fcf-4466-b582-421ab1950d0e/)
    assert.match(await kubectl('describe rr all'), /Kind: +Pod/)
    await kubectl('wait --for=condition=Ready rr/all --timeout=60s')
  })

  it('explains its fields', async () => {
    assert.match(await kubectl('explain resourceregistries'), /KIND: +ResourceRegistry/)
    assert.match(await kubectl('explain rr.spec.resourceSelectors --recursive'), /namespace\s+<string>/)
  })

  it('takes kubectl apply, and tells what would change', async () => {
    const options = { input: manifest('applied', ['Pod']) }
    assert.match(await kubectl('apply -f -', options), /applied created/)
    assert.match(await kubectl('apply -f -', options), /applied unchanged/)
    assert.equal((await tryKubectl('diff -f -', options)).code, 0)
    const changed = { input: manifest('applied', ['Pod', 'Node']) }
    const diff = await tryKubectl('diff -f -', changed)
    assert.equal(diff.code, 1, diff.stderr)
    assert.match(diff.stdout, /^\+.*kind: Node/m)
    assert.equal(await selectors('applied'), 'Pod', 'a diff changes nothing')
    assert.match(await kubectl('apply --dry-run=server -f -', changed), /configured \(server dry run\)/)
    assert.equal(await selectors('applied'), 'Pod')
    assert.match(await kubectl('apply -f -', changed), /applied configured/)
    assert.equal(await selectors('applied'), 'Pod Node')
  })

  it('applies on the server: owners, conflicts, taking over, giving up', async () => {
    const apply = (input: string, manager: string, more = ''): Promise<KubectlResult> =>
      tryKubectl(`apply --server-side --field-manager=${manager}${more} -f -`, { input })
    assert.match((await apply(manifest('owned', ['Pod'], '  labels: {team: a}'), 'one')).stdout, /serverside-applied/)
    const conflict = await apply(manifest('owned', ['Node']), 'two')
    assert.equal(conflict.code, 1)
    assert.match(conflict.stderr, /conflict with "one": \.spec\.resourceSelectors/)
    assert.equal((await apply(manifest('owned', ['Node']), 'two', ' --force-conflicts')).code, 0)
    assert.equal(await selectors('owned'), 'Node')
    assert.equal(
      (
        await apply(
          '{"apiVersion":"search.karmada.io/v1alpha1","kind":"ResourceRegistry","metadata":{"name":"owned"}}',
          'one',
        )
      ).code,
      0,
    )
    assert.equal(await kubectl('get rr owned -o jsonpath={.metadata.labels}'), '', 'nobody owns the label any more')
    assert.equal(await selectors('owned'), 'Node')
    const dry = await apply(manifest('owned', ['Pod']), 'two', ' --dry-run=server')
    assert.match(dry.stdout, /serverside-applied \(server dry run\)/)
    assert.equal(await selectors('owned'), 'Node')
  })

  it('lets kubectl go over from its own apply to that of the server', async () => {
    await kubectl('apply -f -', { input: manifest('migrated', ['Pod']) })
    await kubectl('apply --server-side -f -', { input: manifest('migrated', ['Node']) })
    assert.equal(await selectors('migrated'), 'Node')
    const managers = await kubectl(
      'get rr migrated --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}',
    )
    assert.doesNotMatch(managers, /kubectl-client-side-apply/)
  })

  it('takes the three kinds of patches', async () => {
    await kubectl('create -f -', { input: manifest('patched', ['Pod'], '  labels: {a: "1"}') })
    const patch = (type: string, body: unknown, more: string[] = []): Promise<KubectlResult> =>
      fleet.host.tryKubectl(['patch', 'rr', 'patched', `--type=${type}`, '-p', JSON.stringify(body), ...more])
    const node = { apiVersion: 'v1', kind: 'Node' }
    const added = await patch('json', [
      { op: 'test', path: '/metadata/labels/a', value: '1' },
      { op: 'add', path: '/spec/resourceSelectors/-', value: node },
    ])
    assert.equal(added.code, 0, added.stderr)
    assert.equal(await selectors('patched'), 'Pod Node')
    assert.match((await patch('json', [{ op: 'test', path: '/metadata/labels/a', value: '2' }])).stderr, /is another/)
    assert.equal((await patch('merge', { metadata: { labels: { a: null, b: '2' } } })).code, 0)
    assert.equal((await patch('strategic', { spec: { resourceSelectors: [node] } })).code, 0)
    assert.equal(await selectors('patched'), 'Node', 'lists are replaced')
    assert.equal(await kubectl('get rr patched -o jsonpath={.metadata.labels}'), '{"b":"2"}')
    const status = { status: { conditions: [] }, spec: { resourceSelectors: [] } }
    assert.equal((await patch('merge', status, ['--subresource=status'])).code, 0)
    assert.equal(await selectors('patched'), 'Node')
    assert.equal(await kubectl('get rr patched -o jsonpath={.metadata.generation}'), '3')
  })

  it('can be edited, labelled, replaced', async () => {
    await kubectl('create -f -', { input: manifest('edited', ['Pod']) })
    const editor = path.join(etcd.folder, 'editor.sh')
    await writeFile(editor, '#!/bin/sh\nsed -i.bak s/Pod/Secret/ "$1"\n')
    await chmod(editor, 0o755)
    assert.match(await kubectl('edit rr edited', { env: { KUBE_EDITOR: editor } }), /edited edited/)
    assert.equal(await selectors('edited'), 'Secret')
    await kubectl('label rr edited team=x')
    await kubectl('annotate rr edited note=y')
    assert.match(await kubectl('get rr -l team=x -o name'), /^resourceregistry.search.karmada.io\/edited$/m)
    await kubectl('replace -f -', { input: manifest('edited', ['Node']) })
    assert.equal(await selectors('edited'), 'Node')
    assert.equal(await kubectl('get rr -l team=x -o name'), '')
  })

  it('refuses what is wrong, in words', async () => {
    const invalid = await tryKubectl('apply -f -', { input: manifest('Bad_Name', ['""']) })
    assert.match(invalid.stderr, /metadata.name: Invalid value/)
    assert.match(invalid.stderr, /spec.resourceSelectors\[0\].kind: Required value/)
    const unknown = await tryKubectl('apply -f -', { input: manifest('unknown', ['Pod'], '  nonsense: 1') })
    assert.match(unknown.stderr, /unknown field "?metadata.nonsense/)
  })

  it('waits for the end of one that finalizers hold, and tells watchers', async () => {
    await kubectl('create -f -', { input: manifest('held', ['Pod'], '  finalizers: [example.com/hold]') })
    const abort = new AbortController()
    const watch = tryKubectl('get rr held -w --output-watch-events -o jsonpath={.type}', { signal: abort.signal })
    await kubectl('delete rr held --wait=false')
    assert.equal((await tryKubectl('wait --for=delete rr/held --timeout=1s')).code, 1)
    const deleted = kubectl('wait --for=delete rr/held --timeout=30s')
    await fleet.host.kubectl([
      'patch',
      'rr',
      'held',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/metadata/finalizers"}]',
    ])
    await deleted
    abort.abort()
    const { stdout } = await watch
    assert.match(stdout, /ADDED/)
    assert.match(stdout, /DELETED/)
    await kubectl('create -f -', { input: manifest('gone', ['Pod']) })
    await kubectl('delete rr gone --timeout=30s')
  })

  it('is in etcd as karmada-search keeps it', async () => {
    const stored = await etcd.get(`${KEYS}/applied`)
    const { metadata, kind, apiVersion } = JSON.parse(stored?.value ?? '') as Record<string, Record<string, unknown>>
    assert.deepEqual([kind, apiVersion], ['ResourceRegistry', 'search.karmada.io/v1alpha1'])
    assert.equal(metadata?.['resourceVersion'], undefined)
    assert.equal(await kubectl('get rr applied -o jsonpath={.metadata.resourceVersion}'), stored?.modRevision)
    await serve.restart()
    assert.equal(await selectors('applied'), 'Pod Node')
  })

  it('is told of an etcd that hangs or dies; the APIService stays, and all is well when it is back', async () => {
    const available = (): Promise<string> =>
      kubectl(
        'get apiservice v1alpha1.search.karmada.io -o jsonpath={.status.conditions[?(@.type=="Available")].status}',
      )
    const [member] = etcd.members
    member!.process.signal('STOP')
    const start = performance.now()
    assert.match((await tryKubectl('get rr')).stderr, /registries in etcd .* are not available/)
    assert.ok(performance.now() - start < 15_000)
    assert.equal((await fleet.host.request('/apis/search.karmada.io/v1alpha1')).status, 200)
    assert.equal((await fleet.host.request('/apis/search.karmada.io/v1alpha1/search/cache/api/v1/nodes')).status, 200)
    assert.equal(await available(), 'True')
    member!.process.signal('CONT')
    await member!.kill()
    assert.match((await tryKubectl('get rr')).stderr, /not available/)
    assert.equal(await available(), 'True')
    await member!.start()
    assert.equal(await selectors('applied'), 'Pod Node')
  })
})

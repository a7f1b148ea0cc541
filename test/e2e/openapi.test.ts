/** What kubectl makes of our OpenAPI behind a real kube-apiserver, which merges it into its own. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startKarmadaFleet, startServe, until, type KarmadaFleet, type ServeProcess } from '../support/karmada-fleet.ts'
import { tryKubectl, type KubectlResult } from '../support/real-parts/index.ts'

const DOCUMENT = '/openapi/v3/apis/search.karmada.io/v1alpha1'

const registry = (kind: string, targetCluster: object = {}): string =>
  JSON.stringify({
    apiVersion: 'search.karmada.io/v1alpha1',
    kind: 'ResourceRegistry',
    metadata: { name: 'explained' },
    spec: { targetCluster, resourceSelectors: [{ apiVersion: 'v1', kind }] },
  })

describe('OpenAPI behind a kube-apiserver', () => {
  let fleet: KarmadaFleet
  let serve: ServeProcess

  before(async () => {
    fleet = await startKarmadaFleet([])
    serve = await startServe(fleet.host)
    await until(
      async () => (await fleet.host.request('/openapi/v3')).text.includes(DOCUMENT),
      'the index of OpenAPI v3',
    )
    await until(async () => (await fleet.host.request('/openapi/v2')).text.includes('v1alpha1.ResourceRegistry'), 'v2')
  })
  after(async () => {
    await serve?.stop()
    await fleet?.stop()
  })

  const kubectl = (args: readonly string[], input = ''): Promise<KubectlResult> =>
    tryKubectl(args, { kubeconfig: fleet.host.kubeconfigPath, input })

  it('explain shows every field', async () => {
    const { code, stdout } = await kubectl(['explain', 'resourceregistry', '--recursive'])
    assert.equal(code, 0)
    assert.match(stdout, /^ {6}fieldSelector\t<FieldSelector>$/m)
    assert.match(stdout, /^ {8}secretRef\t<LocalSecretReference>$/m)
    assert.match(stdout, /^ {4}resourceSelectors\t<\[\]ResourceSelector> -required-$/m)
    assert.match(stdout, /^ {6}lastTransitionTime\t<string> -required-$/m)
    assert.match(stdout, /^ {4}managedFields\t<\[\]ManagedFieldsEntry>$/m)
    for (const what of ['rr.spec.backendStore', 'rr.metadata.ownerReferences', 'search', 'proxying']) {
      assert.equal((await kubectl(['explain', what])).code, 0, what)
    }
    assert.equal((await kubectl(['explain', 'rr', '--output=plaintext-openapiv2'])).code, 0)
  })

  it('diff and apply: unknown fields are refused or warned of, nothing differs once it is applied', async () => {
    assert.equal((await kubectl(['diff', '-f', '-'], registry('Pod'))).code, 1)
    assert.equal((await kubectl(['apply', '--validate=strict', '-f', '-'], registry('Pod'))).code, 0)
    assert.equal((await kubectl(['diff', '-f', '-'], registry('Pod'))).stdout, '')
    const unknown = registry('Pod', { clusters: [] })
    const refused = await kubectl(['apply', '-f', '-'], unknown)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /unknown field "spec.targetCluster.clusters"/)
    const warned = await kubectl(['apply', '--validate=warn', '-f', '-'], unknown)
    assert.equal(warned.code, 0)
    assert.match(warned.stderr, /Warning: unknown field "spec.targetCluster.clusters"/)
  })

  it('a list that is changed is replaced as a whole, by client-side and by server-side apply', async () => {
    for (const how of [[], ['--server-side', '--force-conflicts']]) {
      for (const kind of ['Service', 'Secret']) {
        assert.match(
          (await kubectl(['diff', ...how, '-f', '-'], registry(kind))).stdout,
          new RegExp(`^\\+.*${kind}$`, 'm'),
        )
        assert.equal((await kubectl(['apply', ...how, '-f', '-'], registry(kind))).code, 0)
        const shown = await kubectl(['get', 'rr', 'explained', '-o', 'jsonpath={.spec.resourceSelectors[*].kind}'])
        assert.equal(shown.stdout, kind)
      }
    }
  })

  it('a document asked for by the hash of an older release still comes through', async () => {
    assert.equal((await fleet.host.request(`${DOCUMENT}?hash=OLD`)).status, 200)
  })
})

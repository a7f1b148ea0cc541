import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../src/kube/columns/column.ts'
import { compileFieldSelector, parseFieldSelector } from '../../src/kube/field-selector.ts'
import type { GroupVersionKind } from '../../src/kube/group-version.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { lookup, titleOf, vectorsOf } from './apimachinery.ts'

const refusal = (message: string) => (error: unknown) => isStatusError(error, 'badRequest') && error.message === message

describe('parseFieldSelector says what Kubernetes says', () => {
  for (const { text, objects, error, matches, printed } of vectorsOf('field')) {
    if (error !== '') {
      test(`refuses ${titleOf(text)}`, () => {
        assert.throws(() => parseFieldSelector(text), refusal(error))
      })
    } else {
      test(`takes ${titleOf(text)}`, () => {
        const selector = parseFieldSelector(text)
        assert.equal(selector.toString(), printed)
        assert.deepEqual(
          objects.map((fields) => selector.matches((field) => lookup(fields, field) ?? '')),
          matches,
        )
      })
    }
  }
})

const POD: GroupVersionKind = { group: '', version: 'v1', kind: 'Pod' }

const selects = (gvk: GroupVersionKind, text: string, object: JsonObject, selectable?: readonly string[]): boolean =>
  compileFieldSelector(parseFieldSelector(text), gvk, selectable)(object)

describe('compileFieldSelector', () => {
  const pod = {
    metadata: { name: 'web', namespace: 'shop' },
    spec: { nodeName: 'n1', restartPolicy: 'Always', schedulerName: 'default-scheduler', serviceAccountName: 'web' },
    status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] },
  }

  test('E4: selects pods by their node, phase and the rest', () => {
    for (const text of [
      'metadata.name=web,metadata.namespace=shop',
      'spec.nodeName=n1',
      'spec.host=n1',
      'spec.restartPolicy=Always',
      'spec.schedulerName==default-scheduler',
      'spec.serviceAccountName=web',
      'spec.hostNetwork=false',
      'status.phase!=Pending',
      'status.podIP=10.0.0.1',
      'status.podIPs=',
      'status.nominatedNodeName=',
    ]) {
      assert.equal(selects(POD, text, pod), true, text)
    }
    assert.equal(selects(POD, 'spec.nodeName=', { metadata: { name: 'pending' } }), true)
    assert.equal(selects(POD, 'spec.nodeName!=n1', pod), false)
    assert.equal(selects(POD, 'spec.hostNetwork=true', { spec: { hostNetwork: true } }), true)
  })

  test('E4: refuses a field that the kind does not know', () => {
    assert.throws(() => selects(POD, 'spec.image=x', pod), refusal('field label not supported: spec.image'))
    assert.throws(() => selects(POD, 'constructor=x', pod), refusal('field label not supported: constructor'))
    const deployment = { group: 'apps', version: 'v1', kind: 'Deployment' }
    assert.throws(() => selects(deployment, 'spec.nodeName=x', {}), refusal('field label not supported: spec.nodeName'))
  })

  const known: readonly (readonly [group: string, kind: string, text: string, object: JsonObject])[] = [
    ['', 'Node', 'spec.unschedulable=true', { spec: { unschedulable: true } }],
    ['', 'Node', 'spec.unschedulable=false', {}],
    ['', 'Namespace', 'status.phase=Active', { status: { phase: 'Active' } }],
    ['', 'Secret', 'type=Opaque', { type: 'Opaque' }],
    ['', 'Service', 'spec.type=ClusterIP,spec.clusterIP=None', { spec: { type: 'ClusterIP', clusterIP: 'None' } }],
    ['', 'ReplicationController', 'status.replicas=3', { status: { replicas: 3 } }],
    ['', 'ReplicationController', 'status.replicas=0', {}],
    ['', 'Event', 'involvedObject.kind=Pod,reason=Killing,type=Normal', coreEvent()],
    ['', 'Event', 'source=kubelet', coreEvent()],
    ['', 'Event', 'source=scheduler,reportingComponent=scheduler', { reportingComponent: 'scheduler' }],
    ['events.k8s.io', 'Event', 'regarding.name=web,reportingController=kubelet', eventV1()],
    ['batch', 'Job', 'status.successful=1', { status: { succeeded: 1 } }],
    ['certificates.k8s.io', 'CertificateSigningRequest', 'spec.signerName=a/b', { spec: { signerName: 'a/b' } }],
    ['resource.k8s.io', 'ResourceSlice', 'spec.driver=gpu', { spec: { driver: 'gpu' } }],
    ['example.com', 'Widget', 'metadata.name=a', { metadata: { name: 'a' } }],
  ]
  for (const [group, kind, text, object] of known) {
    test(`selects ${kind} by ${text}`, () => {
      const gvk = { group, version: 'v1', kind }
      assert.equal(selects(gvk, text, object), true)
      assert.equal(selects(gvk, text.replace('=', '!='), object), false)
    })
  }

  test('knows the selectable fields of a CustomResourceDefinition', () => {
    const widget = { group: 'example.com', version: 'v1', kind: 'Widget' }
    const selectable = ['.spec.color', '.spec.size', '.spec.on']
    const object = { spec: { color: 'blue', size: 3, on: false } }
    assert.equal(selects(widget, 'spec.color=blue,spec.size=3,spec.on=false', object, selectable), true)
    assert.equal(selects(widget, 'spec.color=', { spec: {} }, selectable), true)
    assert.throws(
      () => selects(widget, 'spec.shape=', object, selectable),
      refusal('field label not supported: spec.shape'),
    )
  })

  test('survives objects of any shape', () => {
    for (const object of [
      {},
      { metadata: null },
      { metadata: 'x', spec: [], status: 7 },
      { status: { podIPs: 'x' } },
    ]) {
      assert.equal(selects(POD, 'spec.nodeName=,status.podIP=,metadata.name=', object), true)
    }
  })
})

function coreEvent(): JsonObject {
  return { involvedObject: { kind: 'Pod' }, reason: 'Killing', type: 'Normal', source: { component: 'kubelet' } }
}

function eventV1(): JsonObject {
  return { regarding: { name: 'web' }, reportingController: 'kubelet' }
}

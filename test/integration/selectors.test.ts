/** Our selectors against a real kube-apiserver: which fields each kind knows, and what is said about malformed ones. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { compileFieldSelector, parseFieldSelector } from '../../src/kube/field-selector.ts'
import { parseApiVersion, resourcePath } from '../../src/kube/group-version.ts'
import { parseLabelSelector } from '../../src/kube/label-selector.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { vectorsOf } from '../kube/apimachinery.ts'
import type { RealCluster } from '../support/real-parts/index.ts'
import { listableResources } from '../support/real-parts/discover.ts'
import { startControlPlane } from '../support/real-parts/index.ts'

/** Group, kind and the path of its list. */
const KINDS: readonly (readonly [group: string, kind: string, path: string])[] = [
  ['', 'Pod', '/api/v1/pods'],
  ['', 'Event', '/api/v1/events'],
  ['', 'Node', '/api/v1/nodes'],
  ['', 'Namespace', '/api/v1/namespaces'],
  ['', 'Secret', '/api/v1/secrets'],
  ['', 'Service', '/api/v1/services'],
  ['', 'ConfigMap', '/api/v1/configmaps'],
  ['', 'ReplicationController', '/api/v1/replicationcontrollers'],
  ['', 'PersistentVolumeClaim', '/api/v1/persistentvolumeclaims'],
  ['apps', 'Deployment', '/apis/apps/v1/deployments'],
  ['apps', 'ReplicaSet', '/apis/apps/v1/replicasets'],
  ['apps', 'StatefulSet', '/apis/apps/v1/statefulsets'],
  ['batch', 'Job', '/apis/batch/v1/jobs'],
  ['batch', 'CronJob', '/apis/batch/v1/cronjobs'],
  ['certificates.k8s.io', 'CertificateSigningRequest', '/apis/certificates.k8s.io/v1/certificatesigningrequests'],
  ['events.k8s.io', 'Event', '/apis/events.k8s.io/v1/events'],
  ['resource.k8s.io', 'ResourceSlice', '/apis/resource.k8s.io/v1/resourceslices'],
  ['coordination.k8s.io', 'Lease', '/apis/coordination.k8s.io/v1/leases'],
  ['apiextensions.k8s.io', 'CustomResourceDefinition', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
]

const REFERENCE = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']
const FIELDS: readonly string[] = [
  ...['metadata.name', 'metadata.namespace', 'metadata.uid', 'name', 'kind', 'type', 'reason', 'source', 'message'],
  ...['spec.nodeName', 'spec.host', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName'],
  ...['spec.hostNetwork', 'spec.unschedulable', 'spec.type', 'spec.clusterIP', 'spec.replicas', 'spec.signerName'],
  ...['spec.driver', 'spec.podName', 'status.phase', 'status.podIP', 'status.podIPs', 'status.nominatedNodeName'],
  ...['status.replicas', 'status.successful', 'status.succeeded', 'reportingComponent', 'reportingController'],
  ...REFERENCE.flatMap((field) => [`involvedObject.${field}`, `regarding.${field}`]),
]

function messageOf(parse: () => unknown): string | undefined {
  try {
    parse()
    return undefined
  } catch (error) {
    assert.ok(isStatusError(error, 'badRequest'), String(error))
    return error.message
  }
}

describe('selectors beside a real API server', () => {
  let cluster: RealCluster
  before(async () => {
    cluster = await startControlPlane({ name: 'selectors' })
  })
  after(() => cluster.stop())

  for (const [group, kind, path] of KINDS) {
    test(`E4: knows the fields of ${kind} in ${group || 'the core group'}`, async () => {
      for (const field of FIELDS) {
        const theirs = await cluster.request(`${path}?limit=1&fieldSelector=${encodeURIComponent(`${field}=x`)}`)
        const selector = parseFieldSelector(`${field}=x`)
        const ours = messageOf(() => compileFieldSelector(selector, { group, version: 'v1', kind }))
        assert.equal(ours === undefined ? 200 : 400, theirs.status, `${field}: ${theirs.text.slice(0, 200)}`)
      }
    })
  }

  test('E6: knows the fields of every built-in kind', async () => {
    const resources = (await listableResources(cluster)).filter(({ name }) => !name.includes('/'))
    assert.ok(resources.length > 60, String(resources.length))
    for (const { apiVersion, kind, name } of resources) {
      const gv = parseApiVersion(apiVersion)!
      for (const field of FIELDS) {
        const path = `${resourcePath({ ...gv, resource: name })}?limit=1&fieldSelector=${encodeURIComponent(`${field}=x`)}`
        const theirs = await cluster.request(path)
        const ours = messageOf(() => compileFieldSelector(parseFieldSelector(`${field}=x`), { ...gv, kind }))
        assert.equal(ours === undefined ? 200 : 400, theirs.status, `${apiVersion} ${kind} ${field}`)
      }
    }
  })

  test('E6: says about malformed selectors what it says', async () => {
    for (const [kind, parameter, parse] of [
      ['label', 'labelSelector', parseLabelSelector],
      ['field', 'fieldSelector', parseFieldSelector],
    ] as const) {
      for (const { text } of vectorsOf(kind).filter(({ error }) => error !== '')) {
        const answer = await cluster.request(`/api/v1/pods?${parameter}=${encodeURIComponent(text)}`)
        assert.equal(answer.status, 400, text)
        const { message } = answer.json() as { message: string }
        assert.equal(
          messageOf(() => parse(text)),
          message,
        )
      }
    }
  })
})

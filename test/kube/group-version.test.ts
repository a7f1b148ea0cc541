import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  apiVersionOf,
  groupResourceKey,
  groupVersionPath,
  gvrKey,
  parseApiVersion,
  resourcePath,
} from '../../src/kube/group-version.ts'

const pods = { group: '', version: 'v1', resource: 'pods' }
const deployments = { group: 'apps', version: 'v1', resource: 'deployments' }

describe('names of types', () => {
  test('an apiVersion survives parsing and writing', () => {
    for (const text of ['v1', 'apps/v1', 'search.karmada.io/v1alpha1']) {
      const parsed = parseApiVersion(text)
      assert.ok(parsed !== undefined)
      assert.equal(apiVersionOf(parsed), text)
    }
    assert.deepEqual(parseApiVersion('v1'), { group: '', version: 'v1' })
    assert.deepEqual(parseApiVersion('apps/v1'), { group: 'apps', version: 'v1' })
  })

  test('an apiVersion with more parts or empty ones is none', () => {
    for (const text of ['', '/', 'a/', '/v1', 'a/b/c']) assert.equal(parseApiVersion(text), undefined, text)
  })

  test('keys name a resource with and without its version', () => {
    assert.equal(gvrKey(pods), 'v1/pods')
    assert.equal(gvrKey(deployments), 'apps/v1/deployments')
    assert.equal(groupResourceKey(pods), 'pods')
    assert.equal(groupResourceKey(deployments), 'deployments.apps')
  })

  test('paths are those of a kube-apiserver', () => {
    assert.equal(groupVersionPath(pods), '/api/v1')
    assert.equal(groupVersionPath(deployments), '/apis/apps/v1')
    assert.equal(resourcePath(pods), '/api/v1/pods')
    assert.equal(resourcePath(pods, 'shop'), '/api/v1/namespaces/shop/pods')
    assert.equal(resourcePath(deployments, 'shop', 'web'), '/apis/apps/v1/namespaces/shop/deployments/web')
    assert.equal(resourcePath({ ...pods, resource: 'nodes' }, '', 'a:b c'), '/api/v1/nodes/a%3Ab%20c')
  })
})

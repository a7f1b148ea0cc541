import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { resourcePath } from '../../src/kube/group-version.ts'
import type { ResourcePath } from '../../src/kube/resource-path.ts'
import { parseResourcePath } from '../../src/kube/resource-path.ts'

const v1 = { group: '', version: 'v1' }
const apps = { group: 'apps', version: 'v1' }

const paths: readonly (readonly [path: string, expected: ResourcePath])[] = [
  ['/api/v1/pods', { ...v1, resource: 'pods' }],
  ['/api/v1/pods/', { ...v1, resource: 'pods' }],
  ['/api/v1/nodes/n1', { ...v1, resource: 'nodes', name: 'n1' }],
  ['/api/v1/nodes/n1/status', { ...v1, resource: 'nodes', name: 'n1', subresource: 'status' }],
  ['/api/v1/namespaces', { ...v1, resource: 'namespaces' }],
  ['/api/v1/namespaces/a', { ...v1, resource: 'namespaces', name: 'a' }],
  ['/api/v1/namespaces/a/', { ...v1, resource: 'namespaces', name: 'a' }],
  ['/api/v1/namespaces/a/status', { ...v1, resource: 'namespaces', name: 'a', subresource: 'status' }],
  ['/api/v1/namespaces/a/finalize', { ...v1, resource: 'namespaces', name: 'a', subresource: 'finalize' }],
  ['/api/v1/namespaces/a/pods', { ...v1, namespace: 'a', resource: 'pods' }],
  ['/api/v1/namespaces/a/pods/p', { ...v1, namespace: 'a', resource: 'pods', name: 'p' }],
  ['/api/v1/namespaces/a/pods/p/log', { ...v1, namespace: 'a', resource: 'pods', name: 'p', subresource: 'log' }],
  ['/apis/apps/v1/deployments', { ...apps, resource: 'deployments' }],
  [
    '/apis/apps/v1/namespaces/a/deployments/d/scale',
    { ...apps, namespace: 'a', resource: 'deployments', name: 'd', subresource: 'scale' },
  ],
  ['/api/v1/watch/pods', { ...v1, resource: 'pods', watch: true }],
  ['/api/v1/watch/namespaces/a/pods/p', { ...v1, namespace: 'a', resource: 'pods', name: 'p', watch: true }],
  ['/api/v1/watch', { ...v1, resource: 'watch' }],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
    { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', name: 'system:node' },
  ],
  ['/api/v1/pods/a%20b', { ...v1, resource: 'pods', name: 'a b' }],
  ['/api/v1/pods/%E6%BC%A2', { ...v1, resource: 'pods', name: '漢' }],
]

/** What stands behind `proxy` is the application's. */
const proxied: readonly (readonly [path: string, subresource: string])[] = [
  ['proxy', 'proxy'],
  ['proxy/', 'proxy/'],
  ['proxy/a%2Fb//c/../d/', 'proxy/a%2Fb//c/../d/'],
  ['proxy//', 'proxy//'],
]

const others = [
  '',
  '/',
  'api/v1/pods',
  '/api',
  '/api/v1',
  '/api/v1/',
  '/apis',
  '/apis/apps',
  '/apis/apps/v1',
  '/version',
  '/openapi/v3/api/v1',
  '/apix/v1/pods',
  '//api/v1/pods',
  '/api//v1/pods',
  '/api/v1//pods',
  '/apis//v1/deployments',
  '/api/v1/pods//',
  '/api/v1/pods//log',
  '/api/v1/namespaces//pods',
  '/api/v1/namespaces/../pods',
  '/api/v1/./pods',
  '/api/v1/namespaces/%2e%2e/pods',
  '/api/v1/pods/a%2fb',
  '/api/v1/pods/a%2Fb',
  '/api/v1/pods/a%00',
  '/api/v1/pods/a%zz',
  '/api/v1/pods/%ff',
  '/api/v1/pods/p/../q',
  '/api/v1/pods/p/log/..',
]

describe('parseResourcePath', () => {
  for (const [path, expected] of paths) {
    test(`reads ${path}`, () => {
      assert.deepEqual(parseResourcePath(path), expected)
    })
  }
  for (const [path, subresource] of proxied) {
    test(`leaves …/${path} as it came`, () => {
      assert.equal(parseResourcePath(`/api/v1/namespaces/a/services/s/${path}`)?.subresource, subresource)
    })
  }
  for (const path of others) {
    test(`takes ${JSON.stringify(path)} for no resource`, () => {
      assert.equal(parseResourcePath(path), undefined)
    })
  }

  test('reads back every path that resourcePath writes', () => {
    const word = fc
      .stringMatching(/^[a-z][a-z0-9.:-]{0,8}[a-z]$/)
      .filter((text) => !/^(watch|namespaces|proxy)$/.test(text))
    fc.assert(
      fc.property(fc.constantFrom('', 'apps', 'a.b.c'), word, word, fc.option(word), fc.option(word), (...parts) => {
        const [group, version, resource, namespace, name] = parts
        const path = resourcePath({ group, version, resource }, namespace ?? undefined, name ?? undefined)
        assert.deepEqual(parseResourcePath(path), {
          group,
          version,
          resource,
          ...(namespace === null ? {} : { namespace }),
          ...(name === null ? {} : { name }),
        })
      }),
    )
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareVersionPriority } from '../../src/kube/version-priority.ts'

test('versions order as Kubernetes orders them', () => {
  const shuffled = [
    'foo10',
    'v1beta1',
    'v11alpha2',
    'v2',
    'v1',
    'foo1',
    'v3beta1',
    'v12alpha1',
    'v10',
    'v11beta2',
    'v1beta10',
    'v0',
  ]
  assert.deepEqual(shuffled.sort(compareVersionPriority), [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v3beta1',
    'v1beta10',
    'v1beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
    'v0',
  ])
})

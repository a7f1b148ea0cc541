import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forbidden } from '../../src/http/forbidden.ts'

const USER = { name: '<b>\u0001', uid: '', groups: [], extra: {} }

test('a refusal is a kube-apiserver’s to the letter: Go quotes, no HTML, the reason as the authorizer said it', () => {
  const what = { verb: 'get', group: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'a', name: 'b' }
  const { message, details } = forbidden(USER, what, '<role>').toStatus()
  assert.equal(
    message,
    'deployments.apps "b" is forbidden: User "&lt;b&gt;\\x01" cannot get resource "deployments/scale" in API group "apps" in the namespace "a": <role>',
  )
  assert.deepEqual(details, { name: 'b', group: 'apps', kind: 'deployments' })
  const path = forbidden(USER, { verb: 'get', path: '/metrics' })
  assert.equal(path.message, 'forbidden: User "&lt;b&gt;\\x01" cannot get path "/metrics"')
})

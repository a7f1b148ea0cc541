import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redact, redactUrl } from '../../src/fleet/redact.ts'

test('credentials are taken out of what others wrote, and the rest stays', () => {
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'
  for (const [text, clean] of [
    ['Authorization: Bearer abc.def-123', 'Authorization: Bearer [redacted]'],
    [`token is ${jwt}!`, 'token is [redacted token]!'],
    ['GET https://user:pa%3Ass@host:1/x failed', 'GET https://[redacted]@host:1/x failed'],
    ['{"access_token":"s3cr3t","user":"bob"}', '{"access_token":[redacted],"user":"bob"}'],
    ['password=hunter2, try again', 'password=[redacted], try again'],
    ['client-key-data: LS0tLS1CRUdJTg==', 'client-key-data: [redacted]'],
    ['-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nafter', '[redacted key] after'],
    ['session expired,\n  run: aws sso login', 'session expired, run: aws sso login'],
    ['pods is forbidden: User "x" cannot list', 'pods is forbidden: User "x" cannot list'],
  ] as const) {
    assert.equal(redact(text), clean)
  }
})

test('a long text is cut', () => {
  const cut = redact('word '.repeat(1_000))
  assert.equal(cut.length, 300)
  assert.ok(cut.endsWith('…'))
})

test('a URL is shown without user, query and fragment', () => {
  assert.equal(redactUrl('https://user:secret@host:6443/k8s/?token=x#y'), 'https://host:6443/k8s/')
  assert.equal(redactUrl('https://host'), 'https://host')
  assert.equal(redactUrl('secret text'), '[unreadable URL]')
})

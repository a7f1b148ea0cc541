import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, it } from 'node:test'
import request from 'supertest'
import { createCors, originPattern } from '../../src/apiserver/cors.ts'

describe('cross-origin requests', () => {
  const cors = createCors([originPattern('^https://[a-z]+\\.example\\.com(:|$)')])
  const server = createServer((incoming, response) => {
    if (!cors(incoming, response)) response.end('answered')
  })
  const ask = (method: 'get' | 'options', origin?: string) =>
    origin === undefined ? request(server)[method]('/') : request(server)[method]('/').set('Origin', origin)

  it('lets a page of an allowed origin read, with its credentials', async () => {
    const { headers, text } = await ask('get', 'https://console.example.com:8443')
    assert.equal(headers['access-control-allow-origin'], 'https://console.example.com:8443')
    assert.equal(headers['access-control-allow-credentials'], 'true')
    assert.equal(headers['access-control-expose-headers'], 'Date')
    assert.equal(text, 'answered')
  })

  it('answers its preflight before anybody asks who it is', async () => {
    const { status, headers, text } = await ask('options', 'https://console.example.com')
    assert.equal(status, 204)
    assert.match(headers['access-control-allow-methods'] ?? '', /PATCH/)
    assert.equal(text, '')
  })

  it('says nothing to other origins, whose preflights are requests as any other; caches keep the two apart', async () => {
    for (const origin of [
      'https://example.com',
      'https://a.example.com.evil.test',
      `https://${'a'.repeat(600)}`,
      'null',
    ]) {
      const { headers, text } = await ask('options', origin)
      assert.equal(headers['access-control-allow-origin'], undefined, origin)
      assert.equal(headers['vary'], 'Origin')
      assert.equal(text, 'answered')
    }
    assert.equal((await ask('get')).headers['access-control-allow-origin'], undefined)
  })

  it('takes the part of Go’s regular expressions that means the same here, and says so of the rest', () => {
    for (const good of ['//localhost(:|$)', '^http://(a|b)\\d+\\.test$', '(?i)^https://A$', '//[\\w-]{1,3}?:']) {
      originPattern(good)
    }
    for (const bad of ['\\A//a:', '//[[:alpha:]]:', '//\\pL:', '//(?P<x>a):', '//(a)\\1:', '//(?=a):', '//(?s)a:']) {
      assert.throws(() => originPattern(bad), /Go's regular expressions/, bad)
    }
    for (const bad of ['//(a:', '//a{2,1}:', '//a**:']) assert.throws(() => originPattern(bad), SyntaxError, bad)
    for (const bad of ['example.com', '^https://example.com', '//(?:a)', 'example.com$']) {
      assert.throws(() => originPattern(bad), /must hold on/, bad)
    }
  })
})

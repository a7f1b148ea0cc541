import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentProxy } from '../../src/fleet/environment-proxy.ts'

const PROXY = 'http://proxy:3128'

test('the variable of the scheme counts, in either case, with or without a scheme of its own', () => {
  const server = 'https://api.example.com:6443'
  assert.equal(environmentProxy(server, { HTTPS_PROXY: PROXY }), PROXY)
  assert.equal(environmentProxy(server, { https_proxy: 'proxy:3128' }), PROXY)
  assert.equal(environmentProxy(server, { HTTP_PROXY: PROXY }), undefined)
  assert.equal(environmentProxy('http://api.example.com', { HTTP_PROXY: PROXY }), PROXY)
  assert.equal(environmentProxy(server, { HTTPS_PROXY: 'socks5://proxy:1080' }), 'socks5://proxy:1080')
  assert.equal(environmentProxy(server, {}), undefined)
  assert.equal(environmentProxy('no url', { HTTPS_PROXY: PROXY }), undefined)
})

test('loopback is never proxied', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]']) {
    assert.equal(environmentProxy(`https://${host}:6443`, { HTTPS_PROXY: PROXY }), undefined, host)
  }
})

test('NO_PROXY: names, subdomains, ports, addresses, ranges, everything', () => {
  for (const [rule, host, proxied] of [
    ['example.com', 'example.com', false],
    ['example.com', 'api.example.com', false],
    ['example.com', 'badexample.com', true],
    ['.example.com', 'example.com', true],
    ['.example.com', 'API.example.com', false],
    ['*.example.com', 'api.example.com', false],
    ['api.example.com:6443', 'api.example.com:6443', false],
    ['api.example.com:6443', 'api.example.com', true],
    ['api.example.com:443', 'api.example.com', false],
    ['10.0.0.1', '10.0.0.1', false],
    ['10.0.0.0/8, fd00::/8', '10.200.3.4:6443', false],
    ['10.0.0.0/8,fd00::/8', '[fd00::1]', false],
    ['10.0.0.0/8', '11.0.0.1', true],
    ['10.0.0.0/8', 'ten.example.com', true],
    ['10.0.0.0/99,x/y,,', '10.0.0.1', true],
    ['*', 'anything', false],
  ] as const) {
    const found = environmentProxy(`https://${host}`, { HTTPS_PROXY: PROXY, NO_PROXY: rule })
    assert.equal(found, proxied ? PROXY : undefined, `${rule} for ${host}`)
  }
})

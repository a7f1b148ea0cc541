import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readOnly } from '../../src/apiserver/authz/read-only.ts'
import { subjectAccessReviewAuthorizer } from '../../src/apiserver/authz/subject-access-review.ts'
import { lasting, requestAttributes, type Lasting, type RequestAttributes } from '../../src/apiserver/request-info.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { FakeClock } from '../support/fake-clock.ts'

const BASE = '/apis/search.karmada.io/v1alpha1'
const BOB: UserInfo = { name: 'bob', uid: '', groups: ['dev'], extra: {} }
const signal = new AbortController().signal

function attributes(method: string, url: string): RequestAttributes {
  const { pathname, searchParams } = new URL(url, 'http://server')
  return requestAttributes(method, pathname, searchParams)
}

describe('request attributes', () => {
  const ours = { isResource: true, group: 'search.karmada.io', version: 'v1alpha1' } as const
  const cases: [string, string, object][] = [
    ['GET', `${BASE}/search/cache/api/v1/pods`, { verb: 'get', resource: 'search', name: 'cache', subresource: 'api' }],
    [
      'GET',
      `${BASE}/search/cache/apis/apps/v1/deployments`,
      { verb: 'get', resource: 'search', name: 'cache', subresource: 'apis' },
    ],
    ['GET', `${BASE}/search/query?q=a`, { verb: 'get', resource: 'search', name: 'query', subresource: '' }],
    ['POST', `${BASE}/search/query`, { verb: 'create', resource: 'search', name: 'query', subresource: '' }],
    [
      'DELETE',
      `${BASE}/proxying/x/proxy/api/v1/pods`,
      { verb: 'delete', resource: 'proxying', name: 'x', subresource: 'proxy' },
    ],
    ['HEAD', `${BASE}/proxying/x/proxy/api`, { verb: 'get', resource: 'proxying', name: 'x', subresource: 'proxy' }],
    ['GET', `${BASE}/resourceregistries`, { verb: 'list', resource: 'resourceregistries', name: '', subresource: '' }],
    [
      'GET',
      `${BASE}/resourceregistries?watch=1`,
      { verb: 'watch', resource: 'resourceregistries', name: '', subresource: '' },
    ],
    [
      'DELETE',
      `${BASE}/resourceregistries`,
      { verb: 'deletecollection', resource: 'resourceregistries', name: '', subresource: '' },
    ],
    [
      'PUT',
      `${BASE}/resourceregistries/a/status`,
      { verb: 'update', resource: 'resourceregistries', name: 'a', subresource: 'status' },
    ],
  ]
  for (const [method, url, expected] of cases) {
    it(`${method} ${url}`, () => {
      assert.deepEqual(attributes(method, url), { ...ours, ...expected })
    })
  }
  it('reads watch as the handlers do', () => {
    for (const [value, verb] of [
      ['', 'watch'],
      ['TRUE', 'watch'],
      ['FALSE', 'list'],
      ['0', 'list'],
    ]) {
      assert.equal(attributes('GET', `${BASE}/resourceregistries?watch=${value}`).verb, verb, String(value))
    }
  })

  it('refuses paths that could be read in two ways', () => {
    for (const tail of [
      '/search/cache/../query',
      '/search/%2e%2E/x',
      '/search/./cache',
      '/search//query',
      '/search/query//',
      '/resourceregistries//a',
      '/resourceregistries/a%2Fstatus',
      '/resourceregistries/a%2fstatus',
      '/resourceregistries/a%5Cb',
      '/resourceregistries/a\\b',
      '/resourceregistries/a%00',
      '/resourceregistries/%zz',
      '/resourceregistries/a/%',
      '/proxying/..%2f..%2fapi/proxy',
    ]) {
      assert.throws(
        () => requestAttributes('GET', `${BASE}${tail}`, new URLSearchParams()),
        (error) => isStatusError(error, 'badRequest'),
        tail,
      )
    }
    assert.equal(attributes('GET', `${BASE}/resourceregistries/`).verb, 'list')
    assert.equal(requestAttributes('GET', `${BASE}/search/cache/api//x`, new URLSearchParams()).isResource, true)
  })

  it('knows what lasts, and takes nothing else for it', () => {
    const lasts = (method: string, tail: string): Lasting | undefined => {
      const [path = '', query = ''] = `${BASE}${tail}`.split('?', 2)
      const params = new URLSearchParams(query)
      return lasting(requestAttributes(method, path, params), path, params)
    }
    const proxied = '/proxying/x/proxy/api/v1'
    for (const tail of [
      '/resourceregistries?watch=1',
      `${proxied}/pods?watch=true`,
      `${proxied}/watch/pods`,
      '/search/query/proxy?watch=true',
    ]) {
      assert.equal(lasts('GET', tail), 'watch', tail)
    }
    for (const tail of [
      '/search/query/proxy?format=csv',
      `${proxied}/namespaces/a/pods/p/log?follow=true`,
      `${proxied}/namespaces/a/services/s/proxy/some/path`,
    ]) {
      assert.equal(lasts('GET', tail), 'stream', tail)
    }
    assert.equal(lasts('POST', `${proxied}/namespaces/a/pods/p/exec?command=ls`), 'stream')
    for (const tail of [
      '/resourceregistries',
      '/resourceregistries/a?watch=1',
      '/search/query?watch=1',
      '/search/aggregate/proxy?watch=1',
      '/search/cache/api/v1/pods?watch=1',
      `${proxied}/pods`,
      `${proxied}/namespaces/a/pods/p?watch=1`,
      '/proxying/x/proxy/version?watch=1',
    ]) {
      assert.equal(lasts('GET', tail), undefined, tail)
    }
    assert.equal(lasts('DELETE', `${proxied}/pods?watch=1`), undefined)
  })

  it('knows paths that are no resource', () => {
    assert.deepEqual(attributes('GET', '/metrics'), { isResource: false, verb: 'get', path: '/metrics' })
    assert.deepEqual(attributes('GET', BASE), { isResource: false, verb: 'get', path: BASE })
  })
})

describe('SubjectAccessReview', () => {
  function authorizer(answer: () => unknown) {
    const clock = new FakeClock()
    const reviews: unknown[] = []
    const authorize = subjectAccessReviewAuthorizer({
      post: (review) => {
        reviews.push(review)
        return Promise.resolve(answer())
      },
      authorizedTtlMs: 10_000,
      unauthorizedTtlMs: 5_000,
      monotonicMs: () => clock.monotonicMs(),
      signal,
    })
    return { clock, reviews, authorize }
  }
  const get = attributes('GET', `${BASE}/search/query`)

  it('asks with the caller’s whole identity', async () => {
    const { reviews, authorize } = authorizer(() => ({ status: { allowed: true } }))
    const user = { name: 'bob', uid: 'u1', groups: ['dev'], extra: { scopes: ['a'] } }
    assert.deepEqual(await authorize(user, get, signal), { allowed: true, reason: '' })
    assert.deepEqual(reviews, [
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: 'bob',
          groups: ['dev'],
          uid: 'u1',
          extra: { scopes: ['a'] },
          resourceAttributes: {
            verb: 'get',
            group: 'search.karmada.io',
            version: 'v1alpha1',
            resource: 'search',
            subresource: '',
            name: 'query',
          },
        },
      },
    ])
  })

  it('remembers what was allowed and what was denied, each for its time', async () => {
    let allowed = true
    const { clock, reviews, authorize } = authorizer(() => ({ status: { allowed } }))
    await authorize(BOB, get, signal)
    await clock.advance(9_000)
    await authorize(BOB, get, signal)
    assert.equal(reviews.length, 1)
    await clock.advance(2_000)
    allowed = false
    assert.equal((await authorize(BOB, get, signal)).allowed, false)
    await clock.advance(4_000)
    await authorize(BOB, get, signal)
    assert.equal(reviews.length, 2)
    await clock.advance(2_000)
    await authorize(BOB, get, signal)
    assert.equal(reviews.length, 3)
  })

  it('does not confuse callers', async () => {
    const { reviews, authorize } = authorizer(() => ({ status: { allowed: true } }))
    await authorize(BOB, get, signal)
    await authorize({ ...BOB, groups: ['ops'] }, get, signal)
    assert.equal(reviews.length, 2)
  })

  it('fails closed: no answer, a strange answer, allowed and denied at once', async () => {
    for (const answer of [
      null,
      {},
      { status: {} },
      { status: { allowed: 'true' } },
      { status: { allowed: true, denied: true } },
    ]) {
      const { authorize } = authorizer(() => answer)
      assert.equal((await authorize(BOB, get, signal)).allowed, false, JSON.stringify(answer))
    }
    const { authorize } = authorizer(() => {
      throw new Error('connection refused to https://secret-host')
    })
    await assert.rejects(
      authorize(BOB, get, signal),
      (error) => isStatusError(error, 'serviceUnavailable') && !error.message.includes('secret-host'),
    )
  })

  it('asks once for all who ask the same at the same time, and again after it failed', async () => {
    let fails = true
    const { reviews, authorize } = authorizer(() => {
      if (fails) throw new Error('down')
      return { status: { allowed: true } }
    })
    const asked = await Promise.allSettled(Array.from({ length: 50 }, () => authorize(BOB, get, signal)))
    assert.ok(asked.every(({ status }) => status === 'rejected'))
    assert.equal(reviews.length, 1)
    fails = false
    assert.equal((await authorize(BOB, get, signal)).allowed, true)
    assert.equal(reviews.length, 2)
  })

  it('does not remember questions that callers blow up, and does remember users of many groups', async () => {
    const { reviews, authorize } = authorizer(() => ({ status: { allowed: true } }))
    const groups = Array.from({ length: 500 }, (_, at) => `cn=group-${at},ou=groups,dc=example,dc=org`)
    for (let i = 0; i < 2; i++) await authorize({ ...BOB, groups }, get, signal)
    assert.equal(reviews.length, 1)
    const long = attributes('GET', `/${'a'.repeat(20_000)}`)
    for (let i = 0; i < 2; i++) await authorize(BOB, long, signal)
    assert.equal(reviews.length, 3)
  })

  it('bounds what is asked at once', async () => {
    const authorize = subjectAccessReviewAuthorizer({
      post: () => new Promise(() => undefined),
      authorizedTtlMs: 0,
      unauthorizedTtlMs: 0,
      monotonicMs: () => 0,
      signal,
    })
    for (let i = 0; i < 1_024; i++) void authorize({ ...BOB, name: `user-${i}` }, get, signal)
    await assert.rejects(
      authorize(BOB, get, signal),
      (error) => isStatusError(error, 'tooManyRequests') && error.details?.retryAfterSeconds === 1,
    )
  })

  it('does not ask for system:masters', async () => {
    const { reviews, authorize } = authorizer(() => ({}))
    assert.equal((await authorize({ ...BOB, groups: ['system:masters'] }, get, signal)).allowed, true)
    assert.equal(reviews.length, 0)
  })
})

describe('the rights of demo and up', () => {
  const allowed = async (method: string, url: string): Promise<boolean> =>
    (await readOnly(BOB, attributes(method, url), signal)).allowed

  it('reads everything', async () => {
    for (const path of ['/version', `${BASE}/search/query?q=a`, `${BASE}/resourceregistries?watch=1`]) {
      for (const method of ['GET', 'HEAD', 'OPTIONS']) assert.equal(await allowed(method, path), true, path)
    }
    assert.equal(await allowed('POST', `${BASE}/search/query`), true)
  })

  it('changes no registry', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const path of ['', '/a', '/a/status']) {
        assert.equal(await allowed(method, `${BASE}/resourceregistries${path}`), false, `${method} ${path}`)
      }
    }
  })

  it('lets the proxy say what it does not forward', async () => {
    assert.equal(await allowed('DELETE', `${BASE}/proxying/x/proxy/api/v1/namespaces/a/pods/b`), true)
  })
})

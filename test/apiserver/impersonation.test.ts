import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { impersonate } from '../../src/apiserver/authn/impersonation.ts'
import type { RequestAttributes } from '../../src/apiserver/request-info.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import { isStatusError } from '../../src/kube/status-error.ts'

const BOB: UserInfo = { name: 'bob', uid: '', groups: ['dev'], extra: {} }
const signal = new AbortController().signal

async function actAs(...rawHeaders: string[]): Promise<{ user: UserInfo; asked: string[] }> {
  const asked: string[] = []
  const authorize = (caller: UserInfo, attributes: RequestAttributes) => {
    assert.equal(caller, BOB)
    assert.ok(attributes.isResource)
    const { verb, group, resource, subresource, name, namespace } = attributes
    const what = subresource === '' ? resource : `${resource}/${subresource}`
    asked.push(
      `${verb} ${group === '' ? '' : `${group}/`}${what} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
    )
    return Promise.resolve({ allowed: true, reason: '' })
  }
  const request = { rawHeaders } as unknown as IncomingMessage
  return { user: await impersonate(BOB, request, authorize, signal), asked }
}

describe('impersonation', () => {
  it('is nothing where no header asks for it', async () => {
    const { user, asked } = await actAs('X-Remote-User', 'admin', 'Accept', '*/*')
    assert.equal(user, BOB)
    assert.deepEqual(asked, [])
  })

  it('asks for each part of the identity', async () => {
    const { user, asked } = await actAs(
      ...['Impersonate-User', 'alice', 'Impersonate-Group', 'a, b', 'impersonate-group', 'c'],
      ...[
        'Impersonate-Extra-Example.org%2fTeam',
        'x',
        'Impersonate-Extra-example.org%2FTeam',
        'y',
        'Impersonate-Uid',
        '7',
      ],
    )
    assert.deepEqual(asked, [
      'impersonate users alice',
      'impersonate groups a, b',
      'impersonate groups c',
      'impersonate authentication.k8s.io/userextras/example.org/team x',
      'impersonate authentication.k8s.io/userextras/example.org/team y',
      'impersonate authentication.k8s.io/uids 7',
    ])
    assert.deepEqual(
      { ...user, extra: { ...user.extra } },
      {
        name: 'alice',
        uid: '7',
        groups: ['a, b', 'c', 'system:authenticated'],
        extra: { 'example.org/team': ['x', 'y'] },
      },
    )
  })

  it('knows service accounts and their groups', async () => {
    const { user, asked } = await actAs('Impersonate-User', 'system:serviceaccount:ns:robot')
    assert.deepEqual(asked, ['impersonate serviceaccounts ns/robot'])
    assert.deepEqual(user.groups, ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'])
    for (const name of ['system:serviceaccount:ns', 'system:serviceaccount:NS:x', 'system:serviceaccount:a:b:c']) {
      assert.deepEqual((await actAs('Impersonate-User', name)).asked, [`impersonate users ${name}`])
    }
  })

  it('adds who is authenticated, and who is not', async () => {
    const groups = async (user: string, ...more: string[]): Promise<readonly string[]> =>
      (await actAs('Impersonate-User', user, ...more.flatMap((group) => ['Impersonate-Group', group]))).user.groups
    assert.deepEqual(await groups('alice'), ['system:authenticated'])
    assert.deepEqual(await groups('alice', 'system:unauthenticated'), ['system:unauthenticated'])
    assert.deepEqual(await groups('system:anonymous'), ['system:unauthenticated'])
    assert.deepEqual(await groups('system:anonymous', 'a'), ['a', 'system:unauthenticated'])
  })

  it('refuses text that is not UTF-8', async () => {
    await assert.rejects(actAs('Impersonate-User', 'a\u00ff'), (error) => isStatusError(error, 'unauthorized'))
  })
})

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, test } from 'node:test'
import { controlPlaneInstallation, folderInstallation } from '../../src/app/installation.ts'
import { INSTALLATION } from '../../src/backendstore/search-engine/index-names.ts'
import { isBackendStoreError } from '../../src/backendstore/errors.ts'
import type { MemberClient, MemberRequest } from '../../src/fleet/member.ts'

describe('the installation of a control plane', () => {
  const answers: { status: number; body: unknown }[] = []
  const asked: string[] = []
  const client = {
    request({ path }: MemberRequest) {
      asked.push(path)
      const { status, body } = answers.shift() ?? { status: 0, body: undefined }
      if (status === 0) return Promise.reject(new Error('the connection broke'))
      return Promise.resolve({ status, bytes: () => Promise.resolve(Buffer.from(JSON.stringify(body))) })
    },
  } as unknown as MemberClient
  const uid = '5f3a91c2-77aa-4d0e-9f3b-0a1b2c3d4e5f'

  it('is told by its namespace kube-system, asked until that was answered once', async () => {
    const installation = controlPlaneInstallation(client)
    const refused = async (code: 'forbidden' | 'unavailable' | 'unreachable'): Promise<void> => {
      await assert.rejects(installation(), (error) => {
        assert.equal(isBackendStoreError(error, code), true, String(error))
        assert.match(String(error), /namespace kube-system.*--installation-id/)
        return true
      })
    }
    answers.push({ status: 403, body: {} })
    await refused('forbidden')
    answers.push({ status: 200, body: { metadata: { uid: '' } } })
    await refused('unavailable')
    await refused('unreachable')
    answers.push({ status: 200, body: { metadata: { uid } } })
    assert.equal(await installation(), '5f3a91c277aa')
    assert.equal(await installation(), '5f3a91c277aa')
    assert.deepEqual(new Set(asked), new Set(['/api/v1/namespaces/kube-system']))
    assert.equal(asked.length, 4)
    assert.match('5f3a91c277aa', INSTALLATION)
  })
})

test('the installation of a data folder stays with the folder, and no two are the same', async (t) => {
  const folders = await Promise.all([1, 2].map(() => mkdtemp(path.join(tmpdir(), 'fleetsearch-installation-'))))
  t.after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))
  const [one, two] = folders.map((folder) => folderInstallation(folder))
  const first = await one!()
  assert.match(first, INSTALLATION)
  assert.equal(await folderInstallation(folders[0]!)(), first)
  assert.notEqual(await two!(), first)
})

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { servingCertificate } from '../../src/app/serving-certificate.ts'

describe('serving certificate', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-test-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('is made once, kept, and its key readable by its owner alone', async () => {
    const certDir = path.join(folder, 'made')
    const none = { tlsCertFile: undefined, tlsPrivateKeyFile: undefined, certDir }
    const made = await servingCertificate(none, Date.now())
    assert.deepEqual(await servingCertificate(none, Date.now()), made)
    const { subjectAltName } = new X509Certificate(made.certificate)
    assert.match(subjectAltName ?? '', /DNS:karmada-search\.karmada-system\.svc/)
    assert.equal((await stat(path.join(certDir, 'apiserver.key'))).mode & 0o777, 0o600)
  })

  it('is never made in place of one that was named', async () => {
    const missing = {
      tlsCertFile: path.join(folder, 'no.crt'),
      tlsPrivateKeyFile: path.join(folder, 'no.key'),
      certDir: folder,
    }
    await assert.rejects(servingCertificate(missing, Date.now()), { code: 'ENOENT' })
    await writeFile(path.join(folder, 'a.crt'), 'C')
    await writeFile(path.join(folder, 'a.key'), 'K')
    const named = {
      tlsCertFile: path.join(folder, 'a.crt'),
      tlsPrivateKeyFile: path.join(folder, 'a.key'),
      certDir: folder,
    }
    assert.deepEqual(await servingCertificate(named, Date.now()), { certificate: 'C', key: 'K' })
  })
})

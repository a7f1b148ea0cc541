import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { servingCertificateFiles } from '../../src/app/serving-certificate.ts'

describe('serving certificate', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-test-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('is made once, kept, and its key readable by its owner alone', async () => {
    const certDir = path.join(folder, 'made')
    const none = { tlsCertFile: undefined, tlsPrivateKeyFile: undefined, certDir }
    const { certFile, keyFile } = await servingCertificateFiles(none, Date.now())
    const made = await readFile(certFile, 'utf8')
    await servingCertificateFiles(none, Date.now())
    assert.equal(await readFile(certFile, 'utf8'), made)
    const { subjectAltName } = new X509Certificate(made)
    assert.match(subjectAltName ?? '', /DNS:karmada-search\.karmada-system\.svc/)
    assert.equal((await stat(keyFile)).mode & 0o777, 0o600)
  })

  it('is never made in place of one that was named', async () => {
    const named = {
      tlsCertFile: path.join(folder, 'no.crt'),
      tlsPrivateKeyFile: path.join(folder, 'no.key'),
      certDir: folder,
    }
    const files = await servingCertificateFiles(named, Date.now())
    assert.deepEqual(files, { certFile: named.tlsCertFile, keyFile: named.tlsPrivateKeyFile })
    assert.equal(existsSync(named.tlsCertFile), false)
  })
})

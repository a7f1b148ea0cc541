/** Puts the objects of test/fixtures/tables into a real kube-apiserver. */
import { createAuthority, newCertificateRequestPem } from './certificates.ts'
import { Collections } from './real-parts/discover.ts'
import type { RealCluster } from './real-parts/index.ts'
import { tableFixtureTexts, type FixtureObject } from './table-fixtures.ts'

/** Creates them in order, gives them their status, and deletes those that are to be terminating. */
export async function createTableObjects(cluster: RealCluster, files: readonly string[]): Promise<void> {
  const collections = new Collections(cluster)
  for (const text of files.flatMap((file) => tableFixtureTexts(file, Date.now()))) {
    const object = JSON.parse(text) as FixtureObject
    const { apiVersion, kind, metadata } = object
    const path = await collections.path(apiVersion, kind, metadata.namespace ?? 'default')
    // The text, not the object: integers beyond 2^53.
    const body = await withCertificates(text)
    const created = (await cluster.ok(path, { headers: { 'content-type': 'application/json' }, body })) as FixtureObject
    if (object.status !== undefined && !apiVersion.startsWith('example.com/')) {
      await cluster.ok(`${path}/${metadata.name}/status`, {
        method: 'PUT',
        body: { ...created, status: object.status },
      })
    }
    if (metadata.annotations?.['test/delete'] === 'true') {
      await cluster.ok(`${path}/${metadata.name}`, { method: 'DELETE' })
    }
  }
}

async function withCertificates(text: string): Promise<string> {
  if (text.includes('<csr>')) {
    return text.replace('<csr>', Buffer.from(await newCertificateRequestPem('jane')).toString('base64'))
  }
  if (!text.includes('"<ca>"')) return text
  const { certPem } = await createAuthority('bundle')
  return text.replace('"<ca>"', JSON.stringify(certPem))
}

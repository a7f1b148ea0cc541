/** Certificates of `serve`, taken over from their files whenever these change. */
import { commonTls, type TlsOptions } from '../apiserver/server.ts'
import { ServerCertificates, type NamedCertificate } from '../apiserver/tls/certificates.ts'
import type { Clock, Random } from '../util/clock.ts'
import type { ServingConfig } from './options/serving-config.ts'
import { servingCertificateFiles } from './serving-certificate.ts'
import type { WatchedFiles } from './watched-files.ts'

/** Rejects where a certificate cannot be used. */
export async function tlsOptions(
  serving: ServingConfig,
  files: WatchedFiles,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<TlsOptions> {
  const { certFile, keyFile } = await servingCertificateFiles(serving, clock.nowMs())
  const common = commonTls(serving.tlsMinVersion, serving.tlsCiphers, serving.tlsCurves)
  let certificates: ServerCertificates | undefined
  await files.add('serving certificate', [certFile, keyFile], ([certificate = '', key = '']) => {
    if (certificates === undefined) certificates = new ServerCertificates(common, { certificate, key })
    else certificates.replaceFallback({ certificate, key })
  })
  const loaded = certificates as unknown as ServerCertificates // `add` has called back, or rejected
  const { sniCertificates } = serving
  if (sniCertificates.length > 0) {
    const names = sniCertificates.flatMap((entry) => [entry.certFile, entry.keyFile])
    await files.add('certificates by server name', names, (contents) => {
      loaded.replaceNamed(
        sniCertificates.map((entry, at): NamedCertificate => ({
          certificate: contents[2 * at] ?? '',
          key: contents[2 * at + 1] ?? '',
          names: entry.names,
        })),
      )
    })
  }
  return {
    certificates: loaded,
    http2: serving.http2,
    http2MaxStreams: serving.http2MaxStreams,
    goawayChance: serving.goawayChance,
    random,
  }
}

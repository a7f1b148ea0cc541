/** How registries are encrypted in etcd, by the file that says so, which may change while we run. */
import { parseEncryptionConfiguration } from '../registry/encryption/encryption-configuration.ts'
import { PLAIN, type ValueTransformer } from '../registry/encryption/value-transformer.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { EncryptionFile } from './options/etcd-config.ts'
import type { Runtime } from './runtime.ts'
import { WatchedFiles } from './watched-files.ts'

/** Rejects where the file cannot be used; later on what was in force before stays. */
export async function registryEncryption(
  { file, reload }: EncryptionFile,
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  lifecycle: Lifecycle,
  onFault: (error: unknown) => void,
): Promise<ValueTransformer> {
  let current = PLAIN
  const files = new WatchedFiles(clock, log)
  await files.add('encryption of registries', [file], ([text = '']) => {
    current = parseEncryptionConfiguration(text)
  })
  if (reload) lifecycle.run('encryption of registries', (signal) => files.run(signal), onFault)
  return {
    toStorage: (text, key) => current.toStorage(text, key),
    fromStorage: (stored, key) => current.fromStorage(stored, key),
  }
}

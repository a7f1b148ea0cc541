/** Where ResourceRegistries are kept: in etcd where one is given, else in a file of the data folder. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { EtcdRegistryStore } from '../registry/etcd/registry-store.ts'
import type { ValueTransformer } from '../registry/encryption/value-transformer.ts'
import type { RegistryStore } from '../registry/registry-store.ts'
import { SqliteRegistryStore } from '../registry/sqlite/registry-store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Registry } from '../telemetry/metrics.ts'
import type { Clock, Random } from '../util/clock.ts'
import type { EtcdConfig } from './options/etcd-config.ts'

export interface RegistryStoreOptions {
  readonly etcd?: EtcdConfig | undefined
  /** How values stand in etcd; default: plain. */
  readonly transformer?: ValueTransformer | undefined
  /** Folder of the file, and of whatever else a service keeps. */
  readonly folder: string
  /** Largest size of the file; more is answered like a full disk. Default: what the disk holds. */
  readonly maxRegistryBytes?: number
}

/** Throws where the file cannot be used. An etcd is connected at the first use, and may come up later. */
export function openRegistryStore(
  { etcd, transformer, folder, maxRegistryBytes }: RegistryStoreOptions,
  { log, clock, random }: { readonly log: Logger; readonly clock: Clock; readonly random: Random },
  metrics: Registry,
): RegistryStore {
  if (etcd !== undefined) {
    log.info({ servers: etcd.servers, prefix: etcd.prefix }, 'registries are kept in etcd')
    return new EtcdRegistryStore({ ...etcd, transformer, clock, random, logger: log, metrics })
  }
  const file = path.join(folder, 'registries.db')
  if (!existsSync(file) && existsSync(path.join(folder, 'search.db'))) {
    log.warn({ file }, 'the registries of this folder are gone; it begins without any')
  }
  return new SqliteRegistryStore({
    path: file,
    onUnreadable: (registry, err) => {
      log.error({ err, registry, file }, 'a stored registry cannot be read and is left out; create it anew')
    },
    nowMs: () => clock.nowMs(),
    ...(maxRegistryBytes === undefined ? {} : { maxBytes: maxRegistryBytes }),
  })
}

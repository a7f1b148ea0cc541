/** Flags of the etcd that ResourceRegistries are kept in. */
import { readFileSync } from 'node:fs'
import { parseEncryptionConfiguration } from '../../registry/encryption/encryption-configuration.ts'
import type { FlagReader } from './flag-reader.ts'

export interface EtcdConfig {
  /** `http://HOST:PORT` or `https://HOST:PORT`; at least one. */
  readonly servers: readonly string[]
  readonly prefix: string
  /** 0: revisions are never compacted. */
  readonly compactionIntervalMs: number
  /** Of `/healthz/etcd`, and of `/readyz/etcd-readiness`. */
  readonly healthcheckTimeoutMs: number
  readonly readycheckTimeoutMs: number
  readonly files: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string }
  /** Undefined: values stand in etcd as they are. */
  readonly encryption?: EncryptionFile
}

export interface EncryptionFile {
  readonly file: string
  /** Taken over when it changes. */
  readonly reload: boolean
}

/** What 0 means. Source: apiserver pkg/storage/storagebackend/factory/etcd3.go. */
const CHECK_MS = 2_000

const RESOURCE = 'search.karmada.io/resourceregistries'

/** Undefined: no etcd is given. */
export function etcdConfig(flags: FlagReader): EtcdConfig | undefined {
  const caFile = flags.file('etcd-cafile')
  const certFile = flags.file('etcd-certfile')
  const keyFile = flags.file('etcd-keyfile')
  if ((certFile === undefined) !== (keyFile === undefined)) {
    flags.faults.push('--etcd-certfile and --etcd-keyfile go together')
  }
  const scheme = caFile === undefined && certFile === undefined ? 'http' : 'https'
  const own = overrideOf(flags)
  const given = own ?? flags.list('etcd-servers').map((server) => ({ flag: 'etcd-servers', server }))
  const servers = given.flatMap(({ flag, server }) => serverUrl(flag, server, scheme, flags))
  const compactionIntervalMs = flags.durationMs('etcd-compaction-interval')
  const healthcheckTimeoutMs = flags.durationMs('etcd-healthcheck-timeout') || CHECK_MS
  const readycheckTimeoutMs = flags.durationMs('etcd-readycheck-timeout') || CHECK_MS
  const encryption = encryptionFile(flags)
  if (servers.length === 0) {
    // Who asks for encryption must not find values in plain text in a file.
    if (encryption !== undefined) flags.faults.push('--encryption-provider-config needs --etcd-servers')
    return undefined
  }
  return {
    servers,
    prefix: flags.text('etcd-prefix') ?? '/registry',
    compactionIntervalMs,
    healthcheckTimeoutMs,
    readycheckTimeoutMs,
    files: {
      ...(caFile === undefined ? {} : { caFile }),
      ...(certFile === undefined ? {} : { certFile }),
      ...(keyFile === undefined ? {} : { keyFile }),
    },
    ...(encryption === undefined ? {} : { encryption }),
  }
}

function encryptionFile(flags: FlagReader): EncryptionFile | undefined {
  const flag = 'encryption-provider-config'
  const file = flags.text(flag)
  const reload = flags.bool(`${flag}-automatic-reload`)
  if (file === undefined) {
    if (reload) flags.faults.push(`--${flag}-automatic-reload needs --${flag}`)
    return undefined
  }
  try {
    parseEncryptionConfiguration(readFileSync(file, 'utf8'))
  } catch (error) {
    flags.faults.push(`--${flag}: ${(error as Error).message}`)
  }
  return { file, reload }
}

interface GivenServer {
  readonly flag: string
  readonly server: string
}

/** `GROUP/RESOURCE#SERVER;SERVER`, as far as it is about registries. Source: apiserver pkg/server/options/etcd.go. */
function overrideOf(flags: FlagReader): readonly GivenServer[] | undefined {
  const flag = 'etcd-servers-overrides'
  let own: readonly GivenServer[] | undefined
  for (const text of flags.list(flag)) {
    const [resource = '', servers = '', ...rest] = text.split('#')
    if (!/^[^/]*\/[^/]+$/.test(resource) || servers === '' || rest.length > 0) {
      flags.faults.push(`--${flag}: expected GROUP/RESOURCE#SERVER;SERVER, not ${text}`)
    } else if (resource === RESOURCE) {
      own = servers.split(';').map((server) => ({ flag, server: server.trim() }))
    }
  }
  return own
}

/** Nothing, and a fault noted, for what is no server. One without a scheme has that of the files given. */
function serverUrl(flag: string, server: string, scheme: string, flags: FlagReader): string[] {
  const text = server.includes('://') ? server : `${scheme}://${server}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isServer = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.host !== ''
  if (isServer && url.search === '' && (url.pathname === '/' || url.pathname === '')) return [url.origin]
  flags.faults.push(
    `--${flag}: expected http://HOST:PORT or https://HOST:PORT, not ${server.replace(/\/\/.*@/, '//…@')}`,
  )
  return []
}

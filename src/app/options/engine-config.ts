/**
 * The search engine of `demo` and `up` in place of the embedded store: `--opensearch-url` or `--elasticsearch-url`. Who we
 * are there is told by the environment or a file, never on the command line, which every process of the machine can read.
 */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { readAddresses } from '../../backendstore/engine-address.ts'
import type { EngineCredentials, EngineEndpoint, EngineKind } from '../../backendstore/engine-store.ts'
import { INSTALLATION } from '../../backendstore/search-engine/index-names.ts'
import type { Environment } from './environment.ts'
import type { FlagReader } from './flag-reader.ts'
import type { FlagSpec } from './flag-spec.ts'

const KINDS: readonly EngineKind[] = ['opensearch', 'elasticsearch']

const flagOf = (kind: EngineKind): string => `${kind}-url`
const CREDENTIALS_FLAG = 'search-credentials-file'

const ENVIRONMENT = {
  opensearch: 'OPENSEARCH_USERNAME, OPENSEARCH_PASSWORD, OPENSEARCH_API_KEY, OPENSEARCH_CA_FILE',
  elasticsearch: 'ELASTICSEARCH_USERNAME, ELASTICSEARCH_PASSWORD, ELASTICSEARCH_API_KEY, ELASTICSEARCH_CA_FILE',
} as const

export const ENGINE_FLAGS: readonly FlagSpec[] = [
  {
    name: flagOf('opensearch'),
    group: 'local',
    type: 'strings',
    default: '',
    honoured: `Nodes of an OpenSearch (2.7 or later, 3) to search in, in place of the embedded store. Credentials: --${CREDENTIALS_FLAG}, else $${ENVIRONMENT.opensearch.replaceAll(', ', ', $')}.`,
  },
  {
    name: flagOf('elasticsearch'),
    group: 'local',
    type: 'strings',
    default: '',
    honoured: `The same for Elasticsearch 8 or 9, with $${ENVIRONMENT.elasticsearch.replaceAll(', ', ', $')}.`,
  },
  {
    name: CREDENTIALS_FLAG,
    group: 'local',
    type: 'string',
    honoured: 'YAML file with username, password, apiKey and ca.crt (PEM), as the Secret of a registry has them.',
  },
]

const INSTALLATION_FLAG = 'installation-id'

export const INSTALLATION_ID: FlagSpec = {
  name: INSTALLATION_FLAG,
  group: 'local',
  type: 'string',
  honoured:
    'What names this installation in search engines that several share: 1 to 32 of a-z and 0-9, part of the names of its indices. Default: of the control plane (serve), of the data folder (up), or demo.',
}

export function installationId(flags: FlagReader): string | undefined {
  const id = flags.text(INSTALLATION_FLAG)
  if (id !== undefined && !INSTALLATION.test(id)) flags.faults.push(`--${INSTALLATION_FLAG}: 1 to 32 of a-z and 0-9`)
  return id
}

/** Undefined: the embedded store. */
export function engineConfig(flags: FlagReader, env: Environment): EngineEndpoint | undefined {
  const named = KINDS.filter((kind) => flags.list(flagOf(kind)).length > 0)
  const [kind] = named
  if (named.length > 1) flags.faults.push('--opensearch-url and --elasticsearch-url: only one of them')
  if (kind === undefined) {
    if (flags.text(CREDENTIALS_FLAG) !== undefined)
      flags.faults.push(`--${CREDENTIALS_FLAG} without a URL of an engine`)
    return undefined
  }
  const addresses = addressesOf(kind, flags)
  const file = flags.text(CREDENTIALS_FLAG)
  const credentials = file === undefined ? fromEnvironment(kind, env, flags) : fromFile(file, flags)
  return { kind, addresses, credentials }
}

function addressesOf(kind: EngineKind, flags: FlagReader): readonly string[] {
  const name = flagOf(kind)
  const given = flags.list(name)
  try {
    const { urls, credentials } = readAddresses(given)
    if (credentials.username !== undefined) {
      flags.faults.push(`--${name}: credentials stand in the environment or a file, not in a URL`)
    }
    if (urls.some((url) => !/^https?:/.test(url))) flags.faults.push(`--${name}: only http and https`)
    return urls
  } catch {
    flags.faults.push(`--${name}: is no URL`)
    return []
  }
}

function fromEnvironment(kind: EngineKind, env: Environment, flags: FlagReader): EngineCredentials {
  const of = (part: string): string | undefined => env[`${kind.toUpperCase()}_${part}`] || undefined
  const caFile = of('CA_FILE')
  return made({
    username: of('USERNAME'),
    password: of('PASSWORD'),
    apiKey: of('API_KEY'),
    ca: caFile === undefined ? undefined : readText(caFile, `$${kind.toUpperCase()}_CA_FILE`, flags),
  })
}

function fromFile(file: string, flags: FlagReader): EngineCredentials {
  const text = readText(file, `--${CREDENTIALS_FLAG}`, flags)
  if (text === undefined) return {}
  let found: unknown
  try {
    found = parse(text)
  } catch {
    found = undefined // what stands there is not repeated
  }
  if (typeof found !== 'object' || found === null) {
    flags.faults.push(`--${CREDENTIALS_FLAG}: is no YAML mapping`)
    return {}
  }
  const entries = found as Readonly<Record<string, unknown>>
  const of = (...names: readonly string[]): string | undefined => {
    const value = names.map((name) => entries[name]).find((each) => each !== undefined && each !== null)
    return value === undefined ? undefined : String(value as string | number)
  }
  return made({
    username: of('username', 'userName'),
    password: of('password'),
    apiKey: of('apiKey'),
    ca: of('ca.crt'),
  })
}

function readText(file: string, what: string, flags: FlagReader): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    flags.faults.push(`${what}: ${(error as Error).message}`)
    return undefined
  }
}

function made(values: Readonly<Record<keyof EngineCredentials, string | undefined>>): EngineCredentials {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

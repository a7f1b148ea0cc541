/**
 * What each command runs with: flags, completed from the environment, validated all at once, frozen. `main.ts` hands in
 * argv and env; no other room reads them.
 */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseGoDuration } from '../../kube/duration.ts'
import type { LogLevel } from '../../telemetry/logger.ts'
import type { FlagSpec, FlagValues } from './flag-spec.ts'
import { KARMADA_SEARCH_FLAGS } from './karmada-search-flags.ts'
import { DEMO_FLAGS, SERVE_FLAGS, UP_FLAGS } from './local-flags.ts'
import { helpOf, parseBool, parseFlags } from './parse-flags.ts'

export interface CommonConfig {
  readonly logLevel: LogLevel
  readonly staleClusters: 'keep' | 'drop'
  readonly syncTimeoutMs: number
  readonly watchWindowBytes: number
  /** Undefined: a temporary folder, removed at the end. */
  readonly dataDir: string | undefined
  /** What the user should know, said once at start. */
  readonly warnings: readonly string[]
}

export interface DemoConfig extends CommonConfig {
  readonly command: 'demo'
  readonly port: number
  readonly seed: number
  readonly clusters: number
}

export interface UpConfig extends CommonConfig {
  readonly command: 'up'
  readonly port: number
  readonly kubeconfig: string
  readonly contexts: readonly string[]
  /** For exec plugins of the kubeconfig. */
  readonly environment: Environment
  readonly clusterApiQps: number
  readonly clusterApiBurst: number
}

export interface ServeConfig extends CommonConfig {
  readonly command: 'serve'
  readonly environment: Environment
  /** Undefined: in-cluster. */
  readonly kubeconfig: string | undefined
  readonly authenticationKubeconfig: string | undefined
  readonly authorizationKubeconfig: string | undefined
  readonly kubeApiQps: number
  readonly kubeApiBurst: number
  readonly clusterApiQps: number
  readonly clusterApiBurst: number
  readonly search: boolean
  readonly proxy: boolean
  readonly bindAddress: string
  readonly securePort: number
  readonly tlsCertFile: string | undefined
  readonly tlsPrivateKeyFile: string | undefined
  readonly certDir: string
  readonly tlsMinVersion: 'TLSv1.2' | 'TLSv1.3'
  readonly clientCaFile: string | undefined
  readonly requestHeader: RequestHeaderConfig | undefined
  readonly alwaysAllowPaths: readonly string[]
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  readonly requestTimeoutMs: number
  readonly shutdownDelayMs: number
  readonly maxRequestsInflight: number
  readonly minRequestTimeoutSeconds: number
}

export interface RequestHeaderConfig {
  readonly clientCaFile: string
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly extraHeaderPrefixes: readonly string[]
}

export type Config = DemoConfig | UpConfig | ServeConfig

/** The command line cannot be carried out; `message` names every fault, one a line. */
export class UsageError extends Error {
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'UsageError'
  }
}

export type CommandLine = { readonly run: Config } | { readonly print: string } // print: help or version

export type Environment = Readonly<Record<string, string | undefined>>

const COMMANDS: Readonly<Record<string, { usage: string; flags: readonly FlagSpec[] }>> = {
  demo: { usage: 'fleetsearch demo: a simulated fleet with live changes, on 127.0.0.1.', flags: DEMO_FLAGS },
  up: { usage: 'fleetsearch up: every context of a kubeconfig is a member cluster, on 127.0.0.1.', flags: UP_FLAGS },
  serve: {
    usage: 'fleetsearch serve: the aggregated API server inside Karmada (also without a command, as karmada-search).',
    flags: [...KARMADA_SEARCH_FLAGS, ...SERVE_FLAGS],
  },
}

/** Every command's flags, for docs/flags.md. */
export function commandFlags(): typeof COMMANDS {
  return COMMANDS
}

/** Throws `UsageError`. Without a command, bare flags mean `serve`: existing manifests exec `karmada-search --flags`. */
export function readCommandLine(argv: readonly string[], env: Environment, version: string): CommandLine {
  const [first] = argv
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') return { print: usage() }
  if (first === 'version' || first === '--version') return { print: `fleetsearch ${version}\n` }
  const name = first.startsWith('-') ? 'serve' : first
  const command = COMMANDS[name]
  if (command === undefined) throw new UsageError([`unknown command ${JSON.stringify(first)}`, usage()])
  const parsed = parseFlags(first.startsWith('-') ? argv : argv.slice(1), command.flags)
  if (parsed.help) return { print: helpOf(command.usage, command.flags) }
  const reader = new FlagReader(parsed.values, [...parsed.faults])
  const warnings = command.flags
    .filter((flag) => flag.honoured === undefined && parsed.given.has(flag.name))
    .map((flag) => `--${flag.name} is accepted and has no effect`)
  const config = complete(name as Config['command'], reader, env, warnings)
  if (reader.faults.length > 0) throw new UsageError(reader.faults)
  return { run: Object.freeze(config) }
}

function usage(): string {
  const lines = Object.values(COMMANDS).map((command) => `  ${command.usage}`)
  return `Usage: fleetsearch COMMAND [flags]; fleetsearch COMMAND --help shows the flags.\n\n${lines.join('\n')}\n`
}

class FlagReader {
  readonly #values: FlagValues
  readonly faults: string[]

  constructor(values: FlagValues, faults: string[]) {
    this.#values = values
    this.faults = faults
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name)
    return typeof value === 'string' && value !== '' ? value : undefined
  }

  list(name: string): readonly string[] {
    const value = this.#values.get(name)
    return Array.isArray(value) ? (value as readonly string[]) : []
  }

  number(name: string, min: number, max: number): number {
    const value = Number(this.text(name) ?? min)
    if (value < min || value > max) this.faults.push(`--${name} must be between ${min} and ${max}, not ${value}`)
    return value
  }

  bool(name: string): boolean {
    return parseBool(this.text(name) ?? 'false') ?? false
  }

  durationMs(name: string): number {
    const value = parseGoDuration(this.text(name) ?? '0s') ?? 0
    if (value < 0) this.faults.push(`--${name} must not be negative`)
    return value
  }

  choice<const T extends string>(name: string, choices: readonly T[]): T {
    const value = this.text(name)
    const found = choices.find((choice) => choice === value)
    if (found === undefined && value !== undefined)
      this.faults.push(`--${name} must be one of ${choices.join(', ')}, not ${value}`)
    return found ?? (choices[0] as T)
  }

  /** A file that must be readable now. */
  file(name: string): string | undefined {
    const file = this.text(name)
    if (file === undefined) return undefined
    try {
      readFileSync(file)
    } catch (error) {
      this.faults.push(`--${name}: ${(error as Error).message}`)
    }
    return file
  }
}

function complete(command: Config['command'], flags: FlagReader, env: Environment, warnings: string[]): Config {
  const common = {
    logLevel: flags.choice('log-level', ['silent', 'error', 'warn', 'info', 'debug']),
    staleClusters: flags.choice('stale-clusters', ['keep', 'drop']),
    syncTimeoutMs: flags.durationMs('sync-timeout'),
    watchWindowBytes: flags.number('watch-window-bytes', 2 ** 20, 2 ** 40),
    dataDir: flags.text('data-dir'),
    warnings,
  } as const
  switch (command) {
    case 'demo':
      return {
        ...common,
        command,
        port: flags.number('port', 0, 65_535),
        seed: flags.number('seed', 0, 0xffff_ffff),
        clusters: flags.number('clusters', 1, 4),
      }
    case 'up':
      return completeUp(common, flags, env)
    case 'serve':
      return completeServe(common, flags, env, warnings)
    default:
      return command satisfies never
  }
}

function completeUp(common: CommonConfig, flags: FlagReader, env: Environment): UpConfig {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? ''
  const kubeconfig = flags.text('kubeconfig') ?? env['KUBECONFIG'] ?? path.join(home, '.kube', 'config')
  const files = kubeconfig.split(path.delimiter).filter((file) => file !== '')
  if (!files.some((file) => existsSync(file)))
    flags.faults.push(`no kubeconfig at ${kubeconfig} (--kubeconfig or $KUBECONFIG)`)
  const dataHome = env['XDG_DATA_HOME'] ?? path.join(home, '.local', 'share')
  return {
    ...common,
    dataDir: common.dataDir ?? path.join(dataHome, 'fleetsearch'),
    command: 'up',
    port: flags.number('port', 0, 65_535),
    kubeconfig,
    contexts: flags.list('contexts'),
    environment: env,
    clusterApiQps: flags.number('cluster-api-qps', 0.001, 1e6),
    clusterApiBurst: flags.number('cluster-api-burst', 1, 1e6),
  }
}

function completeServe(common: CommonConfig, flags: FlagReader, env: Environment, warnings: string[]): ServeConfig {
  if (flags.list('etcd-servers').length > 0) {
    warnings.push('--etcd-servers is not used yet: registries are kept in SQLite under --data-dir')
  }
  const verbosity = Number(flags.text('v') ?? 0)
  const certificate = flags.file('tls-cert-file')
  const key = flags.file('tls-private-key-file')
  if ((certificate === undefined) !== (key === undefined)) {
    flags.faults.push('--tls-cert-file and --tls-private-key-file go together')
  }
  return {
    ...common,
    logLevel: common.logLevel === 'info' && verbosity >= 4 ? 'debug' : common.logLevel,
    command: 'serve',
    environment: env,
    kubeconfig: flags.file('kubeconfig'),
    authenticationKubeconfig: flags.file('authentication-kubeconfig'),
    authorizationKubeconfig: flags.file('authorization-kubeconfig'),
    kubeApiQps: flags.number('kube-api-qps', 0.001, 1e6),
    kubeApiBurst: flags.number('kube-api-burst', 1, 1e6),
    clusterApiQps: flags.number('cluster-api-qps', 0.001, 1e6),
    clusterApiBurst: flags.number('cluster-api-burst', 1, 1e6),
    search: !flags.bool('disable-search'),
    proxy: !flags.bool('disable-proxy'),
    bindAddress: flags.text('bind-address') ?? '0.0.0.0',
    securePort: flags.number('secure-port', 0, 65_535),
    tlsCertFile: certificate,
    tlsPrivateKeyFile: key,
    certDir: flags.text('cert-dir') ?? '.',
    tlsMinVersion:
      flags.choice('tls-min-version', ['VersionTLS12', 'VersionTLS13']) === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    clientCaFile: flags.file('client-ca-file'),
    requestHeader: requestHeader(flags),
    alwaysAllowPaths: flags.list('authorization-always-allow-paths'),
    authorizedTtlMs: flags.durationMs('authorization-webhook-cache-authorized-ttl'),
    unauthorizedTtlMs: flags.durationMs('authorization-webhook-cache-unauthorized-ttl'),
    requestTimeoutMs: flags.durationMs('request-timeout'),
    shutdownDelayMs: flags.durationMs('shutdown-delay-duration'),
    maxRequestsInflight: flags.number('max-requests-inflight', 0, 1e6),
    minRequestTimeoutSeconds: flags.number('min-request-timeout', 0, 1e6),
  }
}

function requestHeader(flags: FlagReader): RequestHeaderConfig | undefined {
  const clientCaFile = flags.file('requestheader-client-ca-file')
  if (clientCaFile === undefined) return undefined
  return {
    clientCaFile,
    allowedNames: flags.list('requestheader-allowed-names'),
    usernameHeaders: lower(flags.list('requestheader-username-headers')),
    groupHeaders: lower(flags.list('requestheader-group-headers')),
    uidHeaders: lower(flags.list('requestheader-uid-headers')),
    extraHeaderPrefixes: lower(flags.list('requestheader-extra-headers-prefix')),
  }
}

function lower(names: readonly string[]): string[] {
  return names.map((name) => name.toLowerCase())
}

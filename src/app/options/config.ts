/**
 * What each command runs with: flags, completed from the environment, validated all at once, frozen. `main.ts` hands in
 * argv and env; no other room reads them.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { originPattern } from '../../apiserver/cors.ts'
import type { LogFormat, LogLevel } from '../../telemetry/logger.ts'
import type { EngineEndpoint } from '../../backendstore/engine-store.ts'
import { auditConfig, type AuditConfig } from './audit-config.ts'
import { engineConfig, installationId } from './engine-config.ts'
import type { Environment } from './environment.ts'
import { etcdConfig, type EtcdConfig } from './etcd-config.ts'
import { FlagReader } from './flag-reader.ts'
import type { FlagSpec } from './flag-spec.ts'
import { KARMADA_SEARCH_FLAGS } from './karmada-search-flags.ts'
import { leaderElectionConfig, type LeaderElectionConfig } from './leader-election-config.ts'
import { DEMO_FLAGS, SERVE_FLAGS, UP_FLAGS } from './local-flags.ts'
import { nearestName } from './nearest-name.ts'
import { helpOf, parseFlags } from './parse-flags.ts'
import { peersConfig, type PeersConfig } from './peers-config.ts'
import { profilingConfig, type ProfilingConfig } from './profiling-config.ts'
import type { ShutdownOptions } from '../server-shutdown.ts'
import { tracingConfig, type TracingConfig } from './tracing-config.ts'
import { authenticationConfig, servingConfig, type AuthenticationConfig, type ServingConfig } from './serving-config.ts'

/** What decides on what callers see of the members. */
export type RightsMode = 'member' | 'control-plane' | 'off'

/**
 * What `search/query` and the like answer from: a store of this replica's own, the engine that registries name, or nothing.
 */
export type SearchStoreMode = 'embedded' | 'registry' | 'off'

export interface CommonConfig {
  readonly logLevel: LogLevel
  /** `auto`: as it suits the command and where it logs to. */
  readonly logFormat: LogFormat | 'auto'
  readonly staleClusters: 'keep' | 'drop'
  readonly syncTimeoutMs: number
  readonly watchWindowBytes: number
  /** Of one resource of one cluster, and resources of one cluster; Infinity: no limit. */
  readonly maxObjectsPerResource: number
  readonly maxResourcesPerCluster: number
  /** Connections given to other protocols at once (exec, port-forward); 0: no limit. */
  readonly maxStreams: number
  /** Of them, those of one user; 0: no limit. */
  readonly maxStreamsPerUser: number
  /** Paths of modules. */
  readonly proxyPlugins: readonly string[]
  readonly rights: RightsMode
  /** Undefined: no traces. */
  readonly tracing?: TracingConfig | undefined
  /** Where to search; undefined: in the embedded store. */
  readonly engine?: EngineEndpoint | undefined
  /** Default: embedded. */
  readonly searchStore?: SearchStoreMode
  /** What names this installation in search engines; undefined: each command has its own way to tell. */
  readonly installationId?: string | undefined
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
  readonly allowWrites: boolean
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
  readonly authorizationKubeconfig: string | undefined
  readonly kubeApiQps: number
  readonly kubeApiBurst: number
  readonly clusterApiQps: number
  readonly clusterApiBurst: number
  readonly search: boolean
  readonly proxy: boolean
  readonly serving: ServingConfig
  readonly authentication: AuthenticationConfig
  readonly audit: AuditConfig | undefined
  readonly profiling: ProfilingConfig
  /** Undefined: registries are kept in the data folder. */
  readonly etcd: EtcdConfig | undefined
  /** Undefined: this replica always leads. */
  readonly leaderElection: LeaderElectionConfig | undefined
  /** Undefined: there are no other replicas to tell of writes. */
  readonly peers: PeersConfig | undefined
  readonly alwaysAllowPaths: readonly string[]
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  readonly corsAllowedOrigins: readonly RegExp[]
  readonly requestTimeoutMs: number
  readonly minRequestTimeoutSeconds: number
  readonly shutdown: Required<ShutdownOptions>
  readonly maxRequestsInflight: number
  readonly maxMutatingRequestsInflight: number
}

export type Config = DemoConfig | UpConfig | ServeConfig

/** The command line cannot be carried out; `message` names every fault, one a line. */
export class UsageError extends Error {
  /** Where more is said; empty: nowhere. */
  readonly advice: string

  constructor(faults: readonly string[], advice = '') {
    super(faults.join('\n'))
    this.name = 'UsageError'
    this.advice = advice
  }
}

export type CommandLine = { readonly run: Config } | { readonly print: string } // print: help or version

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
  if (command === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS))
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
    throw new UsageError([`unknown command ${JSON.stringify(first)}${hint}`, usage()])
  }
  const parsed = parseFlags(first.startsWith('-') ? argv : argv.slice(1), command.flags)
  if (parsed.help) return { print: helpOf(command.usage, command.flags) }
  const reader = new FlagReader(parsed.values, [...parsed.faults])
  const warnings = command.flags
    .filter((flag) => flag.honoured === undefined && parsed.given.has(flag.name))
    .map((flag) => `--${flag.name} is accepted and has no effect`)
  const config = complete(name as Config['command'], reader, env, version, warnings)
  if (reader.faults.length > 0) {
    throw new UsageError(reader.faults, `"fleetsearch ${name} --help" shows the flags`)
  }
  return { run: Object.freeze(config) }
}

function usage(): string {
  const lines = [...Object.values(COMMANDS).map(({ usage }) => usage), 'fleetsearch version: which one this is.'].map(
    (line) => `  ${line}`,
  )
  return `Usage: fleetsearch COMMAND [flags]; fleetsearch COMMAND --help shows the flags.\n\n${lines.join('\n')}\n`
}

function complete(
  command: Config['command'],
  flags: FlagReader,
  env: Environment,
  version: string,
  warnings: string[],
): Config {
  const common = {
    logLevel: flags.choice('log-level', ['silent', 'error', 'warn', 'info', 'debug']),
    logFormat: flags.choice('log-format', ['auto', 'text', 'json']),
    staleClusters: flags.choice('stale-clusters', ['keep', 'drop']),
    syncTimeoutMs: flags.durationMs('sync-timeout'),
    watchWindowBytes: flags.number('watch-window-bytes', 2 ** 20, 2 ** 40),
    maxObjectsPerResource: flags.number('max-objects-per-resource', 0, 1e9) || Infinity,
    maxResourcesPerCluster: flags.number('max-resources-per-cluster', 0, 1e6) || Infinity,
    maxStreams: flags.number('max-streams', 0, 1_000_000),
    // A server on loopback has one user.
    maxStreamsPerUser: command === 'serve' ? flags.number('max-streams-per-user', 0, 1_000_000) : 0,
    proxyPlugins: flags.list('proxy-plugins'),
    rights: rightsMode(command, flags),
    tracing: tracingConfig(flags, env, version),
    dataDir: flags.text('data-dir'),
    installationId: installationId(flags),
    warnings,
  } as const
  switch (command) {
    case 'demo':
      return {
        ...common,
        engine: engineConfig(flags, env),
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

/** Only `serve` has a control plane. */
function rightsMode(command: Config['command'], flags: FlagReader): RightsMode {
  return command === 'serve'
    ? flags.choice('rights', ['member', 'control-plane', 'off'])
    : flags.choice('rights', ['off', 'member'])
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
    engine: engineConfig(flags, env),
    command: 'up',
    port: flags.number('port', 0, 65_535),
    kubeconfig,
    contexts: flags.list('contexts'),
    allowWrites: flags.bool('allow-writes'),
    environment: env,
    clusterApiQps: flags.number('cluster-api-qps', 0.001, 1e6),
    clusterApiBurst: flags.number('cluster-api-burst', 1, 1e6),
  }
}

function completeServe(common: CommonConfig, flags: FlagReader, env: Environment, warnings: string[]): ServeConfig {
  const verbosity = Number(flags.text('v') ?? 0)
  const serving = servingConfig(flags, warnings)
  const leaderElection = leaderElectionConfig(flags)
  return {
    ...common,
    logLevel: common.logLevel === 'info' && verbosity >= 4 ? 'debug' : common.logLevel,
    logFormat: common.logFormat === 'auto' && flags.text('logging-format') === 'json' ? 'json' : common.logFormat,
    command: 'serve',
    environment: env,
    kubeconfig: flags.file('kubeconfig'),
    authorizationKubeconfig: flags.file('authorization-kubeconfig'),
    kubeApiQps: flags.number('kube-api-qps', 0.001, 1e6),
    kubeApiBurst: flags.number('kube-api-burst', 1, 1e6),
    clusterApiQps: flags.number('cluster-api-qps', 0.001, 1e6),
    clusterApiBurst: flags.number('cluster-api-burst', 1, 1e6),
    search: !flags.bool('disable-search'),
    // Nobody could ask an embedded store.
    searchStore: flags.bool('disable-search') ? 'off' : flags.choice('search-store', ['embedded', 'registry', 'off']),
    proxy: !flags.bool('disable-proxy'),
    serving,
    authentication: authenticationConfig(flags),
    audit: auditConfig(flags, warnings),
    profiling: profilingConfig(flags),
    etcd: etcdConfig(flags),
    leaderElection,
    peers: peersConfig(flags, leaderElection, serving, env['POD_IP']),
    alwaysAllowPaths: allowedPaths(flags),
    authorizedTtlMs: flags.durationMs('authorization-webhook-cache-authorized-ttl'),
    unauthorizedTtlMs: flags.durationMs('authorization-webhook-cache-unauthorized-ttl'),
    corsAllowedOrigins: corsOrigins(flags),
    requestTimeoutMs: flags.durationMs('request-timeout'),
    minRequestTimeoutSeconds: flags.number('min-request-timeout', 0, 1e6),
    shutdown: {
      delayMs: flags.durationMs('shutdown-delay-duration'),
      sendRetryAfter: flags.bool('shutdown-send-retry-after'),
      watchGraceMs: flags.durationMs('shutdown-watch-termination-grace-period'),
    },
    maxRequestsInflight: flags.number('max-requests-inflight', 0, 1e6),
    maxMutatingRequestsInflight: flags.number('max-mutating-requests-inflight', 0, 1e6),
  }
}

function corsOrigins(flags: FlagReader): readonly RegExp[] {
  return flags.list('cors-allowed-origins').flatMap((text) => {
    try {
      return [originPattern(text)]
    } catch (error) {
      flags.faults.push(`--cors-allowed-origins: ${(error as Error).message}`)
      return []
    }
  })
}

/** A `*` inside a path is a fault, as in a kube-apiserver. */
function allowedPaths(flags: FlagReader): readonly string[] {
  const paths = flags.list('authorization-always-allow-paths')
  for (const path of paths) {
    if (path.slice(0, -1).includes('*')) {
      flags.faults.push(`--authorization-always-allow-paths: * may stand at the end of ${path} only`)
    }
  }
  return paths.map((path) => (path.startsWith('/') ? path : `/${path}`))
}

/** Flags of our own, by command. */
import { ENGINE_FLAGS, INSTALLATION_ID } from './engine-config.ts'
import type { FlagSpec } from './flag-spec.ts'
import { LEADER_ELECTION_FLAGS } from './leader-election-config.ts'
import { PEERS_FLAGS } from './peers-config.ts'

const LOG_LEVEL: FlagSpec = {
  name: 'log-level',
  group: 'local',
  type: 'string',
  default: 'info',
  honoured: 'silent, error, warn, info or debug.',
}

const LOG_FORMAT: FlagSpec = {
  name: 'log-format',
  group: 'local',
  type: 'string',
  default: 'auto',
  honoured:
    'text (for people), json (a line for each record) or auto: json where serve does not log to a terminal, else text. Logs go to standard error.',
}

const STALE_CLUSTERS: FlagSpec = {
  name: 'stale-clusters',
  group: 'local',
  type: 'string',
  default: 'keep',
  honoured:
    'keep: objects of a cluster that is not Ready stay in the answers, marked stale; drop: they leave, as in karmada-search.',
}

const SYNC_TIMEOUT: FlagSpec = {
  name: 'sync-timeout',
  group: 'local',
  type: 'duration',
  default: '30s',
  honoured: 'How long readiness waits where nothing more arrives of the first lists: for clusters that do not answer.',
}

const WATCH_WINDOW: FlagSpec = {
  name: 'watch-window-bytes',
  group: 'local',
  type: 'int',
  default: '67108864',
  honoured: 'Bytes of recent events kept for each resource, so that watches can resume.',
}

const MAX_OBJECTS: FlagSpec = {
  name: 'max-objects-per-resource',
  group: 'local',
  type: 'int',
  default: '2000000',
  honoured:
    'Objects kept of one resource of one cluster; 0: no limit. What has more is not cached: it is missing from answers, or stale, and they say so.',
}

const MAX_RESOURCES: FlagSpec = {
  name: 'max-resources-per-cluster',
  group: 'local',
  type: 'int',
  default: '5000',
  honoured: 'Resources cached of one cluster; 0: no limit. Those beyond are missing from answers, which say so.',
}

const MAX_STREAMS: FlagSpec = {
  name: 'max-streams',
  group: 'local',
  type: 'int',
  default: '1000',
  honoured: 'How many exec, attach, port-forward and other sessions may be open at once; 0: no limit. Beyond it: 429.',
}

const MAX_STREAMS_PER_USER: FlagSpec = {
  name: 'max-streams-per-user',
  group: 'local',
  type: 'int',
  default: '200',
  honoured: 'How many of --max-streams one user may have; 0: no limit. Beyond it: 429.',
}

const RIGHTS =
  'Rights on results. member: of each cluster a caller sees what that cluster would show him; control-plane: what the control plane allows him, in every cluster; off: whoever may get search or proxying sees everything, as in karmada-search.'

/** One user on loopback sees everything. */
const LOCAL_RIGHTS: FlagSpec = {
  name: 'rights',
  group: 'authorization',
  type: 'string',
  default: 'off',
  honoured: 'member or off. Rights on results: off shows everything to the one user there is.',
}

const SERVE_RIGHTS: FlagSpec = {
  name: 'rights',
  group: 'authorization',
  type: 'string',
  default: 'member',
  honoured: RIGHTS,
}

const PROXY_PLUGINS: FlagSpec = {
  name: 'proxy-plugins',
  group: 'local',
  type: 'strings',
  honoured: 'JavaScript modules whose plugins join the chain behind proxying/… (docs/proxy-plugins.md).',
}

const COMMON: readonly FlagSpec[] = [
  LOG_LEVEL,
  LOG_FORMAT,
  STALE_CLUSTERS,
  SYNC_TIMEOUT,
  WATCH_WINDOW,
  MAX_OBJECTS,
  MAX_RESOURCES,
  MAX_STREAMS,
  PROXY_PLUGINS,
  INSTALLATION_ID,
]

const PORT: FlagSpec = {
  name: 'port',
  group: 'local',
  type: 'int',
  default: '8080',
  honoured: 'Port on 127.0.0.1; 0 takes a free one.',
}

const DATA_DIR: FlagSpec = {
  name: 'data-dir',
  group: 'local',
  type: 'string',
  honoured:
    'Folder for the embedded store and the registries. Without it: a folder under the user’s data folder (up) or a temporary one (demo, serve).',
}

/** `fleetsearch demo`. */
export const DEMO_FLAGS: readonly FlagSpec[] = [
  PORT,
  {
    name: 'seed',
    group: 'local',
    type: 'int',
    default: '1',
    honoured: 'Seed of the simulated fleet: the same seed gives the same objects.',
  },
  {
    name: 'clusters',
    group: 'local',
    type: 'int',
    default: '4',
    honoured: 'How many clusters are simulated, 1 to 4.',
  },
  ...ENGINE_FLAGS,
  LOCAL_RIGHTS,
  ...COMMON,
]

/** `fleetsearch up`. */
export const UP_FLAGS: readonly FlagSpec[] = [
  PORT,
  DATA_DIR,
  {
    name: 'kubeconfig',
    group: 'local',
    type: 'string',
    honoured: 'Kubeconfig file; default $KUBECONFIG, then ~/.kube/config.',
  },
  {
    name: 'contexts',
    group: 'local',
    type: 'strings',
    default: '*',
    honoured: 'Globs of context names; each context is a member cluster.',
  },
  {
    name: 'cluster-api-qps',
    group: 'local',
    type: 'float',
    default: '40',
    honoured: 'Requests a second to each cluster.',
  },
  {
    name: 'cluster-api-burst',
    group: 'local',
    type: 'int',
    default: '60',
    honoured: 'Requests at once before cluster-api-qps holds.',
  },
  {
    name: 'allow-writes',
    group: 'local',
    type: 'bool',
    default: 'false',
    honoured:
      'Take changes, exec and port-forward from who has the token of this start, which is in the kubeconfig that is printed.',
  },
  ...ENGINE_FLAGS,
  LOCAL_RIGHTS,
  ...COMMON,
]

const TRACING: FlagSpec = {
  name: 'tracing-config-file',
  group: 'server',
  type: 'string',
  honoured:
    'TracingConfiguration, as a kube-apiserver’s: the endpoint of a collector (OTLP over gRPC) and how many of a million traces are recorded. Without it: $OTEL_EXPORTER_OTLP_ENDPOINT, else no traces.',
}

const SEARCH_STORE: FlagSpec = {
  name: 'search-store',
  group: 'local',
  type: 'string',
  default: 'embedded',
  honoured:
    'What search/query and the like answer from. embedded: a store of this replica’s own, with everything that is cached; registry: the search engine that registries name (docs/registries.md), and no store of its own; off: nothing, they are 503.',
}

/** What `fleetsearch serve` takes beyond karmada-search's own flags. */
export const SERVE_FLAGS: readonly FlagSpec[] = [
  DATA_DIR,
  SEARCH_STORE,
  SERVE_RIGHTS,
  TRACING,
  MAX_STREAMS_PER_USER,
  ...LEADER_ELECTION_FLAGS,
  ...PEERS_FLAGS,
  ...COMMON,
]

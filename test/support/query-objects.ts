/** Arbitrary objects and queries over a small world, so that conditions meet values. */
import fc from 'fast-check'
import type { JsonObject } from '../../src/kube/columns/column.ts'
import type { DocumentIdentity } from '../../src/query/document.ts'
import type { Dimension, Likeness } from '../../src/query/search-request.ts'
import type { OracleObject } from './query-oracle.ts'

const CLUSTERS = ['member1', 'member2', 'Prod-EU']
const NAMESPACES = ['shop', 'shop-eu', 'kube-system', 'a', 'a-b']
const NAMES = ['web', 'web-1', 'web-10', 'Web', 'db-0', 'a.b', 'cart_7', 'nginx', 'app.kubernetes.io']
const IMAGES = ['nginx', 'nginx:1.25', 'docker.io/library/nginx:1.25-alpine', 'registry:5000/img@sha256:ab', 'redis:7']
const LABEL_KEYS = ['app', 'App', 'tier', 'app.kubernetes.io/name', 'app.kubernetes.io']
const LABEL_VALUES = ['web', 'Web', 'db', '', 'v1.2', 'shop_eu', '7', 'x'.repeat(63)]
const NODES = ['n1', 'n2', 'ip-10-0-0-9.ec2.internal']
const IPS = ['10.0.0.9', '10.0.0.10', '10.0.0.1', '192.168.7.1']
const TIMES = [
  '2026-11-29T23:59:00Z',
  '2026-11-23T00:00:00Z',
  '2023-10-11T08:00:00Z',
  '2026-11-29T22:00:00.123456Z',
  '2026-11-30T00:30:00+01:00',
]
/** Of no calendar: texts, if anything. */
const NO_TIMES = ['2026-02-30T00:00:00Z', '2026-12-31T23:59:60Z', '2026-11-31T24:00:00+01:00']
const QUANTITIES = ['1Gi', '1000Mi', '900Mi', '1024Mi', '100m', '0.1', '2', '1e3', '1k']
const MESSAGES = [
  'connection refused',
  'back-off 5m0s restarting failed container',
  'dial tcp 10.0.0.9:80: connection reset',
  'Refused by policy',
]
const VERSIONS = ['v1.9', 'v1.10', 'v1.10.0', 'v1.10.0-rc.1', 'v1.30.1+k3s1', 'unknown']

const one = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })

const container = fc.record({
  name: one(['app', 'side-car']),
  image: one(IMAGES),
  env: fc.array(fc.record({ name: one(['LOG_LEVEL', 'HOME']), value: one(['info', '3', '']) }), { maxLength: 2 }),
  resources: optional(fc.record({ limits: fc.record({ memory: one(QUANTITIES), cpu: one(QUANTITIES) }) })),
})

const podStatus = fc.record({
  phase: one(['Running', 'Pending', 'Failed', 'Succeeded']),
  podIP: optional(one(IPS)),
  hostIP: optional(one(IPS)),
  startTime: optional(one([...TIMES, ...NO_TIMES])),
  containerStatuses: fc.array(
    fc.record({
      name: one(['app', 'side-car']),
      restartCount: one([0, 2, 9, 10, 77]),
      ready: fc.boolean(),
      state: one([{ running: {} }, { waiting: { reason: 'CrashLoopBackOff', message: MESSAGES[1] } }]),
    }),
    { maxLength: 2 },
  ),
  conditions: fc.array(
    fc.record({ type: one(['Ready', 'Initialized']), status: one(['True', 'False']), message: one(MESSAGES) }),
    { maxLength: 2 },
  ),
})

const pod = fc.record({
  spec: fc.record({
    containers: fc.array(container, { minLength: 1, maxLength: 3 }),
    nodeName: optional(one(NODES)),
    volumes: optional(fc.constant([{ name: 'x', emptyDir: {} }])),
  }),
  status: podStatus,
})

const node = fc.record({
  spec: fc.record({ unschedulable: optional(fc.boolean()) }),
  status: fc.record({
    nodeInfo: fc.record({ kubeletVersion: one(VERSIONS), osImage: one(['Ubuntu 24.04 LTS', 'Talos (v1.7.0)']) }),
    allocatable: fc.record({ memory: one(QUANTITIES), cpu: one(QUANTITIES) }),
    addresses: fc.array(fc.record({ type: one(['InternalIP', 'Hostname']), address: one([...IPS, 'n1']) }), {
      maxLength: 2,
    }),
  }),
})

const configMap = fc.record({
  data: fc.dictionary(one(['app.conf', 'LEVEL', 'a.b']), one(['x: 1', 'info', '7', 'line\nbreak'])),
})
const secret = fc.record({
  type: one(['Opaque', 'kubernetes.io/tls']),
  data: fc.dictionary(one(['password', 'tls.crt']), one(['c2VjcmV0', 'aHVudGVyMg=='])),
})
const storageClass = fc.record({
  provisioner: one(['ebs.csi.aws.com', 'local']),
  allowVolumeExpansion: optional(fc.boolean()),
})
const cronJob = fc.record({
  spec: fc.record({
    schedule: one(['*/5 * * * *', '@daily']),
    suspend: optional(fc.boolean()),
    replicas: optional(one([0, 3, 2.5, -4])),
  }),
})
const widget = fc.record({
  spec: fc.record({
    port: optional(one([80, '80', 'http', { name: 'x' }, null, true])),
    size: optional(one(QUANTITIES)),
    at: optional(one([...TIMES, ...NO_TIMES])),
    tags: optional(one([[], {}, ['a', 'b/c'], [1, 1, 2]])),
  }),
})

const KINDS = [
  { kind: 'Pod', group: '', version: 'v1', resource: 'pods', namespaced: true, body: pod },
  { kind: 'Node', group: '', version: 'v1', resource: 'nodes', namespaced: false, body: node },
  { kind: 'ConfigMap', group: '', version: 'v1', resource: 'configmaps', namespaced: true, body: configMap },
  { kind: 'Secret', group: '', version: 'v1', resource: 'secrets', namespaced: true, body: secret },
  {
    kind: 'StorageClass',
    group: 'storage.k8s.io',
    version: 'v1',
    resource: 'storageclasses',
    namespaced: false,
    body: storageClass,
  },
  { kind: 'CronJob', group: 'batch', version: 'v1', resource: 'cronjobs', namespaced: true, body: cronJob },
  { kind: 'Widget', group: 'example.io', version: 'v1beta1', resource: 'widgets', namespaced: true, body: widget },
] as const

const metadata = fc.record({
  labels: optional(fc.dictionary(one(LABEL_KEYS), one(LABEL_VALUES), { maxKeys: 3 })),
  annotations: optional(
    fc.dictionary(one(['note', 'a', 'a.b', 'a.b.c']), one(['1', 'true', 'See wiki/page', '2026-11-29T23:59:00Z']), {
      maxKeys: 2,
    }),
  ),
  creationTimestamp: optional(one([...TIMES, ...NO_TIMES.slice(0, 1)])),
  ownerReferences: optional(
    fc.array(fc.record({ kind: one(['ReplicaSet', 'Job']), name: one(['web-7f9', 'backup']) }), { maxLength: 2 }),
  ),
})

/** Objects of distinct (cluster, resource, namespace, name), each with its identity. */
export const objectsArbitrary: fc.Arbitrary<readonly OracleObject[]> = fc
  .array(
    one(KINDS).chain((kind) =>
      fc.record({
        kind: fc.constant(kind),
        cluster: one(CLUSTERS),
        namespace: one(NAMESPACES),
        name: one(NAMES),
        metadata,
        body: kind.body as fc.Arbitrary<JsonObject>,
      }),
    ),
    { minLength: 1, maxLength: 40 },
  )
  .map((drafts) => {
    const objects = new Map<string, OracleObject>()
    for (const { kind, cluster, namespace: drawn, name, metadata: meta, body } of drafts) {
      const { group, version, resource } = kind
      const namespace = kind.namespaced ? drawn : ''
      const key = [cluster, resource, namespace, name].join('|')
      const uid = `uid-${objects.size % 7}` // restored clusters share UIDs
      const identity: DocumentIdentity = {
        cluster,
        group,
        version,
        resource,
        kind: kind.kind,
        namespace,
        name,
        uid,
        resourceVersion: '1',
      }
      const head = { apiVersion: group === '' ? version : `${group}/${version}`, kind: kind.kind }
      const full = {
        ...head,
        metadata: { ...meta, name, ...(namespace === '' ? {} : { namespace }), uid, resourceVersion: '1' },
        ...body,
      }
      // Through JSON and back, as a member would send it: undefined is gone.
      const object = JSON.parse(JSON.stringify(full)) as JsonObject
      objects.set(key, { identity, object })
    }
    return [...objects.values()]
  })

const WORDS = [
  ...NAMES,
  ...NAMESPACES,
  ...IMAGES,
  ...NODES,
  ...IPS,
  'refused',
  'crashloopbackoff',
  'LEVEL',
  'password',
  'hunter2',
  'aHVudGVyMg==',
  'null',
  'shop/web-1',
  'app=web',
  '7',
  '\\',
  '[0]',
  '*',
  'we*',
  'w?b',
  '*b',
  'web-*',
  'n*x',
  'k8s🚀',
]
const PHRASES = MESSAGES.concat('connection refused back', 'refused connection', 'web 1', '')
const TEXT_FIELDS = [
  'kind',
  'cluster',
  'ns',
  'name',
  'image',
  'node',
  'owner',
  'status',
  'group',
  'apiversion',
  'resource',
  'label.app',
  'label.App',
  'label.tier',
  'label.app.kubernetes.io',
  'label.app.kubernetes.io/name',
  'annotation.a',
  'annotation.a.b',
  'annotation.note',
  'spec.containers.image',
  'SPEC.nodename',
  'data.LEVEL',
  'data.app.conf',
  'spec.tags',
  'spec.port',
  '.provisioner',
  '.allowVolumeExpansion',
  'spec.suspend',
  'spec.volumes.emptyDir',
  'data.password',
  'osimage',
]
const TEXT_VALUES = [
  ...NAMES,
  ...NAMESPACES,
  ...IMAGES,
  ...LABEL_VALUES.slice(0, 6),
  ...NODES,
  ...IPS,
  'Pod',
  'node',
  'Running',
  'CrashLoopBackOff',
  'example.io',
  'web-7f9',
  'true',
  'false',
  'info',
  '80',
  'http',
  'a',
  'b/c',
  '1',
  '2',
  'Prod-EU',
  'member*',
  '*-1',
  'web*',
  '*nginx*',
  '1?',
  'library',
  '1.25',
  '1.25-alpine',
  '10.0.0.*',
  '*',
]
const NUMBER_FIELDS = [
  'restarts',
  'memory',
  'cpu',
  'spec.containers.resources.limits.memory',
  'status.containerStatuses.restartCount',
  'spec.replicas',
  'spec.size',
  'spec.port',
  'spec.tags',
  'annotation.a',
]
const TIME_FIELDS = ['created', 'age', 'started', 'spec.at', 'status.startTime']

const quoteIfNeeded = (text: string): string =>
  text === '' || /[\s"()]/.test(text) ? `"${text.replace(/(["\\])/g, '\\$1')}"` : text
const list = (values: readonly string[]): string => (values.length === 1 ? (values[0] ?? '') : `(${values.join(',')})`)

const term: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: one(WORDS) },
  { weight: 1, arbitrary: one(PHRASES).map((text) => `"${text}"`) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(one(TEXT_FIELDS), one([':', ':', '=', '!=']), fc.array(one(TEXT_VALUES), { minLength: 1, maxLength: 2 }))
      .map(([field, operator, values]) => `${field}${operator}${list(values.map(quoteIfNeeded))}`),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        one(NUMBER_FIELDS.slice(0, 9)),
        one(['<', '<=', '>', '>=', '=', '!=']),
        one([...QUANTITIES, '0', '3', '9', '-4', '2.5']),
      )
      .map((parts) => parts.join('')),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        one(TIME_FIELDS),
        one(['<', '<=', '>', '>=']),
        one([...TIMES.slice(0, 4), '7d', '3h', '1m', '2y10d', '2026-11-23']),
      )
      .map((parts) => parts.join('')),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(one(['version']), one(['<', '<=', '>', '>=']), one(VERSIONS.slice(0, 5)))
      .map((parts) => parts.join('')),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(one(['ip', 'hostip']), one(['<', '<=', '>', '>=', '=', '!=']), one(IPS))
      .map((parts) => parts.join('')),
  },
)

const PATTERNS = [
  '^web',
  'web-[0-9]+$',
  '.*',
  '^$',
  '(?i)WEB',
  'n(gin)?x',
  '[^a-z]',
  'e{2,3}',
  '^(web|db)-\\d*$',
  'a|b',
  '\\.',
  '-.?0',
  'x{60}',
  '(er)+',
]
const NETWORKS = ['10.0.0.0/8', '10.0.0.8/31', '0.0.0.0/0', '192.168.0.0/14', '10.0.0.9/32']

const newer: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(one(TEXT_FIELDS), one(PATTERNS)).map((parts) => parts.join('~')),
  fc.tuple(one(['ip:', 'ip=', 'ip!=', 'hostip=']), one(NETWORKS)).map((parts) => parts.join('')),
)

/** Query texts of every construct, nested. */
export const queryArbitrary: fc.Arbitrary<string> = fc.letrec<{ query: string; unit: string }>((tie) => ({
  query: fc.array(tie('unit'), { minLength: 0, maxLength: 3 }).map((units) => units.join(' ')),
  unit: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'query' },
    { weight: 5, arbitrary: term },
    { weight: 1, arbitrary: newer },
    { weight: 2, arbitrary: term.map((text) => `-${text}`) },
    { weight: 2, arbitrary: fc.tuple(tie('unit'), tie('unit')).map(([a, b]) => `(${a} OR ${b})`) },
    { weight: 1, arbitrary: tie('query').map((text) => `NOT (${text})`) },
  ),
})).query

/** What no store has sort keys of. */
const KEYED = [
  'label.app',
  'label.App',
  'annotation.note',
  '.spec.port',
  '.spec.tags',
  '.spec.at',
  '.spec.suspend',
] as const

export const sortArbitrary = fc.array(
  fc
    .tuple(
      one(['', '-']),
      one([
        'name',
        'cluster',
        'namespace',
        'kind',
        'created',
        'restarts',
        'memory',
        'version',
        'status',
        'ip',
        'node',
        'image',
        'owner',
        'suspend',
        'ready',
        'uid',
        'group',
        'apiversion',
        ...KEYED,
        '.spec',
      ]),
    )
    .map((parts) => parts.join('')),
  { maxLength: 3 },
)

const dimension: fc.Arbitrary<Dimension> = fc.oneof(
  one([
    'cluster',
    'namespace',
    'kind',
    'group',
    'apiversion',
    'name',
    'status',
    'restarts',
    'node',
    'image',
    'owner',
    'ip',
    'version',
    'memory',
    'created',
    ...KEYED,
  ]).map((path) => ({ type: 'value' as const, path })),
  one([
    'restarts',
    'memory',
    'cpu',
    'status',
    '.spec.size',
    '.spec.tags',
    '.spec.replicas',
    'label.tier',
    'annotation.a',
  ]).map((path) => ({ type: 'number' as const, path })),
  fc
    .tuple(
      one(['created', 'started', '.spec.at', 'annotation.note', 'name']),
      one([undefined, 'year', 'month', 'day', 'hour', 'minute'] as const),
    )
    .map(([path, unit]) => ({ type: 'time' as const, path, ...(unit === undefined ? {} : { unit }) })),
)

export const dimensionsArbitrary: fc.Arbitrary<readonly Dimension[]> = fc.array(dimension, { maxLength: 3 })

/** A path (undefined: words) and what its values should be like. */
export const likenessArbitrary: fc.Arbitrary<readonly [string | undefined, Likeness]> = fc.tuple(
  one([undefined, undefined, 'name', 'namespace', 'image', 'label.app', 'node', '.spec.containers.image', 'kind']),
  fc.oneof(
    one(['', 'w', 'We', 'web-1', 'ngin', '1.2', 'shop', '/lib', 'k', '🚀']).map((text) => ({
      type: 'prefix' as const,
      text,
    })),
    fc
      .tuple(
        one(['nginx', 'ngnix', 'wbe', 'refsued', 'conection', 'shpo', 'member', 'Web-1', 'rdis']),
        one([1, 2] as const),
      )
      .map(([text, edits]) => ({ type: 'near' as const, text, edits })),
  ),
)

export const facetsArbitrary = fc.array(
  one([
    'cluster',
    'namespace',
    'kind',
    'group',
    'status',
    'restarts',
    'image',
    'label.app',
    'label.App',
    'label.tier',
    'spec.containers.image',
    'spec.port',
    'spec.tags',
    'started',
    'spec.at',
    'memory',
    'ip',
    'version',
    'spec.suspend',
    'name',
    'apiversion',
    'owner',
    'node',
  ]),
  { maxLength: 3 },
)

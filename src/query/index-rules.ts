/** What of an object is not indexed, and what stands in the free text. Rules are looked up once for each path. */

export interface PathRules {
  /** Nothing below this path is indexed. */
  readonly skip: boolean
  /** Only the keys are: values are secret. */
  readonly keysOnly: boolean
  /** Its values stand in the free text. */
  readonly text: boolean
  /** Its keys stand in the free text. */
  readonly textKeys: boolean
  readonly image: boolean
  readonly node: boolean
  readonly ip: boolean
}

/** Held as base fields (`fields.ts`), or of no use to anybody who searches. */
const SKIPPED_PATHS: ReadonlySet<string> = new Set([
  '.apiVersion',
  '.kind',
  '.metadata.name',
  '.metadata.namespace',
  '.metadata.uid',
  '.metadata.resourceVersion',
  '.metadata.creationTimestamp',
  '.metadata.labels',
  '.metadata.annotations',
  '.metadata.ownerReferences',
  '.metadata.managedFields',
  '.metadata.selfLink',
])

/** Written every few seconds by every node and leader; indexing them would rewrite the object's entry each time. */
const HEARTBEATS: ReadonlySet<string> = new Set(['renewTime', 'lastHeartbeatTime', 'lastProbeTime'])

/** Annotations that repeat the whole object or what every object of a cluster has. */
const SKIPPED_ANNOTATIONS: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'resource.karmada.io/cached-from-cluster',
  'cluster.karmada.io/name',
])

const TEXT_LEAVES: ReadonlySet<string> = new Set([
  'message',
  'reason',
  'note',
  'host',
  'hostname',
  'hosts',
  'secretName',
])
const TEXT_PATH = /(?:\.env\.name|\.conditions\.type|ontainers\.name)$/
const IMAGE_PATH = /\.(?:containers|initContainers|ephemeralContainers)\.image$/
const IP_LEAVES: ReadonlySet<string> = new Set([
  'ip',
  'podIP',
  'hostIP',
  'clusterIP',
  'clusterIPs',
  'externalIPs',
  'loadBalancerIP',
  'addresses',
  'address',
])

export function isIndexedAnnotation(key: string): boolean {
  return !SKIPPED_ANNOTATIONS.has(key)
}

/** Kinds are told by group and kind: the core group's Secret is not another group's. */
export function rulesOf(path: string, group: string, kind: string): PathRules {
  const leaf = path.slice(path.lastIndexOf('.') + 1)
  const secret = group === '' && kind === 'Secret' && (path === '.data' || path === '.stringData')
  const configMap = group === '' && kind === 'ConfigMap' && (path === '.data' || path === '.binaryData')
  return {
    skip: isSkipped(path, leaf),
    keysOnly: secret || path === '.binaryData',
    text: TEXT_LEAVES.has(leaf) || TEXT_PATH.test(path),
    textKeys: secret || configMap,
    image: IMAGE_PATH.test(path),
    node: leaf === 'nodeName',
    ip: IP_LEAVES.has(leaf),
  }
}

/** A query for such a path is refused rather than answered with nothing. `path` as in terms, in lower case. */
export function isIndexedPath(path: string): boolean {
  for (let end = path.indexOf('.', 1); ; end = path.indexOf('.', end + 1)) {
    const part = end < 0 ? path : path.slice(0, end)
    if (SKIPPED.some((pattern) => pattern.test(part))) return false
    if (end < 0) return true
  }
}

/** A CustomResourceDefinition's schema has thousands of leaves, most of them prose. */
const SCHEMA = '.spec.versions.schema'

function isSkipped(path: string, leaf: string): boolean {
  return SKIPPED_PATHS.has(path) || HEARTBEATS.has(leaf) || path === SCHEMA
}

const SKIPPED: readonly RegExp[] = [...SKIPPED_PATHS, SCHEMA]
  .map((path) => new RegExp(`^${path.replaceAll('.', '\\.')}$`, 'i'))
  .concat([...HEARTBEATS].map((leaf) => new RegExp(`\\.${leaf}$`, 'i')))

/**
 * Objects of a fleet as a member's API server would send them: pods of high entropy (random ids, times, addresses, CNI
 * annotations; about 4.7 KB each), since identical neighbours flatter every index and compressor.
 */

/** Same seed, same objects. mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const APPS = ['web', 'checkout', 'cart', 'payments', 'search', 'mailer', 'ledger', 'gateway', 'auth', 'reports', 'feed']
const IMAGES = [
  'nginx',
  'redis',
  'postgres',
  'envoyproxy/envoy',
  'shop/checkout',
  'shop/cart',
  'library/node',
  'busybox',
]
const STATES = ['CrashLoopBackOff', 'ImagePullBackOff', 'ErrImagePull', 'CreateContainerConfigError']

export interface BenchPod {
  readonly cluster: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly bytes: Buffer
}

/** Pod `i` of cluster `cluster`; canonical form (kind, apiVersion and both annotations present). */
export function benchPod(random: () => number, cluster: string, i: number): BenchPod {
  const hex = (digits: number): string => {
    let text = ''
    while (text.length < digits)
      text += Math.floor(random() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, '0')
    return text.slice(0, digits)
  }
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const time = (): string =>
    new Date(1_790_000_000_000 + Math.floor(random() * 6_000_000) * 1_000).toISOString().replace('.000', '')
  const ip = (): string =>
    `10.${Math.floor(random() * 256)}.${Math.floor(random() * 256)}.${Math.floor(random() * 256)}`
  const app = `${pick(APPS)}-${Math.floor(random() * 40)}`
  const hash = hex(9)
  const name = `${app}-${hash}-${hex(5)}`
  const namespace = `team-${Math.floor(random() * 60)}`
  const uid = `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`
  const sick = random() < 0.03
  const restarts = random() < 0.1 ? Math.floor(random() * 30) : 0
  const node = `ip-10-0-${Math.floor(random() * 16)}-${Math.floor(random() * 16)}.eu-west-1.compute.internal`
  const podIP = ip()
  const hostIP = ip()
  const image = `registry.example.com/${pick(IMAGES)}:1.${Math.floor(random() * 30)}.${Math.floor(random() * 9)}`
  const version = String(1_000_000 + i)
  const created = time()
  const volume = `kube-api-access-${hex(5)}`
  const probe = (path: string) => ({
    httpGet: { path, port: 8080, scheme: 'HTTP' },
    initialDelaySeconds: 5,
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })
  const container = (containerName: string) => ({
    name: containerName,
    image,
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: [
      { name: 'POD_IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
      { name: 'LOG_LEVEL', value: 'info' },
      { name: 'BUILD', value: hex(12) },
    ],
    resources: {
      limits: { cpu: `${100 * (1 + Math.floor(random() * 9))}m`, memory: `${128 * (1 + Math.floor(random() * 9))}Mi` },
      requests: { cpu: '100m', memory: '128Mi' },
    },
    volumeMounts: [
      { name: 'config', mountPath: '/etc/app' },
      { name: volume, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
    ],
    livenessProbe: probe('/healthz'),
    readinessProbe: probe('/readyz'),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, runAsNonRoot: true },
  })
  const object = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      generateName: `${app}-${hash}-`,
      namespace,
      uid,
      resourceVersion: version,
      creationTimestamp: created,
      labels: {
        app,
        'app.kubernetes.io/part-of': 'shop',
        'pod-template-hash': hash,
        tier: pick(['web', 'db', 'cache']),
      },
      annotations: {
        'cni.projectcalico.org/containerID': hex(64),
        'cni.projectcalico.org/podIP': `${podIP}/32`,
        'cni.projectcalico.org/podIPs': `${podIP}/32`,
        'prometheus.io/scrape': 'true',
        'resource.karmada.io/cached-from-cluster': cluster,
        'cluster.karmada.io/name': cluster,
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-${hash}`,
          uid: hex(32),
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [
        {
          manager: 'kube-controller-manager',
          operation: 'Update',
          apiVersion: 'v1',
          time: created,
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } }, 'f:spec': { 'f:containers': {} } },
        },
      ],
    },
    spec: {
      volumes: [
        { name: 'config', configMap: { name: `${app}-config`, defaultMode: 420 } },
        {
          name: volume,
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            ],
            defaultMode: 420,
          },
        },
      ],
      containers: [container(app.split('-')[0] ?? app)],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: app,
      serviceAccount: app,
      nodeName: node,
      securityContext: {},
      schedulerName: 'default-scheduler',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
    },
    status: {
      phase: 'Running',
      conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(
        (type) => ({
          type,
          status: sick && /Ready$/.test(type) ? 'False' : 'True',
          lastProbeTime: null,
          lastTransitionTime: time(),
        }),
      ),
      hostIP,
      hostIPs: [{ ip: hostIP }],
      podIP,
      podIPs: [{ ip: podIP }],
      startTime: created,
      containerStatuses: [
        {
          name: app.split('-')[0] ?? app,
          state: sick
            ? { waiting: { reason: pick(STATES), message: `back-off 5m0s restarting failed container in pod ${name}` } }
            : { running: { startedAt: time() } },
          lastState: {},
          ready: !sick,
          restartCount: sick ? restarts + 5 : restarts,
          image,
          imageID: `registry.example.com/app@sha256:${hex(64)}`,
          containerID: `containerd://${hex(64)}`,
          started: !sick,
        },
      ],
      qosClass: 'Burstable',
    },
  }
  return { cluster, namespace, name, uid, resourceVersion: version, bytes: Buffer.from(JSON.stringify(object)) }
}

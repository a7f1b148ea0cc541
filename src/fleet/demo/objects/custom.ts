/** Objects of the custom kinds. */
import type { App } from '../catalogue/app.ts'
import type { ClusterPlan } from '../catalogue/clusters.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import type { KubeObject } from './kinds.ts'
import { appLabels, portName, selectorLabels } from './template.ts'

const DAY_MS = 86_400_000

/** `renewedMs` is when it was last signed; `ready` false: the challenge does not get through. */
export function certificate(
  app: App,
  cluster: ClusterPlan,
  createdMs: number,
  renewedMs: number,
  ready: boolean,
): KubeObject {
  const notAfterMs = renewedMs + 90 * DAY_MS
  const condition = {
    lastTransitionTime: rfc3339(renewedMs),
    message: ready ? 'Certificate is up to date and has not expired' : 'Issuing certificate as Secret does not exist',
    observedGeneration: 1,
    reason: ready ? 'Ready' : 'DoesNotExist',
    status: ready ? 'True' : 'False',
    type: 'Ready',
  }
  const validity = {
    notAfter: rfc3339(notAfterMs),
    notBefore: rfc3339(renewedMs),
    renewalTime: rfc3339(notAfterMs - 30 * DAY_MS),
    revision: Math.max(1, Math.round((renewedMs - createdMs) / (60 * DAY_MS))),
  }
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: {
      name: `${app.name}-tls`,
      namespace: app.namespace,
      generation: 1,
      creationTimestamp: rfc3339(createdMs),
      labels: appLabels(app),
    },
    spec: {
      dnsNames: [`${app.host ?? app.name}.${cluster.domain}`],
      issuerRef: { group: 'cert-manager.io', kind: 'ClusterIssuer', name: 'letsencrypt' },
      secretName: `${app.name}-tls`,
      usages: ['digital signature', 'key encipherment'],
    },
    status: { conditions: [condition], ...(ready ? validity : {}) },
  }
}

export function clusterIssuer(createdMs: number): KubeObject {
  const message = 'The ACME account was registered with the ACME server'
  const condition = {
    lastTransitionTime: rfc3339(createdMs),
    message,
    observedGeneration: 1,
    reason: 'ACMEAccountRegistered',
    status: 'True',
    type: 'Ready',
  }
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'ClusterIssuer',
    metadata: { name: 'letsencrypt', generation: 1, creationTimestamp: rfc3339(createdMs) },
    spec: {
      acme: {
        email: 'platform@aurora.example',
        privateKeySecretRef: { name: 'letsencrypt-account' },
        server: 'https://acme-v02.api.letsencrypt.org/directory',
        solvers: [{ http01: { ingress: { ingressClassName: 'nginx' } } }],
      },
    },
    status: { acme: {}, conditions: [condition] },
  }
}

export interface ApplicationState {
  readonly health: 'Healthy' | 'Progressing' | 'Degraded'
  readonly sync: 'Synced' | 'OutOfSync'
  readonly reconciledMs: number
}

export function application(
  app: App,
  image: string,
  createdMs: number,
  state: ApplicationState,
  random: SeededRandom,
): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: {
      name: app.name,
      namespace: 'argocd',
      generation: 40,
      creationTimestamp: rfc3339(createdMs),
      labels: { team: app.team },
      finalizers: ['resources-finalizer.argocd.argoproj.io'],
    },
    spec: {
      destination: { namespace: app.namespace, server: 'https://kubernetes.default.svc' },
      project: app.team,
      source: {
        path: `apps/${app.namespace}/${app.name}`,
        repoURL: 'https://git.aurora.example/platform/deployments.git',
        targetRevision: 'main',
      },
      syncPolicy: { automated: { prune: true, selfHeal: true } },
    },
    status: {
      health: { lastTransitionTime: rfc3339(state.reconciledMs - 3_600_000), status: state.health },
      reconciledAt: rfc3339(state.reconciledMs),
      summary: { images: [image] },
      sync: { revision: random.hex(40), status: state.sync },
    },
  }
}

export function serviceMonitor(app: App, createdMs: number): KubeObject {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      generation: 1,
      creationTimestamp: rfc3339(createdMs),
      labels: { ...appLabels(app), release: 'prometheus' },
    },
    spec: {
      endpoints: [{ interval: '30s', path: '/metrics', port: portName(app) }],
      selector: { matchLabels: selectorLabels(app) },
    },
  }
}

/** The custom resources of the simulated company: certificates, delivery, scrape targets. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { CustomKind } from '../objects/definition.ts'

const text = (description: string): JsonObject => ({ type: 'string', description })
const texts = (description: string): JsonObject => ({ type: 'array', description, items: { type: 'string' } })
const object = (description: string, properties: JsonObject): JsonObject => ({
  type: 'object',
  description,
  properties,
})

const FREE: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

const CONDITIONS = {
  type: 'array',
  description: 'What the controller last observed.',
  items: object('One observation.', {
    type: text('Its name.'),
    status: text('True, False or Unknown.'),
    reason: text('A word for machines.'),
    message: text('A sentence for people.'),
    lastTransitionTime: { type: 'string', format: 'date-time' },
    observedGeneration: { type: 'integer', format: 'int64', description: 'The generation it was made of.' },
  }),
}

const READY_COLUMN = { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' }
const AGE_COLUMN = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

export const CERTIFICATE: CustomKind = {
  group: 'cert-manager.io',
  version: 'v1',
  kind: 'Certificate',
  plural: 'certificates',
  namespaced: true,
  shortNames: ['cert', 'certs'],
  categories: ['cert-manager'],
  description: 'A certificate that is kept valid in a Secret.',
  spec: object('What is asked for.', {
    secretName: text('The Secret that holds key and certificate.'),
    dnsNames: texts('Host names it is valid for.'),
    usages: texts('What the key may be used for.'),
    duration: text('How long it is valid.'),
    renewBefore: text('How long before its end it is renewed.'),
    issuerRef: object('Who signs it.', {
      name: text('Name.'),
      kind: text('Issuer or ClusterIssuer.'),
      group: text('API group.'),
    }),
  }),
  status: object('How it stands.', {
    conditions: CONDITIONS,
    notBefore: { type: 'string', format: 'date-time' },
    notAfter: { type: 'string', format: 'date-time' },
    renewalTime: { type: 'string', format: 'date-time' },
    revision: { type: 'integer' },
  }),
  columns: [
    READY_COLUMN,
    { name: 'Secret', type: 'string', jsonPath: '.spec.secretName' },
    { name: 'Issuer', type: 'string', jsonPath: '.spec.issuerRef.name', priority: 1 },
    { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message', priority: 1 },
    AGE_COLUMN,
  ],
}

export const CLUSTER_ISSUER: CustomKind = {
  group: 'cert-manager.io',
  version: 'v1',
  kind: 'ClusterIssuer',
  plural: 'clusterissuers',
  namespaced: false,
  categories: ['cert-manager'],
  description: 'A certificate authority for the whole cluster.',
  spec: object('Which one.', {
    acme: object('An ACME server.', {
      server: text('Its directory URL.'),
      email: text('The account.'),
      privateKeySecretRef: object('The Secret of the account’s key.', { name: text('Its name.') }),
      solvers: { type: 'array', description: 'How it proves that a name is ours.', items: FREE },
    }),
  }),
  status: object('How it stands.', { acme: FREE, conditions: CONDITIONS }),
  columns: [READY_COLUMN, AGE_COLUMN],
}

export const APPLICATION: CustomKind = {
  group: 'argoproj.io',
  version: 'v1alpha1',
  kind: 'Application',
  plural: 'applications',
  namespaced: true,
  shortNames: ['app', 'apps'],
  description: 'A folder of manifests in Git that a cluster is kept equal to.',
  spec: object('What runs where.', {
    project: text('The project it belongs to.'),
    source: object('Where the manifests are.', {
      repoURL: text('Repository.'),
      path: text('Folder.'),
      targetRevision: text('Branch, tag or commit.'),
    }),
    destination: object('Where they go.', { server: text('API server.'), namespace: text('Namespace.') }),
    syncPolicy: {
      type: 'object',
      description: 'When it syncs by itself.',
      'x-kubernetes-preserve-unknown-fields': true,
    },
  }),
  status: object('How far it is.', {
    sync: object('Whether the cluster equals Git.', {
      status: text('Synced or OutOfSync.'),
      revision: text('The commit.'),
    }),
    health: object('Whether what runs is well.', {
      lastTransitionTime: { type: 'string', format: 'date-time' },
      status: text('Healthy, Progressing, Degraded or Missing.'),
    }),
    reconciledAt: { type: 'string', format: 'date-time' },
    summary: object('What it is made of.', { images: texts('Images in use.') }),
  }),
  columns: [
    { name: 'Sync Status', type: 'string', jsonPath: '.status.sync.status' },
    { name: 'Health Status', type: 'string', jsonPath: '.status.health.status' },
    { name: 'Revision', type: 'string', jsonPath: '.status.sync.revision', priority: 10 },
    { name: 'Project', type: 'string', jsonPath: '.spec.project', priority: 10 },
  ],
}

export const SERVICE_MONITOR: CustomKind = {
  group: 'monitoring.coreos.com',
  version: 'v1',
  kind: 'ServiceMonitor',
  plural: 'servicemonitors',
  namespaced: true,
  shortNames: ['smon'],
  categories: ['prometheus-operator'],
  description: 'Services whose endpoints Prometheus scrapes.',
  spec: object('Which and how.', {
    selector: { type: 'object', description: 'Labels of the Services.', 'x-kubernetes-preserve-unknown-fields': true },
    endpoints: {
      type: 'array',
      description: 'Ports to scrape.',
      items: object('One port.', {
        port: text('Its name.'),
        path: text('Metrics path.'),
        interval: text('How often.'),
      }),
    },
  }),
  columns: [AGE_COLUMN],
}

export const CUSTOM_KINDS: readonly CustomKind[] = [CERTIFICATE, CLUSTER_ISSUER, APPLICATION, SERVICE_MONITOR]

/**
 * `clusters.cluster.karmada.io/v1alpha1` as far as it says what a member is and how it is reached.
 * Source: karmada pkg/apis/cluster/v1alpha1/types.go, pkg/util/membercluster_client.go.
 */
import type { ClusterName } from '../../kube/names.ts'
import type { ProxySettings } from '../connections.ts'
import type { Credentials } from '../credentials.ts'
import { fields, fieldsList, flag, text, textOrEmpty, texts, type Fields } from '../fields.ts'
import type { ClusterFacts } from '../member.ts'

export const CLUSTERS_GVR = { group: 'cluster.karmada.io', version: 'v1alpha1', resource: 'clusters' }
export const SECRETS_GVR = { group: '', version: 'v1', resource: 'secrets' }

/** `key` is `namespace/name`. */
export interface SecretReference {
  readonly namespace: string
  readonly key: string
}

export interface KarmadaCluster {
  readonly facts: ClusterFacts
  /** A URL; empty where the cluster has none (Pull mode). */
  readonly server: string
  /** Undefined where the cluster names none. */
  readonly secret: SecretReference | undefined
  /** The same for the Secret whose token may impersonate callers. */
  readonly impersonatorSecret: SecretReference | undefined
  readonly insecureSkipVerify: boolean
  readonly proxy: ProxySettings | undefined
}

/** The part of a Secret that is kept. */
export interface ClusterSecret {
  readonly token: string
  readonly caBundle: string
  /** The UID of the Cluster that owns it; undefined where it has no such owner. */
  readonly owner: string | undefined
}

/** Undefined for an object without a name. */
export function karmadaCluster(object: Fields): KarmadaCluster | undefined {
  const metadata = fields(object.metadata)
  const spec = fields(object.spec)
  const name = textOrEmpty(metadata, 'name') as ClusterName
  if (name === '') return undefined
  return {
    facts: factsOf(name, metadata, spec, fields(object.status)),
    server: serverOf(textOrEmpty(spec, 'apiEndpoint')),
    secret: secretReference(fields(spec.secretRef)),
    impersonatorSecret: secretReference(fields(spec.impersonatorSecretRef)),
    insecureSkipVerify: flag(spec, 'insecureSkipTLSVerification'),
    proxy: proxyOf(spec),
  }
}

function secretReference(reference: Fields): SecretReference | undefined {
  const name = textOrEmpty(reference, 'name')
  const namespace = textOrEmpty(reference, 'namespace')
  return name === '' ? undefined : { namespace, key: `${namespace}/${name}` }
}

export function clusterSecret(object: Fields): { readonly key: string; readonly secret: ClusterSecret } {
  const metadata = fields(object.metadata)
  const data = fields(object.data)
  const owner = fieldsList(metadata, 'ownerReferences').find((reference) => text(reference, 'kind') === 'Cluster')
  const decoded = (key: string): string => Buffer.from(textOrEmpty(data, key), 'base64').toString('utf8').trim()
  return {
    key: `${textOrEmpty(metadata, 'namespace')}/${textOrEmpty(metadata, 'name')}`,
    secret: {
      token: decoded('token'),
      caBundle: decoded('caBundle'),
      owner: owner === undefined ? undefined : textOrEmpty(owner, 'uid'),
    },
  }
}

/** `token`: of the impersonator's Secret, for requests of callers; default that of the Secret itself. */
export function credentialsOf(cluster: KarmadaCluster, secret: ClusterSecret, token = secret.token): Credentials {
  return {
    headers: { authorization: `Bearer ${token}` },
    tls: {
      ...(secret.caBundle === '' || cluster.insecureSkipVerify ? {} : { ca: secret.caBundle }),
      ...(cluster.insecureSkipVerify ? { insecureSkipVerify: true } : {}),
    },
  }
}

function factsOf(name: ClusterName, metadata: Fields, spec: Fields, status: Fields): ClusterFacts {
  const labels = fields(metadata.labels)
  const zone = textOrEmpty(spec, 'zone')
  const zones = texts(spec, 'zones')
  return {
    name,
    uid: textOrEmpty(metadata, 'uid'),
    labels: Object.fromEntries(Object.keys(labels).map((key) => [key, textOrEmpty(labels, key)])),
    provider: textOrEmpty(spec, 'provider'),
    region: textOrEmpty(spec, 'region'),
    // `zone` is the older field; a cluster that has both means `zones`.
    zones: zones.length === 0 && zone !== '' ? [zone] : zones,
    ready: fieldsList(status, 'conditions').some(
      (condition) => text(condition, 'type') === 'Ready' && text(condition, 'status') === 'True',
    ),
  }
}

/** "This can be a hostname, hostname:port, IP or IP:port", says Karmada: without a scheme it is https. */
function serverOf(endpoint: string): string {
  return endpoint === '' || /^https?:\/\//i.test(endpoint) ? endpoint : `https://${endpoint}`
}

function proxyOf(spec: Fields): ProxySettings | undefined {
  const url = textOrEmpty(spec, 'proxyURL')
  if (url === '') return undefined
  const headers = fields(spec.proxyHeader)
  return {
    url,
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, textOrEmpty(headers, name).split(',')])),
  }
}

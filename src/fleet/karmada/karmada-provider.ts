/**
 * The members are what the control plane's Cluster objects say, live. A changed endpoint or proxy, or another UID under
 * the same name, is another way to another cluster: engaged anew, the old one aborted first. A changed Secret gives the
 * client new credentials and wakes whoever waits to retry. A cluster without an endpoint or a Secret is a member that says
 * so (`facts.unreachable`) and is not asked anything.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ClusterName } from '../../kube/names.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Clock } from '../../util/clock.ts'
import { ReplaceableCredentials, unusableCredentials, type CredentialSource } from '../credentials.ts'
import { environmentProxy, type Environment } from '../environment-proxy.ts'
import type { Fields } from '../fields.ts'
import type { FleetWriter } from '../fleet.ts'
import { createMemberClient, unreachableClient } from '../member-client.ts'
import { isMemberError } from '../member-error.ts'
import type { CallerAccess, ClusterFacts, MemberClient } from '../member.ts'
import type { ObserveObjects } from '../observe-objects.ts'
import {
  CLUSTERS_GVR,
  credentialsOf,
  karmadaCluster,
  type ClusterSecret,
  type KarmadaCluster,
  type SecretReference,
} from './cluster.ts'
import { SecretNamespaces } from './secret-namespaces.ts'

export interface KarmadaProviderOptions {
  readonly controlPlane: MemberClient
  readonly observe: ObserveObjects
  readonly fleet: FleetWriter
  readonly logger: Logger
  readonly clock: Clock
  /** Of each member's client (`--cluster-api-qps`, `--cluster-api-burst`). */
  readonly qps?: number
  readonly burst?: number
  readonly userAgent?: string
  /** HTTPS_PROXY and NO_PROXY, for clusters without a proxyURL; default: no proxy. */
  readonly environment?: Environment
}

interface Engaged {
  facts: ClusterFacts
  /** Changes when the member must be reached another way. */
  readonly route: string
  /** Undefined for a member that cannot be reached. */
  readonly credentials: ReplaceableCredentials | undefined
}

export class KarmadaClusterProvider {
  readonly #options: KarmadaProviderOptions
  readonly #clusters = new Map<ClusterName, KarmadaCluster>()
  readonly #engaged = new Map<ClusterName, Engaged>()
  readonly #secrets: SecretNamespaces
  #listed = false

  constructor(options: KarmadaProviderOptions) {
    this.#options = options
    this.#secrets = new SecretNamespaces(options.controlPlane, options.observe, (namespace, key) => {
      this.#secretsChanged(namespace, key)
    })
  }

  /** The clusters and what their Secrets say have been read once: who is a member is known. */
  get synced(): boolean {
    return this.#listed && [...this.#clusters.values()].every((cluster) => this.#secretOf(cluster) !== 'unknown')
  }

  /** Follows the control plane until the signal aborts, then disengages its members. Rejects for faults of ours alone. */
  async run(signal: AbortSignal): Promise<void> {
    const { controlPlane, observe, logger } = this.#options
    const observer = {
      replaced: (objects: readonly Fields[]) => {
        this.#replaced(objects)
      },
      changed: (type: string, object: Fields) => {
        this.#changed(type, object)
      },
      failing: (message: string) => {
        logger.warn({ reason: message }, 'clusters of the control plane cannot be read, members stay as they were')
      },
    }
    await Promise.all([observe(controlPlane, { gvr: CLUSTERS_GVR }, observer, signal), this.#secrets.run(signal)])
    for (const name of [...this.#engaged.keys()]) this.#leave(name, 'is no longer followed')
  }

  #replaced(objects: readonly Fields[]): void {
    const clusters = objects.map(karmadaCluster).filter((cluster) => cluster !== undefined)
    const present = new Set(clusters.map(({ facts }) => facts.name))
    for (const name of [...this.#clusters.keys()]) if (!present.has(name)) this.#remove(name)
    for (const cluster of clusters) this.#clusters.set(cluster.facts.name, cluster)
    this.#listed = true
    this.#followSecrets()
    for (const cluster of clusters) this.#reconcile(cluster)
  }

  #changed(type: string, object: Fields): void {
    const cluster = karmadaCluster(object)
    if (cluster === undefined) return
    const { name } = cluster.facts
    if (type === 'DELETED') {
      this.#remove(name)
    } else {
      this.#clusters.set(name, cluster)
      this.#reconcile(cluster)
    }
    this.#followSecrets()
  }

  #followSecrets(): void {
    const references = [...this.#clusters.values()].flatMap((cluster) => [cluster.secret, cluster.impersonatorSecret])
    const namespaces = references.map((reference) => reference?.namespace)
    this.#secrets.follow(new Set(namespaces.filter((namespace) => namespace !== undefined)))
  }

  #secretsChanged(namespace: string, key: string | undefined): void {
    for (const cluster of this.#clusters.values()) {
      const changed = (reference: SecretReference | undefined): boolean =>
        reference?.namespace === namespace && (key === undefined || reference.key === key)
      if (changed(cluster.secret) || changed(cluster.impersonatorSecret)) this.#reconcile(cluster)
    }
  }

  #remove(name: ClusterName): void {
    this.#clusters.delete(name)
    if (this.#engaged.has(name)) this.#leave(name, 'left the control plane')
  }

  #leave(name: ClusterName, reason: string): void {
    this.#engaged.delete(name)
    this.#options.fleet.disengage(name, reason)
  }

  /** Makes the fleet say of one cluster what the control plane says. */
  #reconcile(cluster: KarmadaCluster): void {
    const { name, uid } = cluster.facts
    const replaced = this.#engaged.get(name)
    if (replaced !== undefined && replaced.facts.uid !== uid) this.#leave(name, 'was replaced by another of its name')
    const secret = this.#secretOf(cluster)
    if (secret === 'unknown') return this.#updateFacts(cluster)
    const engaged = this.#engaged.get(name)
    const route = routeOf(cluster, typeof secret === 'string' ? secret : '')
    if (engaged?.route !== route) return this.#engage(cluster, secret, route)
    if (typeof secret !== 'string') engaged.credentials?.replaceIfOther(credentialsOf(cluster, secret))
    this.#updateFacts(cluster)
  }

  /** What is known of its Secret: the Secret, why there is no way to the cluster, or `unknown` before the first answer. */
  #secretOf(cluster: KarmadaCluster): ClusterSecret | string {
    if (cluster.server === '') return 'the Cluster has no spec.apiEndpoint'
    if (cluster.secret === undefined) return 'the Cluster has no spec.secretRef'
    return this.#tokenSecret(cluster, cluster.secret)
  }

  #tokenSecret(cluster: KarmadaCluster, { namespace, key }: SecretReference): ClusterSecret | string {
    const found = this.#secrets.get(namespace, key)
    if (typeof found === 'string') return found
    if (found.token === '') return `Secret ${key} has no token`
    // Joined again under the same name, its Secret not yet renewed: what is in it is the old cluster's.
    if (found.owner !== undefined && found.owner !== cluster.facts.uid)
      return `Secret ${key} belongs to another Cluster`
    return found
  }

  #engage(cluster: KarmadaCluster, secret: ClusterSecret | string, route: string): void {
    const { fleet, logger } = this.#options
    const { name } = cluster.facts
    const { client, callers, credentials, unreachable } = this.#open(cluster, secret)
    const facts = unreachable === undefined ? cluster.facts : { ...cluster.facts, unreachable }
    if (unreachable !== undefined) logger.warn({ cluster: name, reason: unreachable }, 'cluster cannot be reached')
    this.#engaged.set(name, { facts, route, credentials })
    fleet.engage(facts, client, callers)
  }

  #open(cluster: KarmadaCluster, secret: ClusterSecret | string): Opened {
    const closed = (reason: string): Opened => ({
      client: unreachableClient(reason),
      callers: undefined,
      credentials: undefined,
      unreachable: reason,
    })
    if (typeof secret === 'string') return closed(secret)
    const { clock, qps, burst, userAgent, environment = {} } = this.#options
    const fromEnvironment = environmentProxy(cluster.server, environment)
    const proxy = cluster.proxy ?? (fromEnvironment === undefined ? undefined : { url: fromEnvironment })
    const credentials = new ReplaceableCredentials(credentialsOf(cluster, secret))
    const open = (source: CredentialSource): MemberClient =>
      createMemberClient({
        server: cluster.server,
        credentials: source,
        ...(proxy === undefined ? {} : { proxy }),
        clock,
        ...(qps === undefined ? {} : { qps }),
        ...(burst === undefined ? {} : { burst }),
        ...(userAgent === undefined ? {} : { userAgent }),
      })
    try {
      const client = open(credentials)
      const callers: CallerAccess = { identity: 'impersonated', client: open(this.#impersonator(cluster.facts)) }
      return { client, callers, credentials, unreachable: undefined }
    } catch (error) {
      if (!isMemberError(error)) throw error
      return closed(error.message)
    }
  }

  /** What acts for callers: looked up for each request, for its Secret comes and changes by itself. Never the other token. */
  #impersonator({ name, uid }: ClusterFacts): CredentialSource {
    const current = (): ReturnType<CredentialSource['current']> => {
      const cluster = this.#clusters.get(name)
      if (cluster === undefined || cluster.facts.uid !== uid) return unusableCredentials(`cluster ${name} has left`)
      const secret = this.#secretOf(cluster)
      if (typeof secret === 'string') return unusableCredentials(secret)
      if (cluster.impersonatorSecret === undefined) {
        return unusableCredentials(
          `the Cluster ${name} has no spec.impersonatorSecretRef: it takes no requests of callers`,
        )
      }
      const impersonator = this.#tokenSecret(cluster, cluster.impersonatorSecret)
      if (typeof impersonator === 'string') return unusableCredentials(unknownYet(impersonator))
      return Promise.resolve(credentialsOf(cluster, secret, impersonator.token))
    }
    return { current }
  }

  /** Cluster objects change every few seconds by their heartbeat alone; the fleet hears of what matters. */
  #updateFacts({ facts }: KarmadaCluster): void {
    const engaged = this.#engaged.get(facts.name)
    if (engaged === undefined) return
    const { unreachable } = engaged.facts
    const next = unreachable === undefined ? facts : { ...facts, unreachable }
    if (isDeepStrictEqual(next, engaged.facts)) return
    engaged.facts = next
    this.#options.fleet.update(next)
  }
}

interface Opened {
  readonly client: MemberClient
  readonly callers: CallerAccess | undefined
  readonly credentials: ReplaceableCredentials | undefined
  readonly unreachable: string | undefined
}

const unknownYet = (reason: string): string =>
  reason === 'unknown' ? 'the Secret of spec.impersonatorSecretRef has not been read yet' : reason

function routeOf({ facts, server, proxy }: KarmadaCluster, unreachable: string): string {
  return JSON.stringify([facts.uid, server, proxy, unreachable])
}

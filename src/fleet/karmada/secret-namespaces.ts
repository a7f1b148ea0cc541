/** The Secrets of the namespaces that Cluster objects point to, live: one watch for each namespace, not for each cluster. */
import { fields, textOrEmpty, type Fields } from '../fields.ts'
import type { MemberClient } from '../member.ts'
import type { ObserveObjects } from '../observe-objects.ts'
import { SECRETS_GVR, clusterSecret, type ClusterSecret } from './cluster.ts'

interface Followed {
  readonly stop: AbortController
  /** By `namespace/name`; undefined before the first list. */
  secrets: Map<string, ClusterSecret> | undefined
  /** Why the first list has not come. */
  failure: string | undefined
}

export class SecretNamespaces {
  readonly #controlPlane: MemberClient
  readonly #observe: ObserveObjects
  /** `key` undefined: any Secret of the namespace may have changed. */
  readonly #onChange: (namespace: string, key: string | undefined) => void
  readonly #followed = new Map<string, Followed>()
  readonly #finished = Promise.withResolvers<void>()
  #running = 0
  #signal: AbortSignal | undefined

  constructor(
    controlPlane: MemberClient,
    observe: ObserveObjects,
    onChange: (namespace: string, key: string | undefined) => void,
  ) {
    this.#controlPlane = controlPlane
    this.#observe = observe
    this.#onChange = onChange
  }

  /** Resolves when the signal has aborted and every watch has ended; rejects with the first fault of ours. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    const stop = (): void => {
      for (const { stop } of this.#followed.values()) stop.abort(signal.reason)
      this.#followed.clear()
      if (this.#running === 0) this.#finished.resolve()
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    await this.#finished.promise
  }

  follow(namespaces: ReadonlySet<string>): void {
    for (const [namespace, followed] of this.#followed) {
      if (namespaces.has(namespace)) continue
      this.#followed.delete(namespace)
      followed.stop.abort(new Error(`no cluster has its Secret in ${namespace}`))
    }
    for (const namespace of namespaces) if (!this.#followed.has(namespace)) this.#start(namespace)
  }

  /** The Secret; why there is none; or `unknown` while the control plane has not answered yet. */
  get(namespace: string, key: string): ClusterSecret | string {
    const followed = this.#followed.get(namespace)
    if (followed?.secrets === undefined) return followed?.failure ?? 'unknown'
    return followed.secrets.get(key) ?? `Secret ${key} does not exist`
  }

  #start(namespace: string): void {
    if (this.#signal === undefined || this.#signal.aborted) return
    const followed: Followed = { stop: new AbortController(), secrets: undefined, failure: undefined }
    this.#followed.set(namespace, followed)
    const observer = {
      replaced: (objects: readonly Fields[]) => {
        followed.secrets = new Map(objects.map((object) => [keyOf(object), clusterSecret(object).secret]))
        this.#onChange(namespace, undefined)
      },
      changed: (type: string, object: Fields) => {
        const { key, secret } = clusterSecret(object)
        if (type === 'DELETED') followed.secrets?.delete(key)
        else followed.secrets?.set(key, secret)
        this.#onChange(namespace, key)
      },
      failing: (message: string) => {
        if (followed.secrets !== undefined) return
        followed.failure = `Secrets of ${namespace} cannot be read: ${message}`
        this.#onChange(namespace, undefined)
      },
    }
    this.#running += 1
    this.#observe(this.#controlPlane, { gvr: SECRETS_GVR, namespace }, observer, followed.stop.signal)
      .then(
        () => undefined,
        (error: unknown) => {
          this.#finished.reject(error)
        },
      )
      .finally(() => {
        this.#running -= 1
        if (this.#running === 0 && this.#signal?.aborted === true) this.#finished.resolve()
      })
      .catch(() => undefined)
  }
}

function keyOf(object: Fields): string {
  const metadata = fields(object.metadata)
  return `${textOrEmpty(metadata, 'namespace')}/${textOrEmpty(metadata, 'name')}`
}

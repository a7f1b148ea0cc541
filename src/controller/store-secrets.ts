/**
 * The Secrets of the control plane that hold credentials of search engines, live, one watch each: only what a registry names
 * is asked for. Nothing of them is ever logged.
 */
import { fields, textOrEmpty, type Fields } from '../fleet/fields.ts'
import { SECRETS_GVR } from '../fleet/karmada/cluster.ts'
import type { MemberClient } from '../fleet/member.ts'
import type { ObserveObjects } from '../fleet/observe-objects.ts'

export interface StoreSecretRef {
  readonly namespace: string
  readonly name: string
}

export interface StoreCredentials {
  readonly username?: string
  readonly password?: string
  readonly apiKey?: string
  /** PEM. */
  readonly ca?: string
}

interface Followed {
  readonly stop: AbortController
  /** Or why there are none. */
  found: StoreCredentials | string
}

export class StoreSecrets {
  readonly #client: MemberClient
  readonly #observe: ObserveObjects
  readonly #onChange: () => void
  readonly #followed = new Map<string, Followed>()
  readonly #running = new Set<Promise<void>>()
  readonly #stop = new AbortController()

  /** `onChange` is called after each change. */
  constructor(client: MemberClient, observe: ObserveObjects, onChange: () => void) {
    this.#client = client
    this.#observe = observe
    this.#onChange = onChange
  }

  /** From now on these and no others. */
  follow(refs: readonly StoreSecretRef[]): void {
    const wanted = new Map(refs.map((ref) => [keyOf(ref), ref]))
    for (const [key, { stop }] of this.#followed) {
      if (wanted.has(key)) continue
      this.#followed.delete(key)
      stop.abort(new Error('no registry names it'))
    }
    for (const [key, ref] of wanted) if (!this.#followed.has(key)) this.#start(key, ref)
  }

  /** The credentials, or why there are none, in words for people. */
  get(ref: StoreSecretRef): StoreCredentials | string {
    return this.#followed.get(keyOf(ref))?.found ?? `Secret ${keyOf(ref)} has not been read yet`
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('shutting down'))
    this.follow([])
    await Promise.allSettled(this.#running)
  }

  #start(key: string, { namespace, name }: StoreSecretRef): void {
    if (this.#stop.signal.aborted) return
    const followed: Followed = { stop: new AbortController(), found: `Secret ${key} has not been read yet` }
    this.#followed.set(key, followed)
    let read = false
    const found = (credentials: StoreCredentials | string): void => {
      followed.found = credentials
      this.#onChange()
    }
    const missing = `Secret ${key} does not exist`
    const observer = {
      replaced: (objects: readonly Fields[]) => {
        read = true
        const secret = objects.find((object) => textOrEmpty(fields(object.metadata), 'name') === name)
        found(secret === undefined ? missing : credentialsOf(key, secret))
      },
      changed: (type: string, object: Fields) => {
        if (textOrEmpty(fields(object.metadata), 'name') !== name) return
        found(type === 'DELETED' ? missing : credentialsOf(key, object))
      },
      failing: (message: string) => {
        // What was read stays: the control plane may be away for long.
        if (!read) found(`Secret ${key} cannot be read: ${message}`)
      },
    }
    const target = { gvr: SECRETS_GVR, namespace, fieldSelector: `metadata.name=${name}` }
    const ended = this.#observe(this.#client, target, observer, followed.stop.signal)
      .catch(() => found(`Secret ${key} cannot be followed: a fault inside this program`))
      .finally(() => this.#running.delete(ended))
    this.#running.add(ended)
  }
}

function keyOf({ namespace, name }: StoreSecretRef): string {
  return `${namespace}/${name}`
}

/** The original's code reads `username`, its documentation says `userName`. */
function credentialsOf(key: string, secret: Fields): StoreCredentials | string {
  const data = fields(secret.data)
  const value = (name: string): string => Buffer.from(textOrEmpty(data, name), 'base64').toString('utf8')
  const username = value('username') || value('userName')
  const [password, apiKey, ca] = [value('password'), value('apiKey'), value('ca.crt')]
  if (username === '' && apiKey === '' && ca === '') return `Secret ${key} has none of username, apiKey and ca.crt`
  return {
    ...(username === '' ? {} : { username, password }),
    ...(apiKey === '' ? {} : { apiKey }),
    ...(ca === '' ? {} : { ca }),
  }
}

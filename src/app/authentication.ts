/**
 * Who may vouch for callers of `serve`: files that were named, and for what was not named the control plane's ConfigMap,
 * which is followed. Nothing that is not known yet is trusted.
 */
import { clientRootsIn, CONFIG_MAP_NAME, CONFIG_MAP_NAMESPACE, frontProxyIn } from '../apiserver/authn/config-map.ts'
import { parseBundle } from '../apiserver/authn/certificate-chain.ts'
import { NO_TRUST, type Trust } from '../apiserver/authn/trust.ts'
import type { HealthCheck, Readiness } from '../apiserver/health.ts'
import type { MemberClient } from '../fleet/member.ts'
import { fields, textOrEmpty, type Fields } from '../fleet/fields.ts'
import { observeObjects } from '../informer/observe-objects.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { AuthenticationConfig } from './options/serving-config.ts'
import type { WatchedFiles } from './watched-files.ts'

export interface LiveTrustOptions {
  readonly config: AuthenticationConfig
  readonly files: WatchedFiles
  readonly client: MemberClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** How long the first look-up may take before `serve` gives up, unless `--authentication-tolerate-lookup-failure`. */
const LOOKUP_MS = 30_000

export class LiveTrust {
  readonly #options: LiveTrustOptions
  #trust: Trust = NO_TRUST
  /** Undefined: looked up, or not needed. */
  #missing: string | undefined
  readonly #lookedUp = Promise.withResolvers<void>()

  constructor(options: LiveTrustOptions) {
    this.#options = options
  }

  readonly source = (): Trust => this.#trust

  /** Not ready while nobody can be identified. */
  readonly check = {
    name: 'authentication',
    endpoints: ['readyz'],
    check: (): Readiness =>
      this.#missing === undefined ? { state: 'ready' } : { state: 'pending', reason: this.#missing },
  } as const satisfies HealthCheck

  /** Rejects where a named file cannot be used. */
  async loadFiles(): Promise<void> {
    const { config, files } = this.#options
    const { clientCaFile, requestHeader } = config
    if (clientCaFile !== undefined) {
      await files.add('client CA', [clientCaFile], ([pem = '']) => {
        this.#trust = { ...this.#trust, clientRoots: parseBundle(pem) }
      })
    }
    if (requestHeader !== undefined) {
      const { clientCaFile: proxyCaFile, ...names } = requestHeader
      await files.add('front-proxy CA', [proxyCaFile], ([pem = '']) => {
        this.#trust = { ...this.#trust, frontProxy: { ...names, roots: parseBundle(pem) } }
      })
    }
  }

  get needsLookup(): boolean {
    const { clientCaFile, requestHeader, skipLookup } = this.#options.config
    return !skipLookup && (clientCaFile === undefined || requestHeader === undefined)
  }

  /** Follows the ConfigMap until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { client, clock, random, log } = this.#options
    this.#missing = `ConfigMap ${CONFIG_MAP_NAMESPACE}/${CONFIG_MAP_NAME} has not been read`
    const objects = new Map<string, Fields>()
    const apply = (): void => {
      this.#apply(objects.get(CONFIG_MAP_NAME))
    }
    await observeObjects(
      client,
      {
        gvr: { group: '', version: 'v1', resource: 'configmaps' },
        namespace: CONFIG_MAP_NAMESPACE,
        // The role extension-apiserver-authentication-reader allows this one object alone.
        fieldSelector: `metadata.name=${CONFIG_MAP_NAME}`,
      },
      {
        replaced(all) {
          objects.clear()
          for (const object of all) objects.set(nameOf(object), object)
          apply()
        },
        changed(type, object) {
          if (type === 'DELETED') objects.delete(nameOf(object))
          else objects.set(nameOf(object), object)
          apply()
        },
        failing: (reason) => {
          if (this.#missing !== undefined) {
            this.#missing = `ConfigMap ${CONFIG_MAP_NAMESPACE}/${CONFIG_MAP_NAME} cannot be read: ${reason}`
          }
        },
      },
      {
        clock,
        random,
        onError: (err) => {
          log.debug({ err }, 'the authentication ConfigMap cannot be followed; retrying')
        },
      },
      signal,
    )
  }

  /** Resolves once the ConfigMap was read; rejects, with what is wrong, when that takes too long. */
  async lookedUp(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#options
    if (config.tolerateLookupFailure) return
    const done = new AbortController()
    const late = sleep(LOOKUP_MS, clock, AbortSignal.any([done.signal, signal])).then(
      () => true,
      () => false,
    )
    const isLate = await Promise.race([late, this.#lookedUp.promise.then(() => false)])
    done.abort()
    signal.throwIfAborted()
    if (isLate) {
      throw new Error(
        `callers cannot be identified: ${this.#missing ?? ''} (is the Role extension-apiserver-authentication-reader ` +
          'bound? --authentication-tolerate-lookup-failure starts without)',
      )
    }
  }

  /** Without the ConfigMap nobody is vouched for. Of one that cannot be read, what it said before stays in force. */
  #apply(configMap: Fields | undefined): void {
    const { config, log } = this.#options
    if (configMap === undefined) {
      this.#missing = `there is no ConfigMap ${CONFIG_MAP_NAMESPACE}/${CONFIG_MAP_NAME}`
      log.error({ reason: this.#missing }, 'the control plane says nothing of who may be trusted')
    }
    const data = fields(configMap?.['data'])
    try {
      const clientRoots = config.clientCaFile === undefined ? (clientRootsIn(data) ?? []) : this.#trust.clientRoots
      const frontProxy = config.requestHeader === undefined ? frontProxyIn(data) : this.#trust.frontProxy
      this.#trust = { clientRoots, frontProxy }
    } catch (err) {
      log.error({ err }, 'the authentication ConfigMap cannot be used; going on with what it said before')
      return
    }
    if (configMap === undefined) return
    if (this.#missing !== undefined) log.info('read from the control plane who may be trusted')
    this.#missing = undefined
    this.#lookedUp.resolve()
  }
}

function nameOf(object: Fields): string {
  return textOrEmpty(fields(object['metadata']), 'name')
}

/**
 * Every context of a kubeconfig is a member. The files are read again every few seconds: contexts come and go, a changed
 * server or proxy is another way to the member (engaged anew), changed credentials are taken up by the client as it is.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ClusterName } from '../../kube/names.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { sleep } from '../../util/sleep.ts'
import type { FleetWriter } from '../fleet.ts'
import { unreachableClient } from '../member-client.ts'
import { isMemberError } from '../member-error.ts'
import type { ClusterFacts, MemberClient } from '../member.ts'
import { contextClient, type ContextClientOptions } from './context-client.ts'
import { contextFilter } from './context-globs.ts'
import { loadKubeconfig, type KubeContext, type Kubeconfig } from './kubeconfig.ts'

export interface KubeconfigProviderOptions extends ContextClientOptions {
  /** Merged as kubectl merges $KUBECONFIG. */
  readonly files: readonly string[]
  /** Globs; default: every context. */
  readonly contexts?: readonly string[]
  readonly fleet: FleetWriter
  readonly logger: Logger
}

interface Engaged {
  context: KubeContext
  /** Changes when the member must be reached another way. */
  readonly route: string
}

const REREAD_MS = 5_000
const NAMES_SHOWN = 20 // of a kubeconfig's contexts, in a log line

export class KubeconfigProvider {
  readonly #options: KubeconfigProviderOptions
  readonly #selects: (name: string) => boolean
  readonly #engaged = new Map<ClusterName, Engaged>()
  #loaded = false

  constructor(options: KubeconfigProviderOptions) {
    this.#options = options
    this.#selects = contextFilter(options.contexts ?? [])
  }

  /** The files have been read once: who is a member is known. */
  get synced(): boolean {
    return this.#loaded
  }

  /**
   * Engages what the files say now, then follows them until the signal aborts, and disengages its members. Rejects with a
   * `MemberError` where the files cannot be read at the start; later faults are logged and the last good state stays.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, files } = this.#options
    let seen = await contents(files)
    this.#apply(await loadKubeconfig(files))
    while (!signal.aborted) {
      await sleep(REREAD_MS, clock, signal).catch(() => undefined)
      if (signal.aborted) break
      const now = await contents(files)
      if (now === seen) continue
      seen = now
      await this.#reload()
    }
    for (const name of [...this.#engaged.keys()]) this.#leave(name, 'is no longer followed')
  }

  async #reload(): Promise<void> {
    try {
      this.#apply(await loadKubeconfig(this.#options.files))
    } catch (error) {
      if (!isMemberError(error)) throw error
      this.#options.logger.warn({ err: error }, 'kubeconfig cannot be read, members stay as they were')
    }
  }

  #apply(kubeconfig: Kubeconfig): void {
    this.#loaded = true
    const { logger } = this.#options
    for (const fault of kubeconfig.faults) logger.warn({ fault }, 'kubeconfig context left out')
    const wanted = new Map(this.#members(kubeconfig).map((context) => [context.name as ClusterName, context]))
    if (wanted.size === 0) {
      const { contexts, files } = this.#options
      const all = kubeconfig.contexts.map(({ name }) => name).slice(0, NAMES_SHOWN)
      logger.warn({ contexts, files, there: all }, 'no context of the kubeconfig is a member')
    }
    for (const name of [...this.#engaged.keys()]) if (!wanted.has(name)) this.#leave(name, 'left the kubeconfig')
    for (const [name, context] of wanted) {
      const route = routeOf(context)
      const engaged = this.#engaged.get(name)
      if (engaged?.route === route) engaged.context = context
      else this.#engage(name, context, route)
    }
  }

  /** One member for each (server, user): contexts that differ in their default namespace alone would show all twice. */
  #members(kubeconfig: Kubeconfig): KubeContext[] {
    const selected = kubeconfig.contexts.filter(({ name }) => this.#selects(name))
    const current = selected.filter(({ name }) => name === kubeconfig.currentContext)
    const first = new Map<string, KubeContext>()
    for (const context of [...current, ...selected]) {
      const key = JSON.stringify([context.cluster.server, context.userName])
      const twin = first.get(key)
      if (twin === undefined) first.set(key, context)
      else if (twin !== context) {
        this.#options.logger.info(
          { context: context.name, as: twin.name },
          'kubeconfig context reaches the same cluster',
        )
      }
    }
    return [...first.values()]
  }

  #engage(name: ClusterName, context: KubeContext, route: string): void {
    const entry: Engaged = { context, route }
    const { fleet, logger, clock, environment, qps, burst, userAgent } = this.#options
    const options = {
      clock,
      environment,
      ...(qps === undefined ? {} : { qps }),
      ...(burst === undefined ? {} : { burst }),
      ...(userAgent === undefined ? {} : { userAgent }),
    }
    let client: MemberClient
    let unreachable: string | undefined
    try {
      client = contextClient(context, () => entry.context, options)
    } catch (error) {
      if (!isMemberError(error)) throw error
      unreachable = error.message
      client = unreachableClient(unreachable)
      logger.warn({ cluster: name, err: error }, 'kubeconfig context cannot be reached')
    }
    this.#engaged.set(name, entry)
    fleet.engage(factsOf(name, uidOf(context), unreachable), client, { identity: 'own', client })
  }

  #leave(name: ClusterName, reason: string): void {
    this.#engaged.delete(name)
    this.#options.fleet.disengage(name, reason)
  }
}

function factsOf(name: ClusterName, uid: string, unreachable: string | undefined): ClusterFacts {
  return {
    name,
    uid,
    labels: {},
    provider: '',
    region: '',
    zones: [],
    ready: true,
    ...(unreachable === undefined ? {} : { unreachable }),
  }
}

/**
 * Stands for the cluster behind a context: where it is, and whom it trusts. A cluster made anew under the same name (kind,
 * minikube, k3d) has another port or another CA.
 */
function uidOf({ cluster }: KubeContext): string {
  const parts = [cluster.server, cluster.caData ?? cluster.caFile ?? '']
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

function routeOf(context: KubeContext): string {
  const { proxyUrl, disableCompression } = context.cluster
  return JSON.stringify([uidOf(context), proxyUrl, disableCompression])
}

/** Of all files, for comparing; what cannot be read counts as empty. */
async function contents(files: readonly string[]): Promise<string> {
  return (await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))).join('\0')
}

/** Joins what registries say of their stores with the mirrors that write to them. */
import type { EngineMirror, WantedStore } from '../backendstore/engine-mirror.ts'
import { EngineMirrors, type EngineMirrorsOptions } from '../backendstore/engine-mirrors.ts'
import type { EngineKind, OpenEngineStore } from '../backendstore/engine-store.ts'
import { BackendStoreError } from '../backendstore/errors.ts'
import type { BulkWriter } from '../backendstore/bulk-writer.ts'
import type { ResourceRegistry } from '../api/resource-registry.ts'
import { backendVerdict, type StoreHealth, type Verdict } from '../controller/backend-condition.ts'
import type { Controller } from '../controller/controller.ts'
import type { RegistrySource } from '../controller/ports.ts'
import { namedEngines, planStores, type StorePlan, type StorePlanProblem } from '../controller/store-plan.ts'
import { StoreSecrets, type StoreSecretRef } from '../controller/store-secrets.ts'
import type { MemberClient } from '../fleet/member.ts'
import type { ObserveObjects } from '../fleet/observe-objects.ts'

/** Where credentials of engines are. */
export interface SecretsSource {
  readonly client: MemberClient
  readonly observe: ObserveObjects
}

export interface StoreMirrorsOptions extends Omit<EngineMirrorsOptions, 'open' | 'credentials'> {
  readonly controller: Pick<Controller, 'plan' | 'onChange'>
  readonly registries: Pick<RegistrySource, 'current' | 'synced'>
  /** Undefined: this program has no engines. */
  readonly open: OpenEngineStore | undefined
  /** Undefined: no control plane, so no Secrets. */
  readonly secrets: SecretsSource | undefined
  /** The store that mirrors everything, of this replica alone; undefined: there is none. */
  readonly own: { readonly name: string; readonly writer: BulkWriter } | undefined
  /** Searches are answered from an engine, which is given everything that is cached. Default: from `own`. */
  readonly searched?: boolean
}

const NO_ENGINE: OpenEngineStore = ({ kind }) =>
  Promise.reject(new BackendStoreError('unsupported', `this program cannot write to ${kind}`))

export class StoreMirrors {
  readonly mirrors: EngineMirrors
  readonly #options: StoreMirrorsOptions
  readonly #secrets: StoreSecrets | undefined
  #planned: Controller['plan'] | undefined
  #synced = false
  #stores: StorePlan = { stores: [], problems: [] }

  constructor(options: StoreMirrorsOptions) {
    const { open = NO_ENGINE, secrets } = options
    this.#options = options
    this.mirrors = new EngineMirrors({ ...options, open, credentials: (ref) => this.#credentials(ref) })
    if (secrets !== undefined) {
      this.#secrets = new StoreSecrets(secrets.client, secrets.observe, () => {
        this.mirrors.credentialsChanged()
      })
    }
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const unlisten = this.#options.controller.onChange(() => {
      this.#apply()
    })
    this.#apply()
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    unlisten()
    await this.mirrors.close()
    await this.#secrets?.close()
  }

  /** Of a registry; undefined while another replica writes to its stores, which then knows better. */
  verdict({ metadata: { name } }: ResourceRegistry): Verdict | undefined {
    const engines = this.mirrors.healthOf(name, this.searched())
    if (engines.some(({ writing }) => !writing)) return undefined
    const problems = this.#stores.problems.filter(({ registry }) => registry === name)
    if (this.#options.searched === true && this.searched() === undefined) problems.push(notSearched(name))
    return backendVerdict([...this.#own(), ...engines], problems)
  }

  /**
   * What searches are answered from where that is an engine: the first by the names of the registries, of several that one
   * registry names OpenSearch.
   */
  searched(): EngineMirror | undefined {
    return this.#options.searched === true ? this.#mirrorOf(this.#stores.stores[0]) : undefined
  }

  /** The first engine of that kind by the names of the registries. */
  first(kind: EngineKind): EngineMirror | undefined {
    return this.#mirrorOf(this.#stores.stores.find((store) => store.kind === kind))
  }

  /** By the name of its store. */
  writerOf(store: string): BulkWriter | undefined {
    const { own } = this.#options
    const all = [...(own === undefined ? [] : [own]), ...this.mirrors.mirrors()]
    return all.find(({ name }) => name === store)?.writer
  }

  /** What changed is the state of shards as a rule; a plan of stores is made of another plan of shards alone. */
  #apply(): void {
    const { controller, registries } = this.#options
    const { plan } = controller
    if (plan === this.#planned && registries.synced === this.#synced) return
    this.#planned = plan
    this.#synced = registries.synced
    this.#stores = planStores(
      registries.current().filter(({ metadata }) => plan.targets.has(metadata.name)),
      plan.shards,
    )
    const [first, ...others] = this.#stores.stores
    const wanted: WantedStore[] = [...others]
    if (first !== undefined) wanted.unshift(this.#options.searched === true ? { ...first, shards: 'all' } : first)
    this.mirrors.apply(wanted, registries.synced ? namedEngines(registries.current()) : undefined)
    this.#secrets?.follow(this.mirrors.secretRefs())
  }

  #mirrorOf(store: WantedStore | undefined): EngineMirror | undefined {
    if (store === undefined) return undefined
    return [...this.mirrors.mirrors()].find((mirror) => mirror.isEngineOf(store))
  }

  #credentials(ref: StoreSecretRef | undefined) {
    if (ref === undefined) return {}
    return this.#secrets?.get(ref) ?? 'there is no control plane to read the Secret from'
  }

  #own(): StoreHealth[] {
    const { own, letters } = this.#options
    if (own === undefined) return []
    const { writer, name: store } = own
    return [{ ...writer.status(), waiting: writer.waiting(), store, deadLetters: letters.count(store) }]
  }
}

function notSearched(registry: string): StorePlanProblem {
  const message = 'no registry names a search engine to search in (--search-store=registry)'
  return { registry, reason: 'NoSearchStore', message }
}

/**
 * ResourceRegistries as an API: validated, defaulted, versioned writes over any `RegistryStore`, and its reads.
 * Every write throws `StatusError`: invalid with all faults, alreadyExists, notFound, conflict.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ResourceRegistry } from '../api/resource-registry.ts'
import type { ResourceVersion } from '../kube/names.ts'
import { isStatusError } from '../kube/status-error.ts'
import type { Clock, Random } from '../util/clock.ts'
import { registryExists, registryInvalid, registryNotFound } from './errors.ts'
import { causesOf, type FieldFault } from './field-fault.ts'
import {
  applyConfiguration,
  isSameButTimes,
  managedFieldsAfterUpdate,
  type Writer,
} from './field-ownership/registry-ownership.ts'
import { generateName } from './generate-name.ts'
import { requireNothingStored, requirePreconditions, type Preconditions } from './preconditions.ts'
import type { RegistryEvent, RegistryList, RegistryReader, RegistryStore } from './registry-store.ts'
import {
  finalizersFor,
  isReleased,
  markDeleted,
  prepareForCreate,
  prepareForStatusUpdate,
  prepareForUpdate,
  timestamp,
  type Propagation,
} from './strategy.ts'
import { registryFaults, registryUpdateFaults } from './validation.ts'

export interface ResourceRegistriesOptions {
  readonly store: RegistryStore
  readonly clock: Clock
  readonly random: Random
  /** A fresh RFC 4122 uid. */
  readonly newUid: () => string
}

export type { Preconditions } from './preconditions.ts'

export interface WriteOptions {
  /** Everything is checked and answered, nothing stored. */
  readonly dryRun?: boolean
  /** Who the fields that change belong to; default `fleetsearch`. */
  readonly fieldManager?: string
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string
  /** Fields of others are taken over instead of refused. */
  readonly force?: boolean
}

export interface DeleteOptions extends WriteOptions {
  /** What becomes of the objects that it owns; default: the garbage collector removes them afterwards. */
  readonly propagation?: Propagation
}

export interface AppliedRegistry {
  readonly registry: ResourceRegistry
  readonly created: boolean
}

/** The object that is to be, made of the one there is; may throw. Called again where another writer came first. */
export type Change = (stored: ResourceRegistry) => ResourceRegistry

export interface Deletion {
  /** As it was at its end, or as it waits for its finalizers. */
  readonly registry: ResourceRegistry
  readonly gone: boolean
}

const DEFAULT_MANAGER = 'fleetsearch'
// Other writers that may come first before a write without a version gives up; as many as client-go's retries allow.
const MAX_ATTEMPTS = 5
// Of 27^5 suffixes a generated name hits a taken one eight times in a row only in a full store (apiserver: also 8).
const MAX_GENERATED = 8

export class ResourceRegistries implements RegistryReader {
  readonly #store: RegistryStore
  readonly #clock: Clock
  readonly #random: Random
  readonly #newUid: () => string

  constructor({ store, clock, random, newUid }: ResourceRegistriesOptions) {
    this.#store = store
    this.#clock = clock
    this.#random = random
    this.#newUid = newUid
  }

  get(name: string): Promise<ResourceRegistry | undefined> {
    return this.#store.get(name)
  }

  /** Throws notFound. */
  async find(name: string): Promise<ResourceRegistry> {
    const registry = await this.#store.get(name)
    if (registry === undefined) throw registryNotFound(name)
    return registry
  }

  list(): Promise<RegistryList> {
    return this.#store.list()
  }

  watch(from: ResourceVersion, signal: AbortSignal): AsyncIterable<RegistryEvent> {
    return this.#store.watch(from, signal)
  }

  async create(input: ResourceRegistry, options: WriteOptions = {}): Promise<ResourceRegistry> {
    const { name, generateName: prefix } = input.metadata
    const generated = name === '' && typeof prefix === 'string' && prefix !== ''
    for (let attempt = 1; ; attempt++) {
      const chosen = generated ? generateName(prefix, this.#random) : name
      try {
        return await this.#create(input, chosen, options)
      } catch (error) {
        if (!generated || attempt >= MAX_GENERATED || !isStatusError(error, 'alreadyExists')) throw error
      }
    }
  }

  async #create(input: ResourceRegistry, name: string, options: WriteOptions): Promise<ResourceRegistry> {
    const managedFields = managedFieldsAfterUpdate(undefined, input, this.#writer(options, ''))
    return this.#createOwned(withManagedFields(input, managedFields), name, options)
  }

  async #createOwned(
    input: ResourceRegistry,
    name: string,
    { dryRun = false }: WriteOptions,
  ): Promise<ResourceRegistry> {
    const registry = prepareForCreate(input, name, this.#newUid(), timestamp(this.#clock.nowMs()))
    refuse(name, registryFaults(registry))
    if (!dryRun) return this.#store.create(registry)
    if ((await this.#store.get(name)) !== undefined) throw registryExists(name)
    return registry
  }

  /** The main resource; its status stays. An object that waits for its end goes with its last finalizer. */
  update(name: string, change: Change, options: WriteOptions = {}): Promise<ResourceRegistry> {
    return this.#write(name, this.#owning(change, options, ''), options, prepareValidUpdate)
  }

  /** The status subresource; only the status that `change` returns counts. */
  updateStatus(name: string, change: Change, options: WriteOptions = {}): Promise<ResourceRegistry> {
    return this.#write(name, this.#owning(change, options, 'status'), options, prepareForStatusUpdate)
  }

  /**
   * Server-side apply of a configuration (`decodeConfiguration`); creates what is not there. Throws `conflict` where it
   * would change fields of others.
   */
  async apply(name: string, config: object, options: ApplyOptions): Promise<AppliedRegistry> {
    const writer = this.#writer(options, '')
    const change: Change = (stored) => applyConfiguration(stored, config, writer, options.force ?? false)
    for (let attempt = 1; ; attempt++) {
      try {
        if ((await this.#store.get(name)) !== undefined) {
          return { registry: await this.#write(name, change, options, prepareValidUpdate), created: false }
        }
        const input = applyConfiguration(undefined, config, writer, options.force ?? false)
        requireNothingStored(name, input.metadata)
        return { registry: await this.#createOwned(input, name, options), created: true }
      } catch (error) {
        const overtaken = isStatusError(error, 'alreadyExists') || isStatusError(error, 'notFound')
        if (!overtaken || attempt >= MAX_ATTEMPTS) throw error
      }
    }
  }

  /** Of the status alone; what is not there is not found. */
  applyStatus(name: string, config: object, options: ApplyOptions): Promise<ResourceRegistry> {
    const writer = this.#writer(options, 'status')
    const change: Change = (stored) => applyConfiguration(stored, config, writer, options.force ?? false)
    return this.#write(name, change, options, prepareForStatusUpdate)
  }

  delete(name: string, preconditions: Preconditions = {}, options: DeleteOptions = {}): Promise<Deletion> {
    const { dryRun = false, propagation } = options
    return this.#onLatest(name, async (stored, version) => {
      requirePreconditions(stored, preconditions)
      const finalizers = finalizersFor(stored.metadata.finalizers ?? [], propagation)
      if (finalizers.length === 0) {
        return { registry: dryRun ? stored : await this.#store.delete(name, version), gone: true }
      }
      const marked = markDeleted(stored, finalizers, timestamp(this.#clock.nowMs()))
      if (isDeepStrictEqual(marked, stored)) return { registry: stored, gone: false }
      return { registry: dryRun ? marked : await this.#store.update(marked, version), gone: false }
    })
  }

  #write(
    name: string,
    change: Change,
    { dryRun = false }: WriteOptions,
    prepare: (input: ResourceRegistry, stored: ResourceRegistry) => ResourceRegistry,
  ): Promise<ResourceRegistry> {
    return this.#onLatest(name, async (stored, version) => {
      const input = change(stored)
      requirePreconditions(stored, input.metadata)
      const next = withManagedFields(prepare(input, stored), input.metadata['managedFields'])
      if (isSameButTimes(next, stored)) return dryRun ? stored : ((await this.#store.refresh?.(stored)) ?? stored)
      if (dryRun) return next
      return isReleased(next) ? this.#store.delete(name, version) : this.#store.update(next, version)
    })
  }

  #writer({ fieldManager = DEFAULT_MANAGER }: WriteOptions, subresource: Writer['subresource']): Writer {
    return { manager: fieldManager, subresource, now: timestamp(this.#clock.nowMs()) }
  }

  /** The change with the owners of what it changes. */
  #owning(change: Change, options: WriteOptions, subresource: Writer['subresource']): Change {
    const writer = this.#writer(options, subresource)
    return (stored) => {
      const input = change(stored)
      return withManagedFields(input, managedFieldsAfterUpdate(stored, input, writer))
    }
  }

  /**
   * Runs `write` on the stored object, again where another writer came between its read and its write. A client that
   * names a version is refused by its precondition then.
   */
  async #onLatest<T>(
    name: string,
    write: (stored: ResourceRegistry, version: ResourceVersion) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const stored = await this.find(name)
      try {
        return await write(stored, stored.metadata.resourceVersion as ResourceVersion)
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS || !isStatusError(error, 'conflict')) throw error
        const latest = await this.find(name)
        if (latest.metadata.resourceVersion === stored.metadata.resourceVersion) throw error
      }
    }
  }
}

function prepareValidUpdate(input: ResourceRegistry, stored: ResourceRegistry): ResourceRegistry {
  const next = prepareForUpdate(input, stored)
  refuse(next.metadata.name, registryUpdateFaults(next, stored))
  return next
}

function withManagedFields(registry: ResourceRegistry, managedFields: unknown): ResourceRegistry {
  const { managedFields: _, ...metadata } = registry.metadata
  return { ...registry, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
}

function refuse(name: string, faults: readonly FieldFault[]): void {
  if (faults.length > 0) throw registryInvalid(name, causesOf(faults))
}

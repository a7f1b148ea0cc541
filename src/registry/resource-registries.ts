/**
 * ResourceRegistries as an API: validated, defaulted, versioned writes over any `RegistryStore`, and its reads.
 * Every write throws `StatusError`: invalid with all faults, alreadyExists, notFound, conflict.
 */
import type { ResourceRegistry } from '../api/resource-registry.ts'
import type { ResourceVersion } from '../kube/names.ts'
import { isStatusError } from '../kube/status-error.ts'
import type { Clock, Random } from '../util/clock.ts'
import { registryConflict, registryExists, registryInvalid, registryNotFound } from './errors.ts'
import { causesOf, invalidValue, type FieldFault } from './field-fault.ts'
import { generateName } from './generate-name.ts'
import type { RegistryEvent, RegistryList, RegistryReader, RegistryStore } from './registry-store.ts'
import {
  isReleased,
  markDeleted,
  prepareForCreate,
  prepareForStatusUpdate,
  prepareForUpdate,
  timestamp,
} from './strategy.ts'
import { registryFaults, registryUpdateFaults } from './validation.ts'

export interface ResourceRegistriesOptions {
  readonly store: RegistryStore
  readonly clock: Clock
  readonly random: Random
  /** A fresh RFC 4122 uid. */
  readonly newUid: () => string
}

export interface WriteOptions {
  /** Everything is checked and answered, nothing stored. */
  readonly dryRun?: boolean
}

/** Each holds where it is given; else 409. */
export interface Preconditions {
  readonly uid?: string
  readonly resourceVersion?: string
}

/** The object that is to be, made of the one there is; may throw. Called again where another writer came first. */
export type Change = (stored: ResourceRegistry) => ResourceRegistry

export interface Deletion {
  /** As it was at its end, or as it waits for its finalizers. */
  readonly registry: ResourceRegistry
  readonly gone: boolean
}

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

  async #create(input: ResourceRegistry, name: string, { dryRun = false }: WriteOptions): Promise<ResourceRegistry> {
    const registry = prepareForCreate(input, name, this.#newUid(), timestamp(this.#clock.nowMs()))
    refuse(name, registryFaults(registry))
    if (!dryRun) return this.#store.create(registry)
    if ((await this.#store.get(name)) !== undefined) throw registryExists(name)
    return registry
  }

  /** The main resource; its status stays. An object that waits for its end goes with its last finalizer. */
  update(name: string, change: Change, options: WriteOptions = {}): Promise<ResourceRegistry> {
    return this.#write(name, change, options, (input, stored) => {
      const next = prepareForUpdate(input, stored)
      refuse(name, registryUpdateFaults(next, stored))
      return next
    })
  }

  /** The status subresource; only the status that `change` returns counts. */
  updateStatus(name: string, change: Change, options: WriteOptions = {}): Promise<ResourceRegistry> {
    return this.#write(name, change, options, prepareForStatusUpdate)
  }

  delete(name: string, preconditions: Preconditions = {}, options: WriteOptions = {}): Promise<Deletion> {
    const { dryRun = false } = options
    return this.#onLatest(name, async (stored, version) => {
      requirePreconditions(stored, preconditions)
      if ((stored.metadata.finalizers ?? []).length === 0) {
        return { registry: dryRun ? stored : await this.#store.delete(name, version), gone: true }
      }
      if (stored.metadata.deletionTimestamp !== undefined) return { registry: stored, gone: false }
      const marked = markDeleted(stored, timestamp(this.#clock.nowMs()))
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
      const next = prepare(input, stored)
      if (dryRun || JSON.stringify(next) === JSON.stringify(stored)) return next
      return isReleased(next) ? this.#store.delete(name, version) : this.#store.update(next, version)
    })
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

function refuse(name: string, faults: readonly FieldFault[]): void {
  if (faults.length > 0) throw registryInvalid(name, causesOf(faults))
}

/** An empty value asks for nothing. */
function requirePreconditions({ metadata }: ResourceRegistry, { uid = '', resourceVersion = '' }: Preconditions): void {
  if (uid !== '' && uid !== metadata.uid) {
    throw registryConflict(
      metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    )
  }
  if (resourceVersion === '' || resourceVersion === metadata.resourceVersion) return
  if (/^[0-9]+$/.test(resourceVersion)) throw registryConflict(metadata.name)
  refuse(metadata.name, [invalidValue('metadata.resourceVersion', resourceVersion, 'must be a version of this object')])
}

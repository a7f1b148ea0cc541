/**
 * The indices that there are, made when their first document comes. Documents are written through `kubernetes-<kind>`,
 * whose write index is the one of our mapping version. Where an index of another version holds documents of the kind, both
 * stand behind the aliases and documents move one at a time: a write puts its document into the new index and takes it out
 * of the old one, comparisons (`comparisons.ts`) name what has not moved, and an old index that has become empty goes. So
 * searches find every document all the time, and those of members that cannot be reached stay.
 */
import { pathOf, type EngineClient } from './engine-client.ts'
import { EngineError, isEngineError } from './engine-errors.ts'
import { aliasOf, ALL_INDICES, indexOf, template, templateName, type IndexSettings } from './schema.ts'

export interface KindIndices {
  readonly alias: string
  readonly current: string
  /** Of other versions, from which documents move. */
  readonly older: readonly string[]
}

export class Indices {
  readonly #client: EngineClient
  readonly #settings: IndexSettings
  readonly #version: string
  readonly #kinds = new Map<string, Promise<KindIndices>>()
  #template: Promise<void> | undefined

  constructor(client: EngineClient, settings: IndexSettings, version: string) {
    this.#client = client
    this.#settings = settings
    this.#version = version
  }

  /** Those of a kind, made where they are missing; two writers that do so at once are no fault. */
  async ensure(kind: string): Promise<KindIndices> {
    const alias = aliasOf(kind)
    let found = this.#kinds.get(alias)
    if (found === undefined) {
      this.#kinds.set(alias, (found = this.#make(kind)))
      found.catch(() => this.#kinds.delete(alias))
    }
    return found
  }

  /** Looks anew: an index was removed behind our back. */
  forget(): void {
    this.#kinds.clear()
    this.#template = undefined
  }

  /** Removes indices of other versions that have no document left. */
  async dropEmpty(kind: string): Promise<void> {
    const { older } = await this.ensure(kind)
    for (const index of older) {
      const { count } = await this.#client.request<{ count: number }>({
        method: 'GET',
        path: `${pathOf(index)}/_count`,
      })
      if (count > 0) continue
      await this.#client.request({ method: 'DELETE', path: pathOf(index), query: { ignore_unavailable: true } })
      this.#kinds.delete(aliasOf(kind))
    }
  }

  async #make(kind: string): Promise<KindIndices> {
    await (this.#template ??= this.#putTemplate())
    const alias = aliasOf(kind)
    const current = indexOf(kind, this.#version)
    const standing = await this.#behind(alias)
    const older = standing.filter((index) => index !== current)
    if (!standing.includes(current)) await this.#create(alias, current, older)
    return { alias, current, older }
  }

  async #putTemplate(): Promise<void> {
    const body = template(this.#version, this.#client.flatType, this.#settings)
    try {
      await this.#client.request({ method: 'PUT', path: pathOf('_index_template', templateName(this.#version)), body })
    } catch (error) {
      this.#template = undefined
      throw error
    }
  }

  async #behind(alias: string): Promise<string[]> {
    try {
      return Object.keys(await this.#client.request<object>({ method: 'GET', path: pathOf('_alias', alias) }))
    } catch (error) {
      if (isEngineError(error) && error.status === 404) return []
      throw error
    }
  }

  async #create(alias: string, index: string, older: readonly string[]): Promise<void> {
    try {
      await this.#client.request({ method: 'PUT', path: pathOf(index) })
    } catch (error) {
      if (!isEngineError(error, 'resource_already_exists_exception')) throw error
    }
    await this.#putAliases(alias, index, older)
  }

  /**
   * At once: an alias never has two indices to write to. And only now, when its shards have started: a search that meets one
   * that has not would fail.
   */
  async #putAliases(alias: string, index: string, older: readonly string[]): Promise<void> {
    const actions = [
      ...older.map((each) => ({ add: { index: each, alias, is_write_index: false } })),
      { add: { index, alias, is_write_index: true } },
      { add: { index, alias: ALL_INDICES } },
    ]
    try {
      await this.#client.request({ method: 'POST', path: '/_aliases', body: { actions } })
    } catch (error) {
      throw isEngineError(error, 'invalid_alias_name_exception') ? takenName(alias, error) : error
    }
  }
}

function takenName(alias: string, { status, type }: EngineError): EngineError {
  const message = `${alias} is an index, not an alias: karmada-search wrote it; remove it, its documents are written anew`
  return new EngineError(status, type, message)
}

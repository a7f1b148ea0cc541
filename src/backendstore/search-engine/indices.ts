/**
 * The indices that there are, made when their first document comes. Documents are written through the alias of their kind,
 * whose write index is the one of our mapping version. Where an index of another version holds documents of the kind, both
 * stand behind the aliases and documents move one at a time: a write puts its document into the new index and takes it out
 * of the old one, comparisons (`comparisons.ts`) name what has not moved, and an old index that has become empty goes. So
 * searches find every document all the time, and those of members that cannot be reached stay. What others do to our indices
 * by hand is mended when they are looked at anew; theirs are left alone, even behind our aliases.
 */
import { pathOf, type EngineClient } from './engine-client.ts'
import { EngineError, isEngineError } from './engine-errors.ts'
import { sharedAlias, type IndexNames } from './index-names.ts'
import { isOfMapping, mapping, settings, template, type IndexSettings } from './schema.ts'

export interface KindIndices {
  readonly alias: string
  readonly current: string
  /** Of other versions, from which documents move. */
  readonly older: readonly string[]
}

export class Indices {
  readonly names: IndexNames
  readonly #client: EngineClient
  readonly #settings: IndexSettings
  readonly #version: string
  readonly #kinds = new Map<string, Promise<KindIndices>>()
  #template: Promise<void> | undefined

  constructor(client: EngineClient, names: IndexNames, settings: IndexSettings, version: string) {
    this.#client = client
    this.names = names
    this.#settings = settings
    this.#version = version
  }

  /** Those of a kind, made where they are missing; two writers that do so at once are no fault. */
  async ensure(kind: string): Promise<KindIndices> {
    const alias = this.names.alias(kind)
    let found = this.#kinds.get(alias)
    if (found === undefined) {
      this.#kinds.set(alias, (found = this.#make(kind)))
      found.catch(() => this.#kinds.delete(alias))
    }
    return found
  }

  /** The name of the one that documents of a kind are written into, whether it is there or not. */
  current(kind: string): string {
    return this.names.index(kind, this.#version)
  }

  /** Those that there are of other versions. */
  async older(kind: string): Promise<readonly string[]> {
    const known = this.#kinds.get(this.names.alias(kind))
    if (known !== undefined) return (await known).older
    return (await this.#behind(this.names.alias(kind))).filter((index) => index !== this.current(kind))
  }

  /** Looks anew: an index was removed behind our back. */
  forget(): void {
    this.#kinds.clear()
    this.#template = undefined
  }

  /** Removes all of the installation's indices, of whatever version, and their templates. */
  async remove(): Promise<void> {
    const { prefix } = this.names
    this.forget()
    const indices = await this.#client.request<object>({ method: 'GET', path: pathOf(`${prefix}*`, '_alias') })
    for (const index of Object.keys(indices)) {
      await this.#client.request({ method: 'DELETE', path: pathOf(index), query: { ignore_unavailable: true } })
    }
    const path = pathOf('_index_template', `${prefix}*`)
    const found = await orNone(this.#client.request<Templates>({ method: 'GET', path }), { index_templates: [] })
    for (const { name } of found.index_templates) {
      await orNone(this.#client.request({ method: 'DELETE', path: pathOf('_index_template', name) }), undefined)
    }
  }

  /** Removes indices of other versions that have no document left. */
  async dropEmpty(kind: string): Promise<void> {
    for (const index of await this.older(kind)) {
      const { count } = await this.#client.request<{ count: number }>({
        method: 'GET',
        path: `${pathOf(index)}/_count`,
      })
      if (count > 0) continue
      await this.#client.request({ method: 'DELETE', path: pathOf(index), query: { ignore_unavailable: true } })
      this.#kinds.delete(this.names.alias(kind))
    }
  }

  async #make(kind: string): Promise<KindIndices> {
    await (this.#template ??= this.#putTemplate())
    const alias = this.names.alias(kind)
    const current = this.current(kind)
    const standing = await this.#behind(alias)
    const older = standing.filter((index) => index !== current)
    if (!standing.includes(current)) await this.#create(kind, current, older)
    else if (!(await this.#hasAliases(kind, current))) await this.#putAliases(kind, current, older)
    if (!(await this.#hasMapping(current))) await this.#createAnew(kind, current, older)
    return { alias, current, older }
  }

  async #hasAliases(kind: string, index: string): Promise<boolean> {
    const path = pathOf(index, '_alias')
    const found = await orNone(this.#client.request<IndexAliases>({ method: 'GET', path }), {})
    const aliases = found[index]?.aliases ?? {}
    const has = [this.names.all, sharedAlias(kind)].every((name) => Object.hasOwn(aliases, name))
    return has && aliases[this.names.alias(kind)]?.is_write_index === true
  }

  /** One that came into being without us maps our fields by what it saw first: it would fail every search. */
  async #hasMapping(index: string): Promise<boolean> {
    try {
      const answer = await this.#client.request<IndexMappings>({ method: 'GET', path: pathOf(index, '_mapping') })
      const found = answer[index]?.mappings
      return found === undefined || isOfMapping(found, this.#client.flatType)
    } catch (error) {
      if (isEngineError(error) && (error.status === 403 || error.status === 404)) return true // not ours to know, or gone
      throw error
    }
  }

  /** Its documents are written anew when they are compared. */
  async #createAnew(kind: string, index: string, older: readonly string[]): Promise<void> {
    await this.#client.request({ method: 'DELETE', path: pathOf(index), query: { ignore_unavailable: true } })
    await this.#create(kind, index, older)
  }

  async #putTemplate(): Promise<void> {
    const { name, pattern } = this.names.template(this.#version)
    const body = template(pattern, this.#client.flatType, this.#settings)
    try {
      await this.#client.request({ method: 'PUT', path: pathOf('_index_template', name), body })
    } catch (error) {
      this.#template = undefined
      throw error
    }
  }

  async #behind(alias: string): Promise<string[]> {
    const path = pathOf('_alias', alias)
    const found = Object.keys(await orNone(this.#client.request<object>({ method: 'GET', path }), {}))
    return found.filter((index) => index.startsWith(this.names.prefix))
  }

  async #create(kind: string, index: string, older: readonly string[]): Promise<void> {
    try {
      // Not by the template alone, which somebody may have removed since it was put.
      const body = { settings: settings(this.#settings), mappings: mapping(this.#client.flatType) }
      await this.#client.request({ method: 'PUT', path: pathOf(index), body })
    } catch (error) {
      if (!isEngineError(error, 'resource_already_exists_exception')) throw error
    }
    await this.#putAliases(kind, index, older)
  }

  /**
   * At once: an alias never has two indices to write to. And only now, when its shards have started: a search that meets one
   * that has not would fail.
   */
  async #putAliases(kind: string, index: string, older: readonly string[]): Promise<void> {
    const [alias, shared] = [this.names.alias(kind), sharedAlias(kind)]
    const actions = [
      ...older.map((each) => ({ add: { index: each, alias, is_write_index: false } })),
      { add: { index, alias, is_write_index: true } },
      { add: { index, alias: this.names.all } },
      { add: { index, alias: shared } },
    ]
    try {
      await this.#client.request({ method: 'POST', path: '/_aliases', body: { actions } })
    } catch (error) {
      throw isEngineError(error, 'invalid_alias_name_exception') ? takenName(shared, error) : error
    }
  }
}

/** What an engine answers 404 for is not there. */
async function orNone<Answer>(answer: Promise<Answer>, none: Answer): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    if (isEngineError(error) && error.status === 404) return none
    throw error
  }
}

type IndexAliases = Readonly<
  Record<string, { readonly aliases: Readonly<Record<string, { readonly is_write_index?: boolean }>> }>
>

type IndexMappings = Readonly<Record<string, { readonly mappings: object }>>

interface Templates {
  readonly index_templates: readonly { readonly name: string }[]
}

function takenName(alias: string, { status, type }: EngineError): EngineError {
  const message = `${alias} is an index, not an alias: karmada-search wrote it; remove it, its documents are written anew`
  return new EngineError(status, type, message)
}

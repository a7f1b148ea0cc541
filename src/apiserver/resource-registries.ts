/**
 * `resourceregistries[/NAME[/status]]`, as a kube-apiserver serves a resource of its own: create, get, list, watch, update,
 * patch (JSON, merge and strategic merge patches, server-side apply), delete, deletecollection; JSON, YAML, Tables and
 * metadata alone.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { SEARCH_GROUP, SEARCH_GROUP_VERSION, type ResourceRegistry } from '../api/resource-registry.ts'
import { negotiate } from '../http/accept.ts'
import { sendBytes, sendJson, type Exchange } from '../http/answer.ts'
import type { ApiHandler, ApiRequest } from '../http/api-request.ts'
import { parseBool, parseListOptions, type ListOptions } from '../http/list-options.ts'
import { parseIncludeObject, sendList } from '../http/object-list.ts'
import { methodNotAllowed, pathNotFound } from '../http/status-response.ts'
import type { KindColumns } from '../kube/columns/column.ts'
import { badRequest, isStatusError } from '../kube/status-error.ts'
import type { ResourceRegistries } from '../registry/resource-registries.ts'
import type { Clock, Random } from '../util/clock.ts'
import { registryColumns, type RegistryStatsSource } from './registries/columns.ts'
import { itemBytes, render } from './registries/render.ts'
import { matcherOf, pageOf } from './registries/select.ts'
import { watchRegistries } from './registries/watch.ts'
import { readDeletion } from './registries/deletion.ts'
import { isApply, patchBy, readConfiguration, readRegistry, replaceBy, type Warnings } from './registries/write.ts'
import { parseWriteQuery } from './registries/write-options.ts'

export type { RegistryStats, RegistryStatsSource } from './registries/columns.ts'

export interface ResourceRegistriesHandlerOptions {
  readonly registries: ResourceRegistries
  readonly clock: Clock
  readonly random: Random
  /** For Tables. Default: nothing is known, zeros are shown. */
  readonly stats?: RegistryStatsSource
}

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

const RESOURCE = { group: SEARCH_GROUP, resource: 'resourceregistries' }

export function createResourceRegistriesHandler(options: ResourceRegistriesHandlerOptions): ApiHandler {
  const columns = registryColumns(options.stats ?? (() => undefined))
  return (request, response) => new RegistryExchange(options, columns, request, response).answer()
}

/** The name and the subresource in a path: `/all/status`. Throws 404 for what is none. */
function parsePath(path: string): { readonly name: string | undefined; readonly status: boolean } {
  const [name, subresource, ...rest] = path.split('/').filter((part) => part !== '')
  if (rest.length > 0 || (subresource !== undefined && subresource !== 'status')) throw pathNotFound()
  try {
    return { name: name === undefined ? undefined : decodeURIComponent(name), status: subresource !== undefined }
  } catch {
    throw badRequest('the path is not percent-encoded as it should be')
  }
}

class RegistryExchange implements Exchange {
  readonly request: ApiRequest
  readonly response: ServerResponse
  readonly #options: ResourceRegistriesHandlerOptions
  readonly #columns: KindColumns

  constructor(
    options: ResourceRegistriesHandlerOptions,
    columns: KindColumns,
    request: ApiRequest,
    response: ServerResponse,
  ) {
    this.#options = options
    this.#columns = columns
    this.request = request
    this.response = response
  }

  answer(): Promise<void> {
    const { name, status } = parsePath(this.request.path)
    const { method, incoming } = this.request
    // Before anything is written: what cannot be answered is not done.
    if (method !== 'GET' && method !== 'HEAD') negotiate(incoming.headers.accept, 'object')
    return name === undefined ? this.#onCollection() : this.#onObject(name, status)
  }

  #onCollection(): Promise<void> {
    switch (this.request.method) {
      case 'GET':
      case 'HEAD':
        return parseBool(this.request.query.get('watch')) === true ? this.#watch() : this.#list()
      case 'POST':
        return this.#create()
      case 'DELETE':
        return this.#deleteCollection()
      default:
        throw this.#notAllowed()
    }
  }

  #onObject(name: string, status: boolean): Promise<void> {
    const { method } = this.request
    switch (method) {
      case 'GET':
      case 'HEAD':
        return this.#get(name)
      case 'PUT':
      case 'PATCH':
        return this.#update(name, status, method)
      case 'DELETE':
        if (!status) return this.#delete(name)
        throw this.#notAllowed()
      default:
        throw this.#notAllowed()
    }
  }

  async #get(name: string): Promise<void> {
    await this.#send(await this.#options.registries.find(name))
  }

  async #list(): Promise<void> {
    const { registries, clock } = this.#options
    const { query, incoming } = this.request
    const representation = negotiate(incoming.headers.accept, 'list')
    const includeObject = parseIncludeObject(query)
    const list = parseListOptions(query, 'list')
    const page = pageOf(await registries.list(), list)
    const answer = {
      apiVersion: SEARCH_GROUP_VERSION,
      kind: 'ResourceRegistry',
      metadata: {
        resourceVersion: page.version,
        ...(page.continue === '' ? {} : { continue: page.continue }),
        ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
      },
      items: {
        length: page.items.length,
        bytesAt: (i: number) => itemBytes(page.items[i] as ResourceRegistry),
      },
      headers: {},
      columns: () => Promise.resolve(this.#columns),
    }
    await sendList(this, answer, representation, { includeObject, nowMs: clock.nowMs() })
  }

  async #watch(): Promise<void> {
    const { registries, clock, random } = this.#options
    const representation = negotiate(this.request.incoming.headers.accept, 'stream')
    const includeObject = parseIncludeObject(this.request.query)
    const list: ListOptions = parseListOptions(this.request.query, 'watch')
    const render = { representation, columns: this.#columns, includeObject }
    await watchRegistries(this, { registries, list, render, clock, random })
  }

  async #create(): Promise<void> {
    const query = parseWriteQuery(this.request, 'CreateOptions')
    const warnings: Warnings = []
    const input = await readRegistry(this.request, query, warnings)
    if (input.metadata.resourceVersion !== '') {
      throw badRequest('resourceVersion should not be set on objects to be created')
    }
    await this.#send(await this.#options.registries.create(input, query), warnings, 201)
  }

  async #update(name: string, status: boolean, method: 'PUT' | 'PATCH'): Promise<void> {
    if (method === 'PATCH' && isApply(this.request)) return this.#apply(name, status)
    const { registries } = this.#options
    const query = parseWriteQuery(this.request, method === 'PUT' ? 'UpdateOptions' : 'PatchOptions')
    const warnings: Warnings = []
    const change =
      method === 'PUT'
        ? replaceBy(await readRegistry(this.request, query, warnings), name)
        : await patchBy(this.request, query, warnings)
    const updated = await (status
      ? registries.updateStatus(name, change, query)
      : registries.update(name, change, query))
    await this.#send(updated, warnings)
  }

  async #apply(name: string, status: boolean): Promise<void> {
    const { registries } = this.#options
    const query = parseWriteQuery(this.request, 'PatchOptions', true)
    const warnings: Warnings = []
    const config = await readConfiguration(this.request, query, warnings, name)
    if (status) return this.#send(await registries.applyStatus(name, config, query), warnings)
    const { registry, created } = await registries.apply(name, config, query)
    await this.#send(registry, warnings, created ? 201 : 200)
  }

  async #delete(name: string): Promise<void> {
    const { options, preconditions } = await readDeletion(this.request)
    const { registry, gone } = await this.#options.registries.delete(name, preconditions, options)
    if (!gone) return this.#send(registry)
    const { uid } = registry.metadata
    const details = { name, group: SEARCH_GROUP, kind: RESOURCE.resource, uid }
    await sendJson(this, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details })
  }

  /** Answers with what was there. One that another caller deletes first is as good as deleted. */
  async #deleteCollection(): Promise<void> {
    const { registries } = this.#options
    const { options, preconditions } = await readDeletion(this.request)
    const matches = matcherOf(parseListOptions(this.request.query, 'list'))
    const { items, version } = await registries.list()
    const selected = items.filter(matches)
    for (const { metadata } of selected) {
      try {
        await registries.delete(metadata.name, preconditions, options)
      } catch (error) {
        if (!isStatusError(error, 'notFound')) throw error
      }
    }
    const metadata = { resourceVersion: version }
    const kind = 'ResourceRegistryList'
    await sendJson(this, { kind, apiVersion: SEARCH_GROUP_VERSION, metadata, items: selected })
  }

  async #send(registry: ResourceRegistry, warnings: Warnings = [], status = 200): Promise<void> {
    const { query, incoming } = this.request
    const representation = negotiate(incoming.headers.accept, 'object')
    const includeObject = parseIncludeObject(query)
    const nowMs = this.#options.clock.nowMs()
    const bytes = render(registry, { representation, columns: this.#columns, includeObject, nowMs })
    const headers: OutgoingHttpHeaders = { 'content-type': `application/${representation.format}` }
    if (warnings.length > 0) headers.warning = warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', ')
    await sendBytes(this, { status, headers }, bytes)
  }

  #notAllowed(): Error {
    return methodNotAllowed(RESOURCE, VERBS[this.request.method] ?? this.request.method.toLowerCase())
  }
}

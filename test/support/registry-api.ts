/** The API of ResourceRegistries alone, over SQLite in memory and virtual time. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createResourceRegistriesHandler } from '../../src/apiserver/resource-registries.ts'
import { sendStatus, statusOf } from '../../src/http/status-response.ts'
import { ResourceRegistries } from '../../src/registry/resource-registries.ts'
import { SqliteRegistryStore } from '../../src/registry/sqlite/registry-store.ts'
import { FakeClock, seededRandom } from './fake-clock.ts'

/* eslint-disable-next-line @typescript-eslint/no-explicit-any -- parsed JSON, looked into freely */
export type Json = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

export interface Watch {
  readonly events: { readonly type: string; readonly object: Json }[]
  readonly ended: Promise<void>
  stop(): void
}

const user = { name: 'admin', uid: '', groups: [], extra: {} }
export const LOCATION = '/apis/search.karmada.io/v1alpha1/resourceregistries'

export class Api {
  readonly clock = new FakeClock()
  readonly store = new SqliteRegistryStore({ path: ':memory:', nowMs: () => this.clock.nowMs() })
  readonly #stopping = new AbortController()
  readonly #server = createServer((incoming, response) => {
    const { pathname, searchParams, search } = new URL(incoming.url ?? '', 'http://x')
    const gone = new AbortController()
    response.once('close', () => {
      gone.abort()
    })
    const request = {
      method: incoming.method ?? '',
      path: pathname.slice(LOCATION.length),
      rawQuery: search.slice(1),
      query: searchParams,
      user,
      signal: AbortSignal.any([gone.signal, this.#stopping.signal]),
      incoming,
    }
    Promise.resolve()
      .then(() => this.#handler(request, response))
      .catch((error: unknown) => {
        sendStatus(response, statusOf(error))
      })
  })
  readonly #handler = createResourceRegistriesHandler({
    registries: new ResourceRegistries({
      store: this.store,
      clock: this.clock,
      random: seededRandom(1),
      newUid: () => '3174c7c9-1fcf-4466-b582-421ab1950d0e',
    }),
    clock: this.clock,
    random: () => 0,
    stats: () => ({ clusters: 3, resources: 2, objects: 1_234 }),
  })
  #base = ''

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#base = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${LOCATION}`
    return this
  }

  async send(method: string, path = '', body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const content = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(`${this.#base}${path}`, {
      method,
      headers: {
        connection: 'close',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(content === undefined ? {} : { body: content }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type') === 'application/json' && text !== ''
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  async watch(query: string, headers: Record<string, string> = {}): Promise<Watch> {
    const abort = new AbortController()
    const response = await fetch(`${this.#base}?watch=true&${query}`, {
      headers: { connection: 'close', ...headers },
      signal: abort.signal,
    })
    assert.equal(response.status, 200)
    const events: Watch['events'] = []
    const read = async (): Promise<void> => {
      let rest = ''
      for await (const chunk of response.body ?? assert.fail()) {
        const lines = (rest + Buffer.from(chunk as Uint8Array).toString()).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) events.push(JSON.parse(line) as Watch['events'][number])
      }
    }
    const ended = read().catch(() => undefined)
    return {
      events,
      ended,
      stop: () => {
        abort.abort()
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
    await this.store.close()
    assert.equal(this.clock.pending, 0, 'timers left behind')
  }
}

export const open = (): Promise<Api> => new Api().listen()

export const body = (name: string, more: object = {}): object => ({
  apiVersion: 'search.karmada.io/v1alpha1',
  kind: 'ResourceRegistry',
  metadata: { name, ...more },
  spec: { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] },
})

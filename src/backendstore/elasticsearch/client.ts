/** The official client of Elasticsearch behind our port; it refuses servers that are not Elasticsearch. */
import { Client, errors } from '@elastic/elasticsearch'
import type { EngineStoreOptions } from '../engine-store.ts'
import type { EngineClient } from '../search-engine/engine-client.ts'
import { EngineError, engineError, OTHER_PRODUCT } from '../search-engine/engine-errors.ts'
import { trusted } from '../search-engine/trusted-authorities.ts'

const REQUEST_TIMEOUT_MS = 30_000

export function elasticsearchClient({ addresses, credentials }: EngineStoreOptions): EngineClient {
  const { username, password, apiKey, ca } = credentials
  const auth = apiKey === undefined ? basic(username, password) : { apiKey }
  const client = new Client({
    nodes: [...addresses],
    requestTimeout: REQUEST_TIMEOUT_MS,
    maxRetries: 0, // whoever asks knows what may be asked again
    ...(auth === undefined ? {} : { auth }),
    ...(ca === undefined ? {} : { tls: { ca: trusted(ca) } }),
  })
  const request: EngineClient['request'] = async ({ method, path, query, body, lines, timeoutMs }) => {
    try {
      return await client.transport.request(
        {
          method,
          path,
          ...(query === undefined ? {} : { querystring: { ...query } }),
          ...(body === undefined ? {} : { body }),
          ...(lines === undefined ? {} : { bulkBody: lines as unknown as string }),
        },
        timeoutMs === undefined ? {} : { requestTimeout: timeoutMs },
      )
    } catch (error) {
      throw translated(error)
    }
  }
  return {
    name: 'elasticsearch',
    flatType: { type: 'flattened', ignore_above: 8_191 },
    request,
    async openPointInTime(index, keepAlive) {
      const query = { keep_alive: keepAlive }
      return (await request<{ id: string }>({ method: 'POST', path: `/${index}/_pit`, query })).id
    },
    async closePointInTime(id) {
      await request({ method: 'DELETE', path: '/_pit', body: { id } })
    },
    close: () => client.close(),
  }
}

function basic(username: string | undefined, password: string | undefined) {
  return username === undefined ? undefined : { username, password: password ?? '' }
}

function translated(error: unknown): unknown {
  if (error instanceof errors.ResponseError) return engineError(error.statusCode ?? 0, error.body)
  if (error instanceof errors.ProductNotSupportedError) return new EngineError(0, OTHER_PRODUCT, error.message)
  if (error instanceof errors.ElasticsearchClientError) return new EngineError(0, error.name, error.message)
  return error
}

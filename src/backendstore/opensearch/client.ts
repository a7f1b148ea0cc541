/** The official client of OpenSearch behind our port. */
import { Client, errors } from '@opensearch-project/opensearch'
import type { EngineStoreOptions } from '../engine-store.ts'
import type { EngineClient } from '../search-engine/engine-client.ts'
import { EngineError, engineError } from '../search-engine/engine-errors.ts'
import { trusted } from '../search-engine/trusted-authorities.ts'

const REQUEST_TIMEOUT_MS = 30_000

export function openSearchClient({ addresses, credentials }: EngineStoreOptions): EngineClient {
  const { username, password, apiKey, ca } = credentials
  const client = new Client({
    nodes: [...addresses],
    requestTimeout: REQUEST_TIMEOUT_MS,
    maxRetries: 0, // whoever asks knows what may be asked again
    ...(username === undefined ? {} : { auth: { username, password: password ?? '' } }),
    ...(apiKey === undefined ? {} : { headers: { authorization: `ApiKey ${apiKey}` } }),
    ...(ca === undefined ? {} : { ssl: { ca: trusted(ca) } }),
  })
  const request: EngineClient['request'] = async ({ method, path, query, body, lines, timeoutMs }) => {
    try {
      const answer = await client.transport.request(
        {
          method,
          path,
          ...(query === undefined ? {} : { querystring: { ...query } }),
          ...(body === undefined ? {} : { body }),
          ...(lines === undefined ? {} : { bulkBody: lines }),
        },
        timeoutMs === undefined ? {} : { requestTimeout: timeoutMs },
      )
      return answer.body as never
    } catch (error) {
      throw translated(error)
    }
  }
  return {
    name: 'opensearch',
    flatType: { type: 'flat_object' },
    request,
    async openPointInTime(index, keepAlive) {
      const path = `/${index}/_search/point_in_time`
      const { pit_id } = await request<{ pit_id: string }>({ method: 'POST', path, query: { keep_alive: keepAlive } })
      return pit_id
    },
    async closePointInTime(id) {
      await request({ method: 'DELETE', path: '/_search/point_in_time', body: { pit_id: [id] } })
    },
    close: () => client.close(),
  }
}

function translated(error: unknown): unknown {
  if (error instanceof errors.ResponseError) return engineError(error.statusCode ?? 0, error.body)
  if (error instanceof errors.OpenSearchClientError) return new EngineError(0, error.name, error.message)
  return error
}

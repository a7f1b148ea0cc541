/**
 * What the stores need of a client of OpenSearch or Elasticsearch: one request at a time, and what the two say differently.
 * `opensearch/client.ts` and `elasticsearch/client.ts` make it of the official ones.
 */

export interface EngineRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Sent as JSON. */
  readonly body?: object
  /** Sent as it is: lines of JSON. */
  readonly lines?: Buffer
  /** Default: that of the client, 30 s. */
  readonly timeoutMs?: number
}

export interface EngineClient {
  readonly name: 'opensearch' | 'elasticsearch'
  /** The type of a field that holds an object of any keys as one field. */
  readonly flatType: object
  /** Resolves to the parsed body. Rejects with `EngineError` (`engine-errors.ts`). */
  request<Body>(request: EngineRequest): Promise<Body>
  /** A state of the indices that searches can stay at, told by an id. */
  openPointInTime(index: string, keepAlive: string): Promise<string>
  closePointInTime(id: string): Promise<void>
  close(): Promise<void>
}

/** In no need of escaping but for what index names and ids may hold. */
export function pathOf(...parts: readonly string[]): string {
  return `/${parts.map((part) => encodeURIComponent(part)).join('/')}`
}

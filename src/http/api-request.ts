/** A request as rooms below the API server see it: no express, no authentication details, just who asks for what. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Upgrade } from './upgrade.ts'

export interface UserInfo {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export interface ApiRequest {
  /** Upper case. */
  readonly method: string
  /** The path below the endpoint, with its leading slash, still percent-encoded: `/api/v1/namespaces/a/pods`. */
  readonly path: string
  /** Everything behind the `?`, as it came; empty without one. */
  readonly rawQuery: string
  readonly query: URLSearchParams
  readonly user: UserInfo
  /** Aborts when the client is gone or the time is up; that of a stream when the server stops too. */
  readonly signal: AbortSignal
  /** How long a watch lasts at least whose client names no time, s; 0: for ever; default 1,800. */
  readonly minWatchSeconds?: number
  /** Headers and body. */
  readonly incoming: IncomingMessage
  /** The client asks for another protocol. Handlers that have none answer as they always do. */
  readonly upgrade?: Upgrade
  /** Says something of the request in the audit log; undefined where there is none. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
}

/**
 * Answers one request, whole or streamed. Throws `StatusError` for what the client did wrong (the caller renders it);
 * anything else it throws is our fault: 500, counted. Resolves when the answer is complete.
 */
export type ApiHandler = (request: ApiRequest, response: ServerResponse) => Promise<void>

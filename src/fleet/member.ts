/**
 * A member cluster as the rest of the program sees it: facts that selectors match on, and a client that reaches its API.
 */
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { ClusterName } from '../kube/names.ts'

/** What is known of a cluster without asking it. Replaced as a whole when anything changes. */
export interface ClusterFacts {
  readonly name: ClusterName
  /** Two clusters of one name and different UIDs are different clusters. */
  readonly uid: string
  readonly labels: Readonly<Record<string, string>>
  readonly provider: string
  readonly region: string
  readonly zones: readonly string[]
  /** As the control plane says it; a kubeconfig member is always taken to be ready. Never stops the reflectors. */
  readonly ready: boolean
  /** Why there is no way to reach it (no endpoint, no Secret, …); undefined where there is one. */
  readonly unreachable?: string
}

export interface MemberRequest {
  readonly method: string
  /** Native path and query, e.g. `/api/v1/pods?limit=500`; sent byte for byte. Empty: the server's own URL. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** A stream is sent as it comes, and only once. */
  readonly body?: Uint8Array | string | Readable
  /** Neither asks for gzip nor undoes it: the body and all headers are what the member sent. Default false. */
  readonly raw?: boolean
  readonly signal: AbortSignal
  /**
   * Longest wait for the answer's head; default 30 000; 0: no limit. A body may take as long as bytes keep coming
   * (`idleMs`).
   */
  readonly headersTimeoutMs?: number
  /** Longest silence inside a body; default 30 000; 0 switches it off. Breaks with code `timeout`. */
  readonly idleMs?: number
}

export interface MemberResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Decoded (gunzipped) chunks. Reading to the end or breaking out of the loop releases the connection. */
  readonly body: AsyncIterable<Uint8Array>
  /** The whole body, at most `limit` bytes (default 64 MiB); more is a `MemberError` of code `tooLarge`. */
  bytes(limit?: number): Promise<Buffer>
}

/** A request to speak another protocol on its connection: exec, attach, port-forward. */
export interface MemberUpgrade extends Pick<MemberRequest, 'method' | 'path' | 'signal' | 'headersTimeoutMs'> {
  /** Its `Upgrade` header: `SPDY/3.1`, `websocket`. */
  readonly protocol: string
  /** All but `Connection` and `Upgrade`, which are made here; nothing is added but credentials. */
  readonly headers: Readonly<Record<string, string | string[]>>
}

/** The member agreed: 101. */
export interface SwitchedProtocols {
  readonly status: 101
  /** The answer's header lines: name, value, name, value, … */
  readonly headerLines: readonly string[]
  /** The caller's from now on, who has to end it; `close` of the client does not. Errors are listened to. */
  readonly socket: Socket
}

/**
 * Speaks HTTP to one member with the service's own credentials, QPS and burst limited. Resolves for every HTTP status;
 * rejects with `MemberError` where no answer came. Half-open connections end by `idleMs`.
 */
export interface MemberClient {
  request(request: MemberRequest): Promise<MemberResponse>
  /** As `request`; a member that does not agree gives its plain answer, `raw`. Absent: this client cannot. */
  upgrade?(request: MemberUpgrade): Promise<SwitchedProtocols | MemberResponse>
  /**
   * Calls back when the member answers again after it failed, and when its credentials changed: who waits to retry may do
   * so now. Optional; returns how to stop listening.
   */
  onRecovery?(listener: () => void): () => void
  close(): Promise<void>
}

/**
 * How requests of callers reach a member. `impersonated`: the client's credentials may impersonate, and every request has to
 * say whom. `own`: they are the one caller's own (a kubeconfig on a laptop).
 */
export interface CallerAccess {
  readonly identity: 'impersonated' | 'own'
  readonly client: MemberClient
}

export interface Member {
  readonly facts: ClusterFacts
  /** With the service's own credentials, for what it reads for itself; never for a caller's request. */
  readonly client: MemberClient
  /** Undefined: no request of a caller may be forwarded there. */
  readonly callers?: CallerAccess
  /** Aborts when the cluster leaves or is replaced, with the reason. */
  readonly signal: AbortSignal
}

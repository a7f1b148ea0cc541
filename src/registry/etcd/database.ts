/** Talks to the members of one etcd, whichever of them answers, and says what its errors mean. */
import { readFile } from 'node:fs/promises'
import { StatusError } from '../../kube/status-error.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { traceClient } from '../../telemetry/tracing.ts'
import type { Clock } from '../../util/clock.ts'
import type { GrpcCall } from './grpc-call.ts'
import { GrpcConnection, type TlsMaterial } from './grpc-connection.ts'
import { GRPC_STATUS, GrpcError } from './grpc-error.ts'
import type { Rpc } from './messages.ts'

export interface EtcdFiles {
  /** CA bundle of the servers; absent: the CAs that Node trusts. */
  readonly caFile?: string
  /** Our own certificate and its key. */
  readonly certFile?: string
  readonly keyFile?: string
}

export interface EtcdDatabaseOptions {
  /** URLs of the members, at least one. */
  readonly servers: readonly string[]
  /** Read again for each connection, so that a certificate may be replaced while this runs. */
  readonly files?: EtcdFiles
  readonly clock: Clock
  readonly logger: Logger
}

export interface Answered<Answer> {
  readonly answer: Answer
  /** An earlier attempt of the same call got no answer: it may have been carried out. */
  readonly repeated: boolean
}

interface Member {
  readonly url: URL
  connection: GrpcConnection | undefined
  connecting: Promise<GrpcConnection> | undefined
}

// A member that is well answers in milliseconds, one with a slow disk in a second; a caller gets its 503 soon.
const ATTEMPT_MS = 3_000
const TOTAL_MS = 10_000

export class EtcdDatabase {
  readonly #options: EtcdDatabaseOptions
  readonly #members: readonly Member[]
  /** The member that answered last. */
  #current = 0
  #failing = false
  #closed = false

  constructor(options: EtcdDatabaseOptions) {
    this.#options = options
    this.#members = options.servers.map((server) => ({
      url: new URL(server),
      connection: undefined,
      connecting: undefined,
    }))
  }

  /**
   * Asks the members one after another, beginning with the one that answered last. Throws the `GrpcError` that a member
   * answered, or `StatusError` serviceUnavailable where none answered within `limitMs`.
   */
  call<Answer>(rpc: Rpc<Answer>, limitMs = TOTAL_MS): Promise<Answered<Answer>> {
    const [, service = '', method = ''] = rpc.path.split('/')
    const attributes = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method }
    return traceClient(
      () => ({ name: `${service}/${method}`, attributes }),
      () => this.#call(rpc, limitMs),
    )
  }

  async #call<Answer>(rpc: Rpc<Answer>, limitMs: number): Promise<Answered<Answer>> {
    const { clock } = this.#options
    const deadline = clock.monotonicMs() + limitMs
    // A silent member leaves time for the others.
    const attemptMs = Math.min(ATTEMPT_MS, limitMs / this.#members.length)
    let repeated = false
    let failure: unknown
    for (const member of this.#attempts()) {
      const left = Math.min(attemptMs, deadline - clock.monotonicMs())
      if (left <= 0) break
      try {
        const answer = await this.#ask(member, rpc, left)
        this.#answered(member)
        return { answer, repeated }
      } catch (error) {
        if (!isElsewhere(error)) throw error
        repeated ||= error.code !== 'unreachable'
        failure = error
      }
    }
    throw this.#unavailable(failure)
  }

  /** A stream to the first member that can be connected. Throws `StatusError` serviceUnavailable. */
  async stream(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly call: GrpcCall; readonly connection: GrpcConnection }> {
    let failure: unknown
    for (const member of this.#inTurn()) {
      try {
        const connection = await this.#connect(member, ATTEMPT_MS)
        // A member that lost the others ends the stream instead of keeping it silent.
        const call = connection.stream(path, { hasleader: 'true' }, signal)
        return { call, connection }
      } catch (error) {
        failure = error
      }
    }
    throw this.#unavailable(failure)
  }

  /** The next stream goes to another member, where there is one. */
  avoidCurrent(): void {
    this.#current = (this.#current + 1) % this.#members.length
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const member of this.#members) {
      await member.connecting?.catch(() => undefined)
      member.connection?.close()
    }
  }

  /** Each member once; twice where its connection was an older one that broke, as after its restart. */
  *#attempts(): Generator<Member> {
    for (const member of this.#inTurn()) {
      const older = member.connection?.usable === true
      yield member
      if (older && member.connection?.usable === false) yield member
    }
  }

  *#inTurn(): Generator<Member> {
    const first = this.#current
    for (let i = 0; i < this.#members.length; i++) {
      const member = this.#members[(first + i) % this.#members.length]
      if (member !== undefined) yield member
    }
  }

  async #ask<Answer>(member: Member, rpc: Rpc<Answer>, timeoutMs: number): Promise<Answer> {
    const startedAt = this.#options.clock.monotonicMs()
    const connection = await this.#connect(member, timeoutMs)
    const left = timeoutMs - (this.#options.clock.monotonicMs() - startedAt)
    const message = await connection.unary(rpc.path, rpc.request, Math.max(1, left))
    try {
      return rpc.decode(message)
    } catch (error) {
      throw new GrpcError('protocol', (error as Error).message, { cause: error })
    }
  }

  /** The member's connection, which all its calls share; a new one where that is broken. */
  #connect(member: Member, timeoutMs: number): Promise<GrpcConnection> {
    if (this.#closed) return Promise.reject(new GrpcError('unreachable', 'the store is closed'))
    if (member.connection?.usable === true) return Promise.resolve(member.connection)
    member.connecting ??= this.#open(member, timeoutMs).finally(() => (member.connecting = undefined))
    return member.connecting
  }

  async #open(member: Member, timeoutMs: number): Promise<GrpcConnection> {
    const { files = {}, clock } = this.#options
    const { url } = member
    const tls = url.protocol === 'https:' ? await readMaterial(files) : {}
    member.connection = await GrpcConnection.connect({ url, tls, timeoutMs, clock })
    return member.connection
  }

  #answered(member: Member): void {
    this.#current = this.#members.indexOf(member)
    if (!this.#failing) return
    this.#failing = false
    this.#options.logger.info({ server: member.url.host }, 'etcd answers again')
  }

  #unavailable(failure: unknown): StatusError {
    const servers = this.#members.map(({ url }) => url.host).join(', ')
    const why = failure instanceof Error ? failure.message : String(failure)
    if (!this.#failing && !this.#closed) this.#options.logger.warn({ servers, err: failure }, 'etcd does not answer')
    this.#failing = true
    // Without a Retry-After: clients would repeat a write that may have been carried out, and hang instead of telling.
    return new StatusError('serviceUnavailable', `registries in etcd (${servers}) are not available: ${why}`, {
      cause: failure,
    })
  }
}

async function readMaterial({ caFile, certFile, keyFile }: EtcdFiles): Promise<TlsMaterial> {
  const read = (file: string | undefined): Promise<string> | undefined =>
    file === undefined ? file : readFile(file, 'utf8')
  try {
    const [ca, cert, key] = await Promise.all([read(caFile), read(certFile), read(keyFile)])
    return {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    }
  } catch (error) {
    throw new GrpcError('unreachable', (error as Error).message, { cause: error })
  }
}

/** Whether another member may do better: this one is not there, or has no part in the majority. */
function isElsewhere(error: unknown): error is GrpcError {
  if (!(error instanceof GrpcError)) return false
  const { unavailable, deadlineExceeded } = GRPC_STATUS
  return error.code !== 'status' || error.status === unavailable || error.status === deadlineExceeded
}

/** etcd's own refusals; everything else as it is. */
export function asStatusError(error: unknown): unknown {
  if (!(error instanceof GrpcError)) return error
  const { message, status } = error
  if (status === GRPC_STATUS.invalidArgument) {
    return new StatusError('requestEntityTooLarge', `etcd does not take the object: ${message}`, { cause: error })
  }
  return new StatusError('serviceUnavailable', `registries in etcd are not available: ${message}`, { cause: error })
}

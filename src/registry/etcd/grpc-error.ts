/** How a call of gRPC can fail. */

/** Status codes of gRPC that etcd answers with and we tell apart. Source: grpc.io/docs/guides/status-codes. */
export const GRPC_STATUS = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  resourceExhausted: 8,
  outOfRange: 11,
  unavailable: 14,
} as const

export type GrpcErrorCode =
  /** No connection came about; nothing was sent. */
  | 'unreachable'
  /** The connection broke under the call. */
  | 'broken'
  /** No answer in time. */
  | 'timeout'
  /** The server answered with a status of its own. */
  | 'status'
  /** The server answered something that is not gRPC. */
  | 'protocol'

export class GrpcError extends Error {
  readonly code: GrpcErrorCode
  /** The server's status where the code is `status`, else -1. */
  readonly status: number

  constructor(
    code: GrpcErrorCode,
    message: string,
    options: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GrpcError'
    this.code = code
    this.status = options.status ?? -1
  }
}

export function isGrpcStatus(error: unknown, status: number): error is GrpcError {
  return error instanceof GrpcError && error.code === 'status' && error.status === status
}

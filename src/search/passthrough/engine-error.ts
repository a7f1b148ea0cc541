/** A refusal or a failure as engines tell it, so that their clients and dashboards show it. */
import { STATUS_CODES, type StatusCode, type StatusError } from '../../kube/status-error.ts'

const TYPES: Partial<Record<StatusCode, string>> = {
  badRequest: 'illegal_argument_exception',
  notFound: 'resource_not_found_exception',
  tooManyRequests: 'es_rejected_execution_exception',
  notImplemented: 'unsupported_operation_exception',
}

export interface EngineError {
  readonly error: object
  readonly status: number
}

export function engineErrorOf({ code, message }: StatusError): EngineError {
  const cause = { type: TYPES[code] ?? 'status_exception', reason: message }
  return { error: { root_cause: [cause], ...cause }, status: STATUS_CODES[code].http }
}

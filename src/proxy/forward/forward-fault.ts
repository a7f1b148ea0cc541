/** What a caller is told when the cluster gave no answer to his request. */
import { isMemberError, type MemberError } from '../../fleet/member-error.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { Destination } from './destination.ts'
import { mayChange } from './streaming.ts'

/**
 * 503 where the request cannot have been carried out (only then may it be sent again as it is), 502 and 504 where it may have
 * been. What is none of the cluster's faults is given back as it is.
 */
export function forwardFault(error: unknown, request: ProxyRequest, { name, signal }: Destination): unknown {
  if (request.request.signal.aborted) return error
  if (signal?.aborted === true) {
    return new StatusError('serviceUnavailable', `${name} left while the request was under way`, { cause: error })
  }
  return isMemberError(error) ? statusOf(error, request, name) : error
}

function statusOf(error: MemberError, request: ProxyRequest, name: string): StatusError {
  const doubt = mayChange(request) ? '; the request may have been carried out' : ''
  switch (error.code) {
    case 'refused':
    case 'dns':
    case 'tls':
    case 'proxy':
      return new StatusError('serviceUnavailable', `${name} cannot be reached: ${error.message}`, {
        details: { retryAfterSeconds: 1 },
        cause: error,
      })
    case 'auth':
    case 'unreachable':
      return new StatusError('serviceUnavailable', `${name} cannot be asked: ${error.message}`, { cause: error })
    case 'timeout':
      return new StatusError('timeout', `${name} does not answer: ${error.message}${doubt}`, { cause: error })
    case 'closed':
    case 'protocol':
    case 'tooLarge':
    case 'rejected':
      return new StatusError('badGateway', `${name} gave no usable answer: ${error.message}${doubt}`, { cause: error })
    default:
      return error.code satisfies never
  }
}

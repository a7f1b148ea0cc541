import { MalformedEventError, MalformedListError, MalformedObjectError } from '../../kube/malformed-error.ts'

/** Errors that say that what a member sent is not what was asked for. */
export function isMalformed(error: unknown): error is Error {
  return (
    error instanceof MalformedObjectError ||
    error instanceof MalformedListError ||
    error instanceof MalformedEventError ||
    error instanceof SyntaxError
  )
}

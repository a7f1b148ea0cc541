/** What a member sent is not what it should be. Never retried as it is: the reflector reports it and asks again. */
import type { Status } from './status-error.ts'

/**
 * `syntax` no JSON; `truncated` it ends too early; `tooLarge` beyond the caller's bound; `shape` JSON, yet of another form
 * (no name, `items` that is no array, …).
 */
export type MalformedCode = 'syntax' | 'truncated' | 'tooLarge' | 'shape'

export class MalformedError extends Error {
  readonly code: MalformedCode
  /** Where, in bytes from the start of the object, list or stream; undefined where that says nothing. */
  readonly offset: number | undefined

  constructor(code: MalformedCode, message: string, offset?: number) {
    super(offset === undefined ? message : `${message} (at byte ${offset})`)
    this.name = new.target.name
    this.code = code
    this.offset = offset
  }
}

/** One object. */
export class MalformedObjectError extends MalformedError {}

/** A LIST body. */
export class MalformedListError extends MalformedError {
  /** What the member said instead of a list. */
  readonly status: Status | undefined

  constructor(code: MalformedCode, message: string, offset?: number, status?: Status) {
    super(code, message, offset)
    this.status = status
  }
}

/** A WATCH stream. */
export class MalformedEventError extends MalformedError {}

/** Who answers what is asked below a path. */
import type { ApiHandler } from '../http/api-request.ts'

export interface Route {
  /** Matches this path and everything below it. The longest matching prefix wins. */
  readonly prefix: string
  readonly handler: ApiHandler
  /** Errors repeat their message in a top-level `error` (contract of search/…). */
  readonly errorField?: boolean
}

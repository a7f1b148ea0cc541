/** May this caller do this? */
import type { UserInfo } from '../../http/api-request.ts'
import type { RequestAttributes } from '../request-info.ts'

export interface Decision {
  readonly allowed: boolean
  /** Shown to the caller when denied; free of others' secrets. */
  readonly reason: string
}

/** Rejects where no decision could be had: the caller is then refused (fail closed). */
export type Authorizer = (user: UserInfo, attributes: RequestAttributes, signal: AbortSignal) => Promise<Decision>

export const allowAll: Authorizer = () => Promise.resolve({ allowed: true, reason: '' })

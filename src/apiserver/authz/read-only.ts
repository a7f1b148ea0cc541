/** Rights of the one user of `demo` and `up`: to read everything, to change nothing of ours. */
import type { Authorizer } from './authorizer.ts'

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options'])

/** Resources that read by POST too, or whose own handler says for each request what it does not do, and why. */
const DECIDE_THEMSELVES: ReadonlySet<string> = new Set(['search', 'proxying'])

export const readOnly: Authorizer = (_user, attributes) => {
  const reads = READS.has(attributes.verb)
  const allowed = reads || (attributes.isResource && DECIDE_THEMSELVES.has(attributes.resource))
  return Promise.resolve({ allowed, reason: allowed ? '' : 'this server is read-only' })
}

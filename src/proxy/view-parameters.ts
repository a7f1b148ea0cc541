/**
 * Parameters of our own that a plain kubectl can pass, since it takes a path for its server: `;sortBy=-restarts`,
 * `;clusterColumn=true`, `;consistency=strong`, in any number and order. They count as if they stood in the query, where
 * programs may put them, and are forwarded to nobody.
 */
import { badRequest } from '../kube/status-error.ts'

const NAMES: ReadonlySet<string> = new Set(['sortBy', 'clusterColumn', 'consistency'])

/** The query with what it does not say itself. Throws `badRequest` for a parameter that there is none of. */
export function withViewParameters(query: URLSearchParams, parameters: readonly string[]): URLSearchParams {
  if (parameters.length === 0) return query
  const merged = new URLSearchParams(query)
  for (const parameter of parameters) {
    const at = parameter.indexOf('=')
    const name = at === -1 ? parameter : parameter.slice(0, at)
    if (!NAMES.has(name)) throw badRequest(`the path has no parameter ${JSON.stringify(name.slice(0, 40))}`)
    if (!query.has(name)) merged.set(name, at === -1 ? 'true' : parameter.slice(at + 1))
  }
  return merged
}

/**
 * `/healthz`, `/livez`, `/readyz` with named checks, `?verbose`, `?exclude=` and a path for each check, in the text form of
 * a kube-apiserver (apiserver pkg/server/healthz).
 */

/** Readiness has three states and a reason, so that "not yet" and "no longer" are told apart. */
export type Readiness =
  | { readonly state: 'pending'; readonly reason: string }
  | { readonly state: 'ready' }
  | { readonly state: 'stopped'; readonly reason: string }

export interface HealthCheck {
  readonly name: string
  /** Which endpoints ask it. `livez` must not depend on members or stores: a restart would not mend them. */
  readonly endpoints: readonly HealthEndpoint[]
  check(): Readiness
}

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

export interface HealthAnswer {
  readonly status: number
  readonly body: string
}

export const PING: HealthCheck = {
  name: 'ping',
  endpoints: ['healthz', 'livez', 'readyz'],
  check: () => ({ state: 'ready' }),
}

/** The answer of `/<endpoint>`, `/<endpoint>/<check>`; undefined for a check that does not exist. */
export function answerHealth(
  checks: readonly HealthCheck[],
  endpoint: HealthEndpoint,
  one: string | undefined,
  query: URLSearchParams,
): HealthAnswer | undefined {
  const asked = checks.filter((check) => check.endpoints.includes(endpoint))
  if (one !== undefined) {
    const check = asked.find((candidate) => candidate.name === one)
    return check === undefined ? undefined : answerOne(check)
  }
  const excluded = new Set(query.getAll('exclude'))
  const results = asked.map((check) => ({
    name: check.name,
    outcome: excluded.has(check.name) ? ('excluded' as const) : check.check(),
  }))
  const failed = results.some(({ outcome }) => outcome !== 'excluded' && outcome.state !== 'ready')
  if (!failed && !query.has('verbose')) return { status: 200, body: 'ok' }
  const lines = results.map(({ name, outcome }) => line(name, outcome))
  return {
    status: failed ? 503 : 200,
    body: `${lines.join('\n')}\n${endpoint} check ${failed ? 'failed' : 'passed'}\n`,
  }
}

function answerOne(check: HealthCheck): HealthAnswer {
  const outcome = check.check()
  return outcome.state === 'ready'
    ? { status: 200, body: 'ok' }
    : { status: 503, body: `${outcome.state}: ${outcome.reason}\n` }
}

function line(name: string, outcome: Readiness | 'excluded'): string {
  if (outcome === 'excluded') return `[+]${name} excluded: ok`
  return outcome.state === 'ready' ? `[+]${name} ok` : `[-]${name} ${outcome.state}: ${outcome.reason}`
}

/**
 * `/healthz`, `/livez`, `/readyz` with named checks, `?verbose`, `?exclude=` and a path for each check, in the text form of
 * a kube-apiserver (apiserver pkg/server/healthz).
 */

/** Readiness has states and a reason, so that "not yet", "not now" and "no longer" are told apart. */
export type Readiness =
  | { readonly state: 'pending'; readonly reason: string }
  | { readonly state: 'ready' }
  | { readonly state: 'failed'; readonly reason: string }
  | { readonly state: 'stopped'; readonly reason: string }

export interface HealthCheck {
  readonly name: string
  /** Which endpoints ask it. `livez` must not depend on members or stores: a restart would not mend them. */
  readonly endpoints: readonly HealthEndpoint[]
  /** Which others show it, by its name and with `?verbose`, and do not fail with it. */
  readonly informs?: readonly HealthEndpoint[]
  check(): Readiness | Promise<Readiness>
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

/**
 * The answer of `/<endpoint>`, `/<endpoint>/<check>`; undefined for a check that does not exist. Reasons, which name clusters,
 * are withheld unless `isTold`.
 */
export async function answerHealth(
  checks: readonly HealthCheck[],
  endpoint: HealthEndpoint,
  one: string | undefined,
  query: URLSearchParams,
  isTold = true,
): Promise<HealthAnswer | undefined> {
  const deciding = checks.filter((check) => check.endpoints.includes(endpoint))
  const informing = checks.filter((check) => check.informs?.includes(endpoint) === true)
  if (one !== undefined) {
    const check = [...deciding, ...informing].find((candidate) => candidate.name === one)
    return check === undefined ? undefined : answerOne(check, isTold)
  }
  const excluded = new Set(query.getAll('exclude'))
  const results = await Promise.all(deciding.map((check) => ask(check, excluded)))
  const failed = results.some(({ outcome }) => outcome !== 'excluded' && outcome.state !== 'ready')
  const verbose = query.has('verbose')
  if (!failed && !verbose) return { status: 200, body: 'ok' }
  const others = verbose ? await Promise.all(informing.map((check) => ask(check, excluded))) : []
  const lines = [
    ...results.map(({ name, outcome }) => line(name, outcome, isTold)),
    ...others.map(({ name, outcome }) => `${line(name, outcome, isTold)} (does not count here)`),
  ]
  return {
    status: failed ? 503 : 200,
    body: `${lines.join('\n')}\n${endpoint} check ${failed ? 'failed' : 'passed'}\n`,
  }
}

interface Result {
  readonly name: string
  readonly outcome: Readiness | 'excluded'
}

async function ask(check: HealthCheck, excluded: ReadonlySet<string>): Promise<Result> {
  const { name } = check
  return { name, outcome: excluded.has(name) ? 'excluded' : await check.check() }
}

async function answerOne(check: HealthCheck, isTold: boolean): Promise<HealthAnswer> {
  const outcome = await check.check()
  return outcome.state === 'ready'
    ? { status: 200, body: 'ok' }
    : { status: 503, body: `${outcome.state}: ${isTold ? outcome.reason : WITHHELD}\n` }
}

/** In the words of a kube-apiserver. */
const WITHHELD = 'reason withheld'

function line(name: string, outcome: Readiness | 'excluded', isTold: boolean): string {
  if (outcome === 'excluded') return `[+]${name} excluded: ok`
  return outcome.state === 'ready'
    ? `[+]${name} ok`
    : `[-]${name} ${outcome.state}: ${isTold ? outcome.reason : WITHHELD}`
}

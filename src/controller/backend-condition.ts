/** What a registry's condition `BackendHealthy` says: whether the stores that mirror it take what they are given. Pure. */
import type { Condition } from '../api/resource-registry.ts'
import { bounded, lagStep, objectsText } from './condition-text.ts'
import type { StorePlanProblem } from './store-plan.ts'

/** One store of a registry. */
export interface StoreHealth {
  readonly store: string
  readonly failure: { readonly code: string; readonly message: string } | undefined
  readonly lagMs: number
  /** False while it is yet to be compared with the cache. */
  readonly complete: boolean
  readonly deadLetters: number
  /** Changes that wait to be written, by cluster. */
  readonly waiting: ReadonlyMap<string, number>
}

export type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>

/** A store that is short of breath for less is no news: conditions are for people. */
const NEWS_AFTER_MS = 10_000

const MAX_MESSAGE = 200

const REASONS: Readonly<Record<string, string>> = {
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  readOnly: 'ReadOnly',
  unreachable: 'Unreachable',
  unavailable: 'Unavailable',
  overloaded: 'Overloaded',
  unsupported: 'Unsupported',
  full: 'NoSpaceLeft',
  corrupt: 'Damaged',
}

export function backendVerdict(stores: readonly StoreHealth[], problems: readonly StorePlanProblem[]): Verdict {
  const failing = stores.filter(({ failure, lagMs }) => failure !== undefined && lagMs >= NEWS_AFTER_MS)
  const [first] = failing
  if (first !== undefined) {
    const reason = REASONS[first.failure?.code ?? ''] ?? 'Failing'
    return { status: 'False', reason, message: failing.map(failureText).join('; ') }
  }
  const [problem] = problems
  if (problem !== undefined) {
    return { status: 'False', reason: problem.reason, message: problems.map(({ message }) => message).join('; ') }
  }
  if (stores.length === 0) return { status: 'True', reason: 'NoStore', message: 'there is no search store' }
  const behind = stores.filter(({ lagMs }) => lagMs >= 60_000)
  if (behind.length > 0) {
    const message = behind.map((health) => `${health.store} is ${lagText(health)}`).join('; ')
    return { status: 'True', reason: 'Behind', message }
  }
  const names = stores.map(({ store, deadLetters }) =>
    deadLetters === 0 ? store : `${store} (${deadLetters} objects refused, see search/dead-letters)`,
  )
  return { status: 'True', reason: 'Written', message: `written to ${names.join(', ')}` }
}

function failureText(health: StoreHealth): string {
  const { store, failure, lagMs } = health
  const message = (failure?.message ?? '').slice(0, MAX_MESSAGE)
  return lagMs < 60_000 ? `${store}: ${message}` : `${store}: ${message}; ${lagText(health)}`
}

/** `behind for more than 5 minutes (m1: about 1200 objects, m2: 3 objects)`, the most first. */
function lagText({ lagMs, waiting }: StoreHealth): string {
  const clusters = [...waiting].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  const text = bounded(
    clusters.map(([cluster, objects]) => `${cluster}: ${objectsText(objects)}`),
    ', ',
  )
  return `behind for more than ${lagStep(lagMs) ?? 'a few seconds'}${text === '' ? '' : ` (${text})`}`
}

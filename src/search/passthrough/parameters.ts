/** Parameters of requests in an engine's language. */
import type { ApiRequest } from '../../http/api-request.ts'
import { badRequest, type StatusError } from '../../kube/status-error.ts'
import type { AnswerForm } from './answers.ts'

/** Parameters that say the same as a body, and those that change nothing here (`source` is read as the body). */
const IN_BODY = ['size', 'from', 'track_total_hits'] as const
export const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'allow_no_indices',
  'allow_partial_search_results',
  'batched_reduce_size',
  'ccs_minimize_roundtrips',
  'expand_wildcards',
  'fields',
  'human',
  'ignore_throttled',
  'ignore_unavailable',
  'max_concurrent_searches',
  'max_concurrent_shard_requests',
  'preference',
  'pretty',
  'source',
  'source_content_type',
  'timeout',
])

export function formOf({ query }: ApiRequest): AnswerForm {
  return { totalAsNumber: isSet(query, 'rest_total_hits_as_int'), typedKeys: isSet(query, 'typed_keys') }
}

const OF_ANSWER: readonly string[] = ['rest_total_hits_as_int', 'typed_keys']

/** A body with what parameters say beside it; `also`: those that are read elsewhere. */
export function withParameters(body: unknown, query: URLSearchParams, also: readonly string[] = []): unknown {
  const more: Record<string, unknown> = {}
  for (const name of query.keys()) {
    if ((IN_BODY as readonly string[]).includes(name)) more[name] = parsed(name, query.get(name) ?? '')
    else if (!WITHOUT_EFFECT.has(name) && !OF_ANSWER.includes(name) && !also.includes(name)) throw notAllowed(name)
  }
  if (body === undefined) return more
  // Whatever it is, the reader says so.
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...more, ...body } : body
}

export function notAllowed(name: string): StatusError {
  return badRequest(`the parameter ${JSON.stringify(name.slice(0, 80))} is not allowed`)
}

function parsed(name: string, text: string): unknown {
  if (!/^(?:\d{1,9}|true|false)$/.test(text)) throw badRequest(`the parameter ${name} is no number`)
  return JSON.parse(text) as unknown
}

export function isSet(query: URLSearchParams, name: string): boolean {
  return query.has(name) && query.get(name) !== 'false'
}

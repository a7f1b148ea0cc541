/** What a path below `search/opensearch` or `search/elasticsearch` asks for. */
import { badRequest, StatusError } from '../../kube/status-error.ts'

export type Target =
  | { readonly type: 'root' }
  | {
      readonly type: (typeof OF_INDICES)[keyof typeof OF_INDICES] | 'catIndices'
      readonly indices: Indices
    }
  /** Elasticsearch's alone. */
  | { readonly type: 'asyncSearch'; readonly id: string; readonly statusOnly: boolean }
  /** Names of indices and patterns of them, by commas. */
  | { readonly type: 'resolveIndex'; readonly patterns: readonly string[] }
  | { readonly type: 'document'; readonly indices: Indices; readonly id: string; readonly sourceOnly: boolean }

export interface Indices {
  /** As they were named, for answers that are by index. */
  readonly names: readonly string[]
  /** Undefined: all. */
  readonly kinds: readonly string[] | undefined
}

const PREFIX = 'kubernetes-'
const EVERYTHING: ReadonlySet<string> = new Set(['_all', '*', `${PREFIX}*`])
const MAX_INDICES = 100

/** What is answered of indices, by the last part of the path. */
const OF_INDICES = {
  _search: 'search',
  _count: 'count',
  _msearch: 'multiSearch',
  _mget: 'multiGet',
  _mapping: 'mapping',
  _mappings: 'mapping',
  _field_caps: 'fieldCaps',
  _terms_enum: 'termsEnum',
  _async_search: 'submitSearch',
} as const

/** Throws `notFound` for what there is nothing at, `badRequest` for names of other indices. */
export function targetOf(path: string): Target {
  const parts = path.split('/').filter((part) => part !== '')
  const [first = '', second, third] = parts.map(decoded)
  if (parts.length === 0) return { type: 'root' }
  if (first === 'api' || first === 'apis') {
    throw nothing(
      `this speaks the engine's own language, as in kubernetes-pod/_search; objects are at search/cache/${parts.join('/')}`,
    )
  }
  if (first === '_cat' && second === 'indices' && parts.length <= 3) {
    return { type: 'catIndices', indices: indicesOf(third ?? '_all') }
  }
  if (first === '_async_search' && second !== undefined && parts.length <= 3) {
    if (third === undefined) return { type: 'asyncSearch', id: second, statusOnly: false }
    if (second === 'status') return { type: 'asyncSearch', id: third, statusOnly: true }
  }
  if (first === '_resolve' && second === 'index' && third !== undefined && parts.length === 3) {
    return { type: 'resolveIndex', patterns: patternsOf(third) }
  }
  if (parts.length === 1 && isOfIndices(first)) return { type: OF_INDICES[first], indices: indicesOf('_all') }
  if (parts.length === 2 && second !== undefined && isOfIndices(second)) {
    return { type: OF_INDICES[second], indices: indicesOf(first) }
  }
  if (third !== undefined && (second === '_doc' || second === '_source')) {
    return { type: 'document', indices: indicesOf(first), id: idOf(path), sourceOnly: second === '_source' }
  }
  throw nothing(
    'read only: <index>/_search, _count, _msearch, _mget, _doc/<id>, _source/<id>, _mapping, _field_caps, _terms_enum, _async_search, _resolve/index and _cat/indices are answered',
  )
}

/** `kubernetes-pod`, several by commas, `kubernetes-*`, `_all`. */
export function indicesOf(text: string): Indices {
  const names = text.split(',')
  if (names.length > MAX_INDICES) throw badRequest(`more than ${MAX_INDICES} indices`)
  if (names.some((name) => EVERYTHING.has(name))) return { names, kinds: undefined }
  for (const name of names) {
    if (!name.startsWith(PREFIX) || !/^[a-z0-9.-]+$/.test(name.slice(PREFIX.length))) {
      throw badRequest(
        `there is no index ${JSON.stringify(name.slice(0, 80))}: kubernetes-<kind in lower case>, or kubernetes-*`,
      )
    }
  }
  return { names, kinds: [...new Set(names.map((name) => name.slice(PREFIX.length)))] }
}

function patternsOf(text: string): string[] {
  const patterns = text.split(',')
  if (patterns.length > MAX_INDICES) throw badRequest(`more than ${MAX_INDICES} indices`)
  return patterns
}

/** With the slashes that ids of documents have, written as they are or encoded. */
function idOf(path: string): string {
  return decoded(/\/(?:_doc|_source)\/(.*)$/.exec(path)?.[1] ?? '')
}

function isOfIndices(part: string): part is keyof typeof OF_INDICES {
  return Object.hasOwn(OF_INDICES, part)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw badRequest('the path is not percent-encoded')
  }
}

function nothing(message: string): StatusError {
  return new StatusError('notFound', message)
}

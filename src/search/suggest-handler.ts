/**
 * `search/suggest`: how a query that is being typed may go on: fields, values of a field, names, words.
 *
 *     ?q=kind:Pod status:cra      the values of `status` that begin so, of pods
 *
 * Answers a Suggestions: `replace` says which characters of `q` a suggestion stands for (`{from, to}`, UTF-16 units),
 * `items` of `{type: field|value|name|word, text, count}`. `text` is what to put there. Counts are of what the caller may
 * see; where the query before contains OR or an open bracket, they are of everything he may see.
 */
import { sendBody } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import { parseObject } from '../http/selection.ts'
import type { Field } from '../query/fields.ts'
import { parseQuery } from '../query/parser.ts'
import { resolveQuery, type Predicate } from '../query/resolve.ts'
import { likenessOf } from '../query/likeness.ts'
import { fieldEntries } from './fields-handler.ts'
import { wholeNumber } from './parameters.ts'
import { CONTENT_TYPES, headRow, row } from './row-format.ts'
import { asked, createSearchEndpoint, isComplete, tailOf, visibleOf, type SearchCall } from './search-call.ts'
import type { SearchParts } from './search-parts.ts'

export function createSuggestHandler(parts: SearchParts): ApiHandler {
  return createSearchEndpoint(parts, answer)
}

const DEFAULT_LIMIT = 10
const MAX_LIMIT = 100

/** Keys of labels and paths are read from so many objects: about 10 ms. */
const SAMPLE = 200

export interface Suggestion {
  readonly type: 'field' | 'value' | 'name' | 'word'
  readonly text: string
  /** Documents that have it; left out for fields. */
  readonly count?: number
}

interface Typed {
  /** What is complete. */
  readonly before: string
  /** Behind a field and its operator; undefined: no field is typed. */
  readonly field?: { readonly name: string; readonly operator: string; readonly field: Field } | undefined
  readonly text: string
  readonly from: number
  readonly to: number
}

async function answer(call: SearchCall): Promise<void> {
  const limit = wholeNumber(call.parameters, 'limit', DEFAULT_LIMIT, MAX_LIMIT)
  const typed = readTyped(call)
  const predicate = contextOf(call, typed)
  const items =
    typed.field === undefined ? await words(call, typed, predicate, limit) : await values(call, typed, predicate, limit)
  const headers = { 'content-type': CONTENT_TYPES[call.format], ...call.headers }
  await sendBody(call.exchange, { headers }, (body) => {
    if (call.format === 'json') {
      const head = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'Suggestions', total: items.length }
      const replace = { from: typed.from, to: typed.to }
      body.writeText(JSON.stringify({ ...head, totalIsExact: isComplete(call), replace, items, ...tailOf(call) }))
    } else {
      const names = ['type', 'text', 'count'] as const
      body.writeText(headRow(call.format, names))
      for (const item of items)
        body.writeText(
          row(
            call.format,
            names,
            names.map((name) => item[name] ?? null),
          ),
        )
    }
    return Promise.resolve()
  })
}

const FIELD_VALUE = /(?:^|[\s(])-?([A-Za-z.$][A-Za-z0-9_.\-/]*)(!=|<=|>=|[:=<>~])(?:\((?:[^()]*,)?\s*)?"?([^\s"(),]*)$/
const WORD = /[^\s"()]*$/

/** The last thing in the query, which is being typed. */
function readTyped({ parameters, fields }: SearchCall): Typed {
  const q = parameters.get('q') ?? ''
  const [whole = '', name = '', operator = '', text = ''] = FIELD_VALUE.exec(q) ?? []
  const field = name === '' ? undefined : fields.find(name)
  if (field !== undefined) {
    const before = q.slice(0, q.length - whole.length)
    return { before, field: { name, operator, field }, text, from: q.length - text.length, to: q.length }
  }
  const [word = ''] = WORD.exec(q) ?? []
  const typed = word.replace(/^-/, '')
  return { before: q.slice(0, q.length - word.length), text: typed, from: q.length - typed.length, to: q.length }
}

/** What the rest of the query asks for, where that is plain. */
function contextOf({ fields, parts }: SearchCall, { before }: Typed): Predicate {
  if (/\bOR\b|\(/.test(before)) return { type: 'all' }
  const text = before.replace(/(?:\s|^)(?:AND|NOT|-)?\s*$/, '')
  const ast = parseQuery(text, (name) => fields.find(name) !== undefined)
  return resolveQuery(ast, { fields, nowMs: parts.clock.nowMs() }).predicate
}

async function values(
  call: SearchCall,
  { field, text }: Typed,
  predicate: Predicate,
  limit: number,
): Promise<Suggestion[]> {
  if (field === undefined) return []
  const found = await vocabulary(call, predicate, field.field.path, text, limit)
  return found.map(({ value, count }) => ({ type: 'value', text: quoteIfNeeded(value), count }))
}

async function words(call: SearchCall, { text }: Typed, predicate: Predicate, limit: number): Promise<Suggestion[]> {
  const fields = text === '' ? [] : await fieldsLike(call, text, predicate)
  const some = fields.slice(0, limit)
  if (text === '' || /[:=<>~]/.test(text)) return some
  const [kinds, names, found] = await Promise.all([
    vocabulary(call, predicate, 'kind', text, limit),
    vocabulary(call, predicate, 'name', text, limit),
    vocabulary(call, predicate, undefined, text, limit),
  ])
  const all: Suggestion[] = [
    ...some,
    ...kinds.map(({ value, count }): Suggestion => ({ type: 'value', text: `kind:${value}`, count })),
    ...names.map(({ value, count }): Suggestion => ({ type: 'name', text: value, count })),
    ...found.map(({ value, count }): Suggestion => ({ type: 'word', text: value, count })),
  ]
  return shared(all, limit)
}

/** Every type gets its share of the places, in their order. */
function shared(all: readonly Suggestion[], limit: number): Suggestion[] {
  const byType = Map.groupBy(all, ({ type, text }) => (type === 'value' ? text.split(':', 1)[0] : type))
  const taken = new Set<Suggestion>()
  for (let i = 0; taken.size < limit && taken.size < all.length; i++) {
    for (const some of byType.values()) {
      const next = some[i]
      if (next !== undefined && taken.size < limit) taken.add(next)
    }
  }
  return all.filter((each) => taken.has(each))
}

async function vocabulary(
  call: SearchCall,
  predicate: Predicate,
  path: string | undefined,
  text: string,
  limit: number,
): Promise<readonly { readonly value: string; readonly count: number }[]> {
  const asking = { predicate, ...visibleOf(call), ...(path === undefined ? {} : { path }) }
  return (await asked(() => call.parts.store.vocabulary({ ...asking, like: { type: 'prefix', text }, limit }))).values
}

/** Named fields, and the keys of labels, annotations and paths that a sample of what is found has. */
async function fieldsLike(call: SearchCall, text: string, predicate: Predicate): Promise<Suggestion[]> {
  const lower = text.toLowerCase()
  const entries = await fieldEntries(call)
  const named = entries.flatMap(({ name, aliases }) =>
    [name, ...aliases].filter((each) => each.startsWith(lower)).slice(0, 1),
  )
  const patterns = ['label.', 'annotation.', 'spec.', 'status.'].filter(
    (each) => each.startsWith(lower) && each !== lower,
  )
  const keys = /^(label|annotation|spec|status|metadata|data)\.|^\./.test(text)
    ? await sampledKeys(call, text, predicate)
    : []
  return [...named.map((name) => `${name}:`), ...patterns, ...keys.map((key) => `${key}:`)].map((each) => ({
    type: 'field',
    text: each,
  }))
}

/** Most frequent first. */
async function sampledKeys(call: SearchCall, text: string, predicate: Predicate): Promise<string[]> {
  const { store, cache } = call.parts
  const request = { predicate, ...visibleOf(call), ranked: [], sort: [], limit: SAMPLE, facets: [] }
  const { hits } = await asked(() => store.search(request))
  const counts = new Map<string, number>()
  for (const hit of hits) {
    const object = cache.resource(hit)?.get(hit.cluster as never, hit.namespace, hit.name)
    if (object?.uid !== hit.uid) continue
    const keys = new Set<string>()
    collectKeys(parseObject(object.bytes), text, hit.kind === 'Secret', keys)
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([key]) => key)
}

function collectKeys(
  object: Readonly<Record<string, unknown>>,
  text: string,
  secret: boolean,
  into: Set<string>,
): void {
  const metadata = (object['metadata'] ?? {}) as Readonly<Record<string, unknown>>
  const [root = '', rest = ''] = text.split(/\.(.*)/s, 2)
  if (root === 'label' || root === 'annotation') {
    const isLike = likenessOf({ type: 'prefix', text: rest })
    for (const key of Object.keys(metadata[`${root}s`] ?? {}))
      if (isLike(key.toLowerCase()) === 0) into.add(`${root}.${key}`)
    return
  }
  if (secret && /^\.?(data|stringData)\./.test(text)) return
  const parts = text.replace(/^\./, '').split('.')
  const last = (parts.pop() ?? '').toLowerCase()
  for (const key of keysAt(object, parts)) {
    if (key.toLowerCase().startsWith(last)) into.add(text.slice(0, text.length - last.length) + key)
  }
}

/** Deeper keys are not indexed (`json-walker.ts`). */
const MAX_DEPTH = 64

function keysAt(value: unknown, path: readonly string[], depth = 0): string[] {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return []
  if (Array.isArray(value)) return value.flatMap((item) => keysAt(item, path, depth + 1))
  const [first, ...rest] = path
  if (first === undefined) return Object.keys(value)
  return Object.entries(value).flatMap(([key, child]) =>
    key.toLowerCase() === first.toLowerCase() ? keysAt(child, rest, depth + 1) : [],
  )
}

/** As it has to be written behind an operator. */
export function quoteIfNeeded(text: string): string {
  return text === '' || /[\s"(),*?]/.test(text) ? `"${text.replace(/(["\\])/g, '\\$1')}"` : text
}

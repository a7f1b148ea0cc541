/** What the endpoints of search tell a caller, held against what the members' own lists show him. */
import assert from 'node:assert/strict'
import type { TestResponse } from './real-parts/http.ts'
import { BASE, type Caller, type Kind } from './rights-world.ts'

export const SEARCH_QUESTIONS = ['aggregate', 'suggest', 'export', 'query watch'] as const
export type SearchQuestion = (typeof SEARCH_QUESTIONS)[number]

export interface SearchAsked {
  readonly what: SearchQuestion
  readonly caller: Caller
  readonly kind: Kind
}

/** `accept` is the header of that name. */
export type AskOurs = (caller: Caller, path: string, accept?: string) => Promise<TestResponse>

/** `expected`: `cluster/namespace/name` of all objects of the kind that the caller may see, sorted. */
export async function compareSearch(ours: AskOurs, asked: SearchAsked, expected: readonly string[]): Promise<void> {
  const q = kindQuery(asked.kind)
  switch (asked.what) {
    case 'aggregate':
      return aggregates(
        await ours(asked.caller, path('aggregate', { q, by: 'cluster,namespace', metrics: 'distinct(name)' })),
        expected,
      )
    case 'suggest':
      return suggestions(await ours(asked.caller, path('suggest', { q: `${q} name:`, limit: '100' })), expected)
    case 'export':
      return rows(
        await ours(asked.caller, path('query', { q, fields: 'cluster,namespace,name' }), 'text/csv'),
        expected,
      )
    case 'query watch':
      return events(await ours(asked.caller, path('query/proxy', { q, watch: 'true', timeoutSeconds: '1' })), expected)
  }
}

function kindQuery({ kind, group }: Kind): string {
  return group === '' ? `kind:${kind}` : `kind:${kind} group:"${group}"`
}

function path(endpoint: string, parameters: Record<string, string>): string {
  return `${BASE}/search/${endpoint}?${new URLSearchParams(parameters).toString()}`
}

function partOf(key: string, at: 0 | 1 | 2): string {
  return key.split('/')[at] ?? ''
}

interface Groups {
  readonly total: number
  readonly groups: readonly {
    readonly keys: { readonly cluster: string; readonly namespace: string | null }
    readonly count: number
    readonly metrics: Readonly<Record<string, number>>
  }[]
}

function aggregates({ status, text, json }: TestResponse, expected: readonly string[]): void {
  assert.equal(status, 200, text)
  const { total, groups } = json() as Groups
  assert.equal(total, expected.length)
  const places = Map.groupBy(expected, (key) => `${partOf(key, 0)}/${partOf(key, 1)}`)
  const shown = groups.map(({ keys, count, metrics }) => [
    `${keys.cluster}/${keys.namespace ?? ''}`,
    count,
    metrics['distinct(name)'],
  ])
  const wanted = [...places].map(([place, keys]) => [
    place,
    keys.length,
    new Set(keys.map((key) => partOf(key, 2))).size,
  ])
  assert.deepEqual(shown.sort(), wanted.sort())
}

function suggestions({ status, text, json }: TestResponse, expected: readonly string[]): void {
  assert.equal(status, 200, text)
  const { items } = json() as { items: { text: string; count: number }[] }
  const names = Map.groupBy(expected, (key) => partOf(key, 2))
  const wanted = [...names].map(([name, keys]) => `${name} ${keys.length}`)
  assert.deepEqual(items.map(({ text: name, count }) => `${name} ${count}`).sort(), wanted.sort())
}

function rows({ status, text, headers }: TestResponse, expected: readonly string[]): void {
  assert.equal(status, 200, text)
  assert.equal(headers['fleetsearch-total'], String(expected.length))
  const [, ...lines] = text.trimEnd().split('\r\n')
  assert.deepEqual(lines.map((line) => line.replaceAll(',', '/')).sort(), expected)
}

interface Event {
  readonly type: string
  readonly object: {
    readonly metadata: {
      readonly name: string
      readonly namespace?: string
      readonly annotations?: Record<string, string>
    }
  }
}

function events({ status, text }: TestResponse, expected: readonly string[]): void {
  assert.equal(status, 200, text)
  const lines = text.split('\n').filter((line) => line !== '')
  const added = lines.map((line) => JSON.parse(line) as Event).filter(({ type }) => type === 'ADDED')
  const keys = added.map(({ object: { metadata } }) => {
    const cluster = metadata.annotations?.['resource.karmada.io/cached-from-cluster'] ?? ''
    return `${cluster}/${metadata.namespace ?? ''}/${metadata.name}`
  })
  assert.deepEqual(keys.sort(), expected)
}

/** Pods and a published mix of queries, for the benches of stores. */
import type { Upsert } from '../src/backendstore/backend-store.ts'
import { columnKinds } from '../src/kube/columns/index.ts'
import { FieldCatalog } from '../src/query/fields.ts'
import { parseQuery } from '../src/query/parser.ts'
import { resolveQuery } from '../src/query/resolve.ts'
import type { SearchRequest, SearchStore } from '../src/query/search-request.ts'
import { benchPod, type BenchPod } from './fleet-objects.ts'

const CLUSTERS = 10
const NOW_MS = Date.parse('2026-11-30T00:00:00Z')

/** What people ask; each line is measured on its first page of 50. */
const MIX: readonly (readonly [query: string, sort: string, facets: string])[] = [
  ['web', '', ''],
  ['image:nginx restarts>0', '', 'cluster,namespace'],
  ['ns:team-7 status!=Running', '', ''],
  ['CrashLoopBackOff', '', 'cluster'],
  ['10.12.34.56', '', ''],
  ['ip:10.12.* kind:Pod', '', ''],
  ['label.tier=db cluster:member3', 'name', ''],
  ['created<7d label.app:checkout', '-created', ''],
  ['"back-off 5m0s restarting"', '', ''],
  ['checkout cart', '', ''],
  ['-status=Running ns:team-1*', '-restarts', 'status'],
  ['restarts>=10', '-restarts', 'image'],
  ['spec.containers.resources.limits.memory>=1Gi ns=team-3', '', ''],
  ['node:ip-10-0-3-* status:(CrashLoopBackOff,ErrImagePull)', '', 'node'],
  ['owner:payments-1', '', ''],
  ['(image:redis OR image:postgres) restarts>3', '', ''],
  ['kind:Pod', '', ''],
  ['kind:Pod', '-restarts', 'cluster,namespace'],
  ['registry', '', 'cluster'],
]

/** Prints the median of each query of the mix, and of all of them. */
export async function measureQueries(store: Pick<SearchStore, 'search'>): Promise<void> {
  const medians: number[] = []
  for (const [query, sort, facets] of MIX) {
    const request = requestOf(query, sort, facets)
    const times: number[] = []
    let total = 0
    for (let i = 0; i < 7; i++) {
      const started = performance.now()
      total = (await store.search(request)).total
      times.push(performance.now() - started)
    }
    const median = times.sort((a, b) => a - b)[3] ?? 0
    medians.push(median)
    print(
      `${median.toFixed(1).padStart(8)} ms ${String(total).padStart(8)}  ${query}${sort === '' ? '' : `  sort ${sort}`}${facets === '' ? '' : `  facets ${facets}`}`,
    )
  }
  medians.sort((a, b) => a - b)
  print(
    `queries: p50 ${(medians[Math.floor(medians.length / 2)] ?? 0).toFixed(1)} ms, worst ${(medians.at(-1) ?? 0).toFixed(1)} ms`,
  )
}

function requestOf(query: string, sort: string, facets: string): SearchRequest {
  const fields = new FieldCatalog(columnKinds().map(({ columns }) => columns))
  const ast = parseQuery(query, (name) => fields.find(name) !== undefined)
  const { predicate, ranked } = resolveQuery(ast, { fields, nowMs: NOW_MS })
  const names = (text: string): string[] => text.split(',').filter((name) => name !== '')
  return {
    predicate,
    ranked,
    sort: names(sort).map((name) => ({ path: name.replace(/^-/, ''), descending: name.startsWith('-') })),
    limit: 50,
    facets: names(facets).map((name) => ({ path: fields.find(name)?.path ?? name, limit: 10 })),
  }
}

export function podsOf(random: () => number, from: number, count: number): BenchPod[] {
  return Array.from({ length: count }, (_, k) => benchPod(random, `member${(from + k) % CLUSTERS}`, from + k))
}

export function upsert(pod: BenchPod): Upsert {
  return { type: 'upsert', group: '', version: 'v1', resource: 'pods', kind: 'Pod', ...pod }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

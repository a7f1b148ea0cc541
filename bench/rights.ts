/**
 * Rights on results: what a member's RBAC objects cost in memory, what a decision costs, what a search costs more for a
 * caller with rights in a few namespaces or without one kind.
 *
 *     node --expose-gc bench/rights.ts [pods=20000]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SqliteStore } from '../src/backendstore/sqlite/store.ts'
import type { Fields } from '../src/fleet/fields.ts'
import { columnKinds } from '../src/kube/columns/index.ts'
import { FieldCatalog } from '../src/query/fields.ts'
import { parseQuery } from '../src/query/parser.ts'
import { resolveQuery } from '../src/query/resolve.ts'
import type { SearchRequest, VisibleDocuments } from '../src/query/search-request.ts'
import { scopeOf } from '../src/rights/evaluate.ts'
import { memberIdentity } from '../src/rights/member-identity.ts'
import { roleKey } from '../src/rights/policy.ts'
import { RbacIndex, type RbacEntry, type RbacKind } from '../src/rights/rbac-index.ts'
import { benchPod, seededRandom } from './fleet-objects.ts'

const NAMESPACES = 1_000
const BINDINGS_PER_NAMESPACE = 8
const CLUSTER_ROLES = 120
const GROUP = 'rbac.authorization.k8s.io'

async function main(pods: number): Promise<void> {
  const index = memoryOf()
  decisions(index)
  await searches(pods)
}

function memoryOf(): RbacIndex {
  const before = used()
  const index = new RbacIndex()
  fill(index, 'clusterroles', CLUSTER_ROLES, (i) => clusterRole(i))
  const bindings = NAMESPACES * BINDINGS_PER_NAMESPACE
  fill(index, 'rolebindings', bindings, (i) => roleBinding(i))
  const bytes = used() - before
  const each = bytes / (bindings + CLUSTER_ROLES)
  print(`RBAC objects: ${bindings + CLUSTER_ROLES} in ${mib(bytes)} MiB, ${each.toFixed(0)} B each`)
  return index
}

function fill(index: RbacIndex, kind: RbacKind, count: number, make: (i: number) => object): void {
  const entries = new Map<string, RbacEntry>()
  for (let i = 0; i < count; i++) {
    // Parsed from text, as they come: each brings strings of its own.
    const object = JSON.parse(JSON.stringify(make(i))) as { metadata: { name: string; namespace?: string } } & Fields
    entries.set(roleKey(object.metadata.namespace ?? '', object.metadata.name), index.parse(kind, object))
  }
  index.replace(kind, entries)
}

function clusterRole(i: number): object {
  const verbs = i % 3 === 0 ? ['get', 'list', 'watch'] : ['create', 'update']
  const resources = (group: string): object => ({
    apiGroups: [group],
    resources: ['pods', 'services', 'configmaps', 'deployments', `things${i}`],
    verbs,
  })
  return {
    metadata: { name: `role-${i}`, uid: `uid-${i}`, labels: { tier: 'x' } },
    rules: ['', 'apps', 'batch'].map(resources),
  }
}

/** One person has a binding in each namespace, the others are spread. */
function roleBinding(i: number): object {
  const namespace = `team-${i % NAMESPACES}`
  const group = i < NAMESPACES ? 'everywhere' : `group-${i % 400}`
  return {
    metadata: { name: `binding-${i}`, namespace, uid: `uid-${i}`, creationTimestamp: '2026-11-30T00:00:00Z' },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: `role-${i % CLUSTER_ROLES}` },
    subjects: [
      { apiGroup: GROUP, kind: 'Group', name: group },
      { kind: 'ServiceAccount', name: 'default', namespace },
    ],
  }
}

function decisions(index: RbacIndex): void {
  const question = { verb: 'list', group: '', resource: 'pods', subresource: '' }
  for (const group of ['group-7', 'everywhere']) {
    const identity = memberIdentity({ name: 'bob', groups: [group] })
    const times = Array.from({ length: 200 }, () => {
      const started = performance.now()
      scopeOf(index, identity, question)
      return performance.now() - started
    }).sort((a, b) => a - b)
    const { size } = scopeOf(index, identity, question)
    print(`one decision, not remembered, ${size} namespaces: ${((times[100] ?? 0) * 1_000).toFixed(0)} µs`)
  }
}

const QUERIES = ['', 'image:nginx restarts>0', 'web', 'ns:team-7', 'kind:Pod status!=Running']

async function searches(pods: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-bench-'))
  const store = await SqliteStore.open({ file: path.join(folder, 'search.db') })
  try {
    const clusters = await load(store, pods)
    const part = (namespaces: readonly string[] | undefined): VisibleDocuments => ({
      clusters: new Map(clusters.map((cluster) => [cluster, 0])),
      parts: [
        [
          {
            group: '',
            resource: 'pods',
            everything: namespaces === undefined,
            namespaces: namespaces ?? [],
            names: [],
          },
        ],
      ],
    })
    const teams = (count: number): string[] => Array.from({ length: count }, (_, i) => `team-${i}`)
    const callers: readonly (readonly [string, VisibleDocuments | undefined])[] = [
      ['no restriction', undefined],
      ['3 namespaces', part(teams(3))],
      ['all pods, not all kinds', part(undefined)],
      ['all but some of 1,000 namespaces', part(teams(1_000))],
    ]
    for (const query of QUERIES) {
      for (const [caller, visible] of callers) await measure(store, query, caller, visible)
    }
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function load(store: SqliteStore, pods: number): Promise<string[]> {
  const random = seededRandom(1)
  const clusters = Array.from({ length: 10 }, (_, i) => `member${i}`)
  for (let i = 0; i < pods; i += 1_000) {
    await store.write(
      Array.from({ length: Math.min(1_000, pods - i) }, (_, k) => ({
        type: 'upsert' as const,
        group: '',
        version: 'v1',
        resource: 'pods',
        kind: 'Pod',
        ...benchPod(random, clusters[(i + k) % clusters.length] as string, i + k),
      })),
    )
  }
  return clusters
}

const fields = new FieldCatalog(columnKinds().map(({ columns }) => columns))

async function measure(
  store: SqliteStore,
  query: string,
  caller: string,
  visible: VisibleDocuments | undefined,
): Promise<void> {
  const ast = parseQuery(query, (name) => fields.find(name) !== undefined)
  const { predicate, ranked } = resolveQuery(ast, { fields, nowMs: 1_796_000_000_000 })
  const facets = [{ path: 'namespace', limit: 10 }]
  const request: SearchRequest = { predicate, ranked, sort: [], limit: 50, facets }
  const times: number[] = []
  let total = 0
  for (let i = 0; i < 9; i++) {
    const started = performance.now()
    total = (await store.search(visible === undefined ? request : { ...request, visible })).total
    times.push(performance.now() - started)
  }
  const median = times.sort((a, b) => a - b)[4] ?? 0
  const what = query === '' ? 'everything' : query
  print(`${median.toFixed(1).padStart(8)} ms ${String(total).padStart(7)}  ${what}  [${caller}]`)
}

function used(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

await main(Number(process.argv[2] ?? 20_000))

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import type { Change } from '../../../../src/backendstore/backend-store.ts'
import { IndexReader } from '../../../../src/backendstore/sqlite/index-reader.ts'
import { IndexWriter } from '../../../../src/backendstore/sqlite/index-writer.ts'
import { Preparer } from '../../../../src/backendstore/sqlite/preparer.ts'
import { openForReading } from '../../../../src/backendstore/sqlite/database.ts'
import { configure, createSchema } from '../../../../src/backendstore/sqlite/schema.ts'
import { parseQuery } from '../../../../src/query/parser.ts'
import { resolveQuery } from '../../../../src/query/resolve.ts'
import type { Dimension, SearchRequest, VisibleDocuments } from '../../../../src/query/search-request.ts'
import { seededRandom } from '../../../../bench/fleet-objects.ts'
import { remove, upsert } from '../../../conformance/backend-store-suite.ts'
import { FAKE_EPOCH_MS } from '../../../support/fake-clock.ts'
import { allFields } from '../../../support/search.ts'

const OBJECTS = 2_000
const PODS = { group: '', version: 'v1', resource: 'pods', kind: 'Pod' }
const NODES = { group: '', version: 'v1', resource: 'nodes', kind: 'Node' }
const ROLES = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles', kind: 'Role' }

const QUERIES = [
  '',
  'web',
  'web-1',
  'cart shop',
  '"team 3"',
  'kind:Pod',
  'kind:Pod -cluster:member1',
  'ns:team-1* status!=Running',
  'status:(Running,Pending) image:nginx',
  'restarts>3',
  'restarts>3 web',
  '-restarts>3 -web',
  'web OR restarts>5',
  'node:node-3 OR label.tier=db',
  'created<7d',
  'created>=2026-11-28T00:00:00Z label.tier=db',
  'created=2026-11-28T10:00:00.5Z',
  'created<2026-11-25T10:00:05Z',
  'created<=2026-11-25T10:00:05Z',
  'created>2026-11-25T10:00:05Z',
  'created>2026-11-25T10:00:05.5Z -created>=2026-11-27T10:00:03Z',
  'owner:*',
  '-owner:* resource=pods',
  'node~"node-[12]" -(web restarts>2)',
  'image:redis*',
  'group=rbac.authorization.k8s.io',
  'nothing-has-this',
  'status:nothing web',
]
const SORTS = ['', '-restarts', 'restarts,-created', 'name', '-name,cluster', 'cluster,-namespace', 'kind,created']
const MORE_SORTS = ['image', '-owner,status', 'uid', 'apiversion,ready', 'memory,name', 'version,restarts']
const FACETS = ['cluster', 'namespace', 'kind', 'group', 'resource', 'status', 'image', 'owner', 'node', 'restarts']
const MORE_FACETS = ['created', 'label.tier', 'name', 'ready']
const DIMENSIONS: readonly Dimension[][] = [
  [],
  [{ type: 'value', path: 'image' }],
  [
    { type: 'value', path: 'cluster' },
    { type: 'value', path: 'namespace' },
    { type: 'number', path: 'restarts' },
  ],
  [
    { type: 'time', path: 'created', unit: 'day' },
    { type: 'value', path: 'status' },
  ],
  [
    { type: 'number', path: 'status' },
    { type: 'value', path: 'label.tier' },
  ],
  [
    { type: 'value', path: 'owner' },
    { type: 'value', path: 'image' },
  ],
]

test('columns answer as the tables do while documents come, change and go', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-columns-'))
  const file = path.join(folder, 'search.db')
  const db = new DatabaseSync(file)
  const reading = openForReadingOf(db, file)
  t.after(() => {
    reading.close()
    db.close()
    rmSync(folder, { recursive: true })
  })
  const preparer = new Preparer([])
  const writer = new IndexWriter(db)
  const reader = new IndexReader(reading)
  const random = seededRandom(11)
  const all = Array.from({ length: OBJECTS }, (_, i) => i)
  const rounds: Change[][] = [
    all.map((i) => change(random, i, 1)),
    all.filter(() => random() < 0.02).map((i) => change(random, i, 2)),
    all.filter(() => random() < 0.6).map((i) => change(random, i, 3)), // so many rows are let go
    all.filter(() => random() < 0.5).map(removal),
    all.filter(() => random() < 0.3).map((i) => change(random, i, 4)),
  ]
  for (const [round, changes] of rounds.entries()) {
    writer.write(preparer.prepare(changes))
    const tables = openForReading(file)
    compareAll(reader, new IndexReader(tables, true), round)
    tables.close()
    assert.ok(reader.columnBytes() > 0)
  }
})

function openForReadingOf(db: DatabaseSync, file: string): DatabaseSync {
  configure(db)
  createSchema(db)
  return openForReading(file)
}

function compareAll(columns: IndexReader, tables: IndexReader, round: number): void {
  let n = round
  for (const q of QUERIES) {
    for (const sort of [...SORTS, ...MORE_SORTS].filter((_, i) => (i + n++) % 17 === 0)) {
      const visible = VISIBLE[n % VISIBLE.length]
      const facets = [...FACETS, ...MORE_FACETS].filter((_, i) => (i + n) % 5 === 0)
      walk(columns, tables, requestOf(q, sort, facets, visible), `round ${round} q=${q} sort=${sort}`)
    }
    const { predicate } = requestOf(q, '', [], undefined)
    for (const dimensions of DIMENSIONS.filter((_, i) => (i + n++) % 6 === 0)) {
      const request = { predicate, dimensions, maxRows: 10_000 }
      assert.deepEqual(
        counted(columns.count(request)),
        counted(tables.count(request)),
        `${q} by ${JSON.stringify(dimensions)}`,
      )
    }
  }
}

/** The first pages, then one from the middle. */
function walk(columns: IndexReader, tables: IndexReader, request: SearchRequest, about: string): void {
  let next: SearchRequest | undefined = request
  for (let page = 0; page < 3 && next !== undefined; page++) {
    const found = columns.search(next)
    assert.deepEqual(plain(found), plain(tables.search(next)), `${about} page ${page}`)
    const last: SearchRequest['after'] = found.hits.at(-1)?.cursor
    next =
      found.more && last !== undefined
        ? { ...request, facets: [], after: last, limit: page === 0 ? 200 : 10 }
        : undefined
  }
}

/** Without the prototypes that rows have. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function counted({ rows, complete }: ReturnType<IndexReader['count']>): unknown {
  return { complete, rows: rows.map(({ keys, documents }) => `${JSON.stringify(keys)} ${documents}`).sort() }
}

function requestOf(
  q: string,
  sort: string,
  facets: readonly string[],
  visible: VisibleDocuments | undefined,
): SearchRequest {
  const pathOf = (name: string): string => allFields.find(name)?.path ?? name
  const ast = parseQuery(q, (name) => allFields.find(name) !== undefined)
  const { predicate, ranked } = resolveQuery(ast, { fields: allFields, nowMs: FAKE_EPOCH_MS })
  return {
    predicate,
    ranked,
    sort: sort
      .split(',')
      .filter((term) => term !== '')
      .map((term) => ({ path: pathOf(term.replace(/^-/, '')), descending: term.startsWith('-') })),
    limit: 10,
    facets: facets.map((name) => ({ path: pathOf(name), limit: 6 })),
    ...(visible === undefined ? {} : { visible }),
  }
}

const whole = (resource: { group: string; resource: string }) => ({
  ...{ group: resource.group, resource: resource.resource },
  everything: true,
  namespaces: [],
  names: [],
})

const VISIBLE: readonly (VisibleDocuments | undefined)[] = [
  undefined,
  { clusters: new Map([['member1', 0]]), parts: [[whole(PODS), whole(NODES)]] },
  {
    clusters: new Map([
      ['member0', 0],
      ['member2', 1],
      ['nowhere', 0],
    ]),
    parts: [
      [{ ...whole(PODS), everything: false, namespaces: ['team-1', 'team-2', 'none'] }],
      [
        { ...whole(PODS), everything: false, names: [{ name: 'web-1' }, { namespace: 'team-3', name: 'cart-7' }] },
        whole(ROLES),
      ],
    ],
  },
]

function identity(i: number): { name: string; shard: Parameters<typeof remove>[1]; namespace: string } {
  const cluster = `member${i % 3}`
  const name = `${['web', 'cart', 'Shop', 'redis'][i % 4]}-${Math.floor(i / 40)}`
  if (i % 40 === 39) return { name: `node-${i}`, shard: { cluster, ...NODES }, namespace: '' }
  if (i % 40 === 38) return { name: `Role:${name}:${i}`, shard: { cluster, ...ROLES }, namespace: `team-${i % 5}` }
  return { name: `${name}`, shard: { cluster, ...PODS }, namespace: `team-${i % 40}` }
}

function removal(i: number): Change {
  const { name, shard, namespace } = identity(i)
  return remove(name, shard, namespace)
}

function change(random: () => number, i: number, version: number): Change {
  const { name, shard, namespace } = identity(i)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const day = 20 + Math.floor(random() * 10)
  const images = ['nginx:1.25', 'redis:7', 'registry.io/shop/Web:2', 'postgres'].filter(() => random() < 0.4)
  const body = {
    spec: { nodeName: pick(['node-1', 'node-2', 'node-3', undefined]), containers: images.map((image) => ({ image })) },
    status: {
      phase: pick(['Running', 'Pending', 'Failed', undefined]),
      containerStatuses: [{ restartCount: Math.floor(random() * 8), ready: random() < 0.5 }],
    },
  }
  return upsert(name, {
    shard: shard as never,
    namespace,
    uid: `uid-${i}`,
    version: String(version),
    labels: { tier: pick(['db', 'web']), app: pick(['cart', 'shop']) },
    created: `2026-11-${day}T10:00:0${Math.floor(random() * 10)}Z`,
    body,
  })
}

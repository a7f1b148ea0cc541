/**
 * Tables, cell by cell, against a real kube-apiserver: every kind that has columns of its own, custom resources, and
 * pods that are sick in every way we know. The objects are read as JSON, made canonical as the cache does, printed by us
 * and compared with the Table that the server prints of them.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { canonicalize } from '../../src/kube/canonical-object.ts'
import {
  columnKinds,
  columnsOf,
  columnsOfDefinition,
  type JsonObject,
  type KindColumns,
} from '../../src/kube/columns/index.ts'
import { parseExact } from '../../src/kube/json-exact.ts'
import { parseApiVersion, resourcePath } from '../../src/kube/group-version.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { ListSplitter } from '../../src/kube/list-splitter.ts'
import { renderTable } from '../../src/kube/table.ts'
import { listableResources, type ServedResource } from '../support/real-parts/discover.ts'
import { startControlPlane, type RealCluster } from '../support/real-parts/index.ts'
import { createTableObjects } from '../support/table-objects.ts'

interface Table {
  readonly metadata: { readonly resourceVersion: string }
  readonly columnDefinitions: readonly { name: string; type: string; format: string; priority: number }[]
  readonly rows: readonly { cells: unknown[]; conditions?: { message?: string }[]; object: JsonObject | null }[]
}

/** A pod must sign its own certificate requests; no test can make one by hand. */
const WITHOUT_OBJECTS = new Set(['PodCertificateRequest'])

const FILES = ['cluster', 'workloads', 'network', 'pods', 'devices', 'custom']

describe('tables of a real kube-apiserver', () => {
  let cluster: RealCluster
  let resources: readonly ServedResource[]

  before(async () => {
    cluster = await startControlPlane({
      name: 'tables',
      flags: ['--runtime-config=api/all=true', '--feature-gates=AllAlpha=true,AllBeta=true', '--allow-privileged'],
    })
    await createTableObjects(cluster, FILES)
    resources = await listableResources(cluster)
  })
  after(() => cluster.stop())

  it('E1: every kind has the columns and cells of a kube-apiserver', async (t) => {
    const compared = new Set<string>()
    for (const resource of resources) {
      await t.test(`${resource.apiVersion}/${resource.name}`, async () => {
        const columns = await columnsFor(cluster, resource)
        if ((await compare(cluster, resource, columns)) > 0) compared.add(resource.kind)
      })
    }
    const missing = columnKinds().filter(({ kind }) => !compared.has(kind) && !WITHOUT_OBJECTS.has(kind))
    assert.deepEqual(
      missing.map(({ kind }) => kind),
      [],
      'kinds without any object to compare',
    )
  })
})

async function columnsFor(cluster: RealCluster, resource: ServedResource): Promise<KindColumns> {
  const { group = '', version = '' } = parseApiVersion(resource.apiVersion) ?? {}
  const known = columnsOf({ group, kind: resource.kind })
  if (known !== undefined) return known
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const definition = (await cluster.ok(`${definitions}/${resource.name}.${group}`)) as JsonObject
  const columns = columnsOfDefinition(definition, version)
  assert.ok(columns !== undefined, `${resource.apiVersion} ${resource.kind} has no columns`)
  return columns
}

/** Compares all objects of one resource; returns how many there were. */
async function compare(cluster: RealCluster, resource: ServedResource, columns: KindColumns): Promise<number> {
  const path = resourcePath({ ...groupVersion(resource), resource: resource.name })
  const list = await cluster.request(path)
  const beforeMs = Date.now()
  const theirs = parseExact((await cluster.request(path, { headers: { accept: ACCEPT } })).bytes) as Table
  const afterMs = Date.now()
  const objects = itemsOf(list.bytes, resource)
  const ours = print(objects, columns, beforeMs, theirs)
  const later = secondsBetween(beforeMs, afterMs).map((nowMs) => print(objects, columns, nowMs, theirs))

  assert.deepEqual(definitions(ours), definitions(theirs))
  assert.equal(ours.rows.length, theirs.rows.length)
  const byName = new Map(theirs.rows.map((row) => [identity(row.object), row]))
  for (const [index, row] of ours.rows.entries()) {
    const name = identity(row.object)
    const their = byName.get(name)
    assert.ok(their !== undefined, name)
    // IPAddresses have more cells than columns, which no client sees.
    const expected = their.cells.slice(0, columns.columns.length)
    // An age may have passed a second while the server printed.
    const cells = expected.map((cell, at) => [...later, ours].find((t) => t.rows[index]?.cells[at] === cell) ?? ours)
    assert.deepEqual(
      cells.map((table, at) => table.rows[index]?.cells[at]),
      expected,
      name,
    )
    assert.deepEqual(withoutMessages(row.conditions), withoutMessages(their.conditions), name)
    assert.deepEqual(withoutAnnotations(row.object), withoutAnnotations(their.object), name)
  }
  return theirs.rows.length
}

const ACCEPT = 'application/json;as=Table;v=v1;g=meta.k8s.io'

function secondsBetween(fromMs: number, toMs: number): number[] {
  const between = Array.from(
    { length: Math.floor((toMs - fromMs) / 1_000) },
    (_, index) => fromMs + (index + 1) * 1_000,
  )
  return [...between, toMs]
}

function definitions({ columnDefinitions }: Table): object[] {
  return columnDefinitions.map(({ name, type, format, priority }) => ({ name, type, format, priority }))
}

function identity(object: JsonObject | null): string {
  const { namespace = '', name = '' } = (object?.['metadata'] ?? {}) as { namespace?: string; name?: string }
  return `${namespace}/${name}`
}

/** The cache adds two annotations, and an empty version where there is none. */
function withoutAnnotations(object: JsonObject | null): object {
  const metadata: Record<string, unknown> = { ...(object?.['metadata'] as object) }
  delete metadata['annotations']
  if (metadata['resourceVersion'] === '') delete metadata['resourceVersion']
  return { ...object, metadata }
}

const groupVersion = ({ apiVersion }: ServedResource) => parseApiVersion(apiVersion)!
const withoutMessages = (conditions: { message?: string }[] = []) => conditions.map(({ message: _, ...rest }) => rest)

function print(objects: readonly Uint8Array[], columns: KindColumns, nowMs: number, like: Table): Table {
  const listMeta = { resourceVersion: like.metadata.resourceVersion }
  const bytes = renderTable({
    columns,
    objects: objects.map((object) => ({ bytes: object })),
    apiVersion: 'v1',
    includeObject: 'Metadata',
    listMeta,
    nowMs,
  })
  return parseExact(bytes) as Table
}

function itemsOf(list: Uint8Array, { apiVersion, kind }: ServedResource): Uint8Array[] {
  const identity = { apiVersion, kind, cluster: 'member1' as ClusterName }
  const items: Uint8Array[] = []
  const splitter = new ListSplitter({
    maxObjectBytes: 1 << 24,
    onItem: (bytes) => items.push(canonicalize(bytes, identity).bytes),
  })
  splitter.push(list)
  splitter.end()
  return items
}

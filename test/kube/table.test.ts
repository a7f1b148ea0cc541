import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canonicalize } from '../../src/kube/canonical-object.ts'
import {
  columnsOf,
  customColumns,
  defaultColumns,
  type JsonObject,
  type KindColumns,
} from '../../src/kube/columns/index.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { renderTable, tableChunks, type TableOptions } from '../../src/kube/table.ts'

const NOW = Date.parse('2026-08-01T12:00:00Z')

interface Table {
  kind: string
  apiVersion: string
  metadata: object
  columnDefinitions: { name: string; priority: number }[] | null
  rows: { cells: unknown[]; conditions?: object[]; object: JsonObject | null }[]
}

function object(kind: string, cluster: string, body: object): { bytes: Uint8Array } {
  const identity = { apiVersion: 'v1', kind, cluster: cluster as ClusterName }
  return canonicalize(Buffer.from(JSON.stringify(body)), identity)
}

const pods = [
  object('Pod', 'member1', {
    metadata: { name: 'a', namespace: 'shop', uid: '1', resourceVersion: '7' },
    status: { phase: 'Succeeded' },
  }),
  object('Pod', 'member2', {
    metadata: { name: 'a', namespace: 'shop', uid: '2', resourceVersion: '9' },
    status: { phase: 'Running' },
  }),
]

function options(more: Partial<TableOptions> = {}): TableOptions {
  const columns = columnsOf({ group: '', kind: 'Pod' })!
  return { columns, objects: pods, apiVersion: 'v1', includeObject: 'Metadata', listMeta: {}, nowMs: NOW, ...more }
}

const render = (more: Partial<TableOptions> = {}) => JSON.parse(renderTable(options(more)).toString()) as Table

describe('tables', () => {
  it('E1: has one set of columns for the objects of all clusters', () => {
    const table = render()
    assert.equal(table.kind, 'Table')
    assert.equal(table.apiVersion, 'meta.k8s.io/v1')
    assert.equal(table.columnDefinitions?.length, 9)
    assert.deepEqual(
      table.rows.map(({ cells }) => cells.slice(0, 4)),
      [
        ['a', '0/0', 'Succeeded', '0'],
        ['a', '0/0', 'Running', '0'],
      ],
    )
  })

  it('E1: rows carry metadata with the name of the cluster', () => {
    for (const apiVersion of ['v1', 'v1beta1'] as const) {
      const [, second] = render({ apiVersion }).rows
      assert.equal(second?.object?.['kind'], 'PartialObjectMetadata')
      assert.equal(second.object['apiVersion'], `meta.k8s.io/${apiVersion}`)
      const { annotations } = second.object['metadata'] as { annotations: Record<string, string> }
      assert.equal(annotations['resource.karmada.io/cached-from-cluster'], 'member2')
      assert.equal(annotations['cluster.karmada.io/name'], 'member2')
      assert.deepEqual(Object.keys(second.object), ['kind', 'apiVersion', 'metadata'])
    }
  })

  it('carries whole objects, or none, when asked', () => {
    assert.equal(render({ includeObject: 'None' }).rows[0]?.object, null)
    assert.deepEqual(render({ includeObject: 'Object' }).rows[0]?.object?.['status'], { phase: 'Succeeded' })
  })

  it('says what kubectl needs of the list, and leaves the columns out of later watch events', () => {
    const listMeta = { resourceVersion: 'e30', continue: 'next', remainingItemCount: 3 }
    assert.deepEqual(render({ listMeta }).metadata, listMeta)
    assert.deepEqual(render().metadata, {})
    assert.equal(render({ headers: false }).columnDefinitions, null)
    assert.deepEqual(render({ objects: [] }).rows, [])
  })

  it('marks rows of pods that are over', () => {
    const [over, running] = render().rows
    assert.deepEqual(Object.keys(over?.conditions?.[0] ?? {}), ['type', 'status', 'reason', 'message'])
    assert.equal(running?.conditions, undefined)
  })

  it('takes objects that somebody has parsed already', () => {
    const parsed = { metadata: { name: 'parsed before' } }
    assert.equal(render({ objects: [{ bytes: pods[0]!.bytes, parsed }] }).rows[0]?.cells[0], 'parsed before')
  })

  it('writes integers beyond 2^53 exactly', () => {
    const columns = customColumns([{ name: 'Big', type: 'integer', jsonPath: '.spec.big' }])
    const bytes = Buffer.from('{"kind":"Widget","metadata":{"name":"w"},"spec":{"big":9007199254740993}}')
    assert.match(renderTable(options({ columns, objects: [{ bytes }] })).toString(), /"cells":\["w",9007199254740993\]/)
  })

  it('comes in pieces that are made one after the other', () => {
    let made = 0
    const many = function* (): Generator<{ bytes: Uint8Array }> {
      for (made = 0; made < 5_000; made++) yield pods[made % 2]!
    }
    const columns: KindColumns = defaultColumns
    const chunks = tableChunks(options({ objects: many(), columns }))
    const first = chunks.next().value as Buffer
    assert.ok(made < 1_000, 'the first piece did not need all objects')
    const rest = [...chunks]
    assert.ok([first, ...rest].every(({ length }) => length < 70_000))
    assert.equal((JSON.parse(Buffer.concat([first, ...rest]).toString()) as Table).rows.length, 5_000)
  })
})

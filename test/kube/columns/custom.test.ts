import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { columnsOfDefinition, customColumns, type JsonObject } from '../../../src/kube/columns/index.ts'
import { parseExact } from '../../../src/kube/json-exact.ts'
import { tableFixtureTexts } from '../../support/table-fixtures.ts'

const NOW = Date.parse('2026-08-01T12:00:00Z')

const [definition, , , ...widgets] = tableFixtureTexts('custom', NOW).map(
  (text) => parseExact(Buffer.from(text)) as JsonObject,
)

function printed(name: string): Record<string, unknown> {
  const { columns } = columnsOfDefinition(definition!, 'v1')!
  const widget = widgets.find((candidate) => (candidate['metadata'] as JsonObject)['name'] === name)!
  return Object.fromEntries(columns.map((column) => [column.name, column.cell(widget, NOW)]))
}

describe('columns of custom resources', () => {
  it('E1: prints what the definition says', () => {
    assert.deepEqual(printed('full'), {
      Name: 'full',
      Phase: 'Running',
      Size: 3,
      Ratio: 0.75,
      'Ratio Text': '0.75',
      Active: true,
      Seen: '26h',
      Ready: 'True',
      Any: String.raw`{"a":[true,"x\u003cy",null],"b":1}`,
      Tags: 'one',
      Second: 'two',
      Last: 'three',
      Slice: 'one',
      Dotted: 'team-a',
      Quoted: '3',
      Deep: 'found',
      Big: 9007199254740993n,
      More: 'q',
      Has: 'q',
      Union: 'three',
      Age: null,
    })
  })

  it('prints nothing for what is absent or of another type, as a kube-apiserver does', () => {
    const { Name, ...rest } = printed('empty')
    assert.equal(Name, 'empty')
    assert.deepEqual(new Set(Object.values(rest)), new Set([null]))
    const odd = printed('odd')
    assert.deepEqual(
      [odd['Size'], odd['Active'], odd['Seen'], odd['Second'], odd['More']],
      [null, null, '<invalid>', null, null],
    )
    assert.equal(odd['Phase'], '[1,"2",{"z":1}]')
    assert.equal(odd['Ratio Text'], '1.2345675e+06')
    assert.equal(printed('nulls')['Phase'], '<no value>')
    assert.equal(printed('numbers')['Seen'], '<invalid>')
  })

  it('tells queries types, absence and exact values', () => {
    const { columns } = columnsOfDefinition(definition!, 'v1')!
    const value = (name: string, widget: JsonObject) => columns.find((column) => column.name === name)!.value(widget)
    const [full, empty] = widgets
    assert.equal(value('Big', full!), '9007199254740993')
    assert.equal(value('Ratio', full!), '0.75')
    assert.equal(value('Seen', full!), '2026-07-31T10:00:00Z')
    assert.equal(value('Phase', empty!), undefined)
    assert.equal(columns.find((column) => column.name === 'Dotted')?.field, 'dotted')
    const types = new Map(columns.map(({ name, type }) => [name, type]))
    assert.deepEqual(
      ['Size', 'Ratio', 'Active', 'Seen', 'Any'].map((name) => types.get(name)),
      ['int', 'quantity', 'bool', 'time', 'keyword'],
    )
  })

  it('stops at the first path that cannot be read, and falls back to name and age without any', () => {
    const names = (columns: unknown[]) => customColumns(columns).columns.map(({ name }) => name)
    const good = { name: 'Good', type: 'string', jsonPath: '.a' }
    assert.deepEqual(names([good, { name: 'Bad', type: 'string', jsonPath: '.a[' }, good]), ['Name', 'Good'])
    assert.deepEqual(names([good, 'junk', good]), ['Name', 'Good'])
    assert.deepEqual(names([good, { ...good, type: 'object' }]), ['Name', 'Good'])
    assert.deepEqual(names([]), ['Name', 'Age'])
    assert.equal(columnsOfDefinition(definition!, 'v2'), undefined)
    assert.equal(columnsOfDefinition({ spec: 'junk' }, 'v1'), undefined)
  })

  it('gives columns of one name different fields', () => {
    const column = { name: 'Name', type: 'string', jsonPath: '.spec.name' }
    assert.deepEqual(
      customColumns([column, column]).columns.map(({ field }) => field),
      ['name', 'name2', 'name3'],
    )
  })
})

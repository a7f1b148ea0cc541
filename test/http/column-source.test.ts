import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColumnSource } from '../../src/http/column-source.ts'
import { defaultColumns } from '../../src/kube/columns/index.ts'

const FOOS = { group: 'example.io', version: 'v1', resource: 'foos' }

function crd(columns: readonly object[] | undefined): Buffer {
  const versions = [
    { name: 'v1beta1' },
    { name: 'v1', ...(columns === undefined ? {} : { additionalPrinterColumns: columns }) },
  ]
  return Buffer.from(JSON.stringify({ spec: { versions } }))
}

const names = async (source: ReturnType<typeof createColumnSource>, version = 'v1'): Promise<string[]> =>
  (await source.columnsFor({ ...FOOS, version }, 'Foo')).columns.map(({ name }) => name)

test('a built-in kind needs no look-up', async () => {
  const source = createColumnSource([() => assert.fail('looked up')])
  const { columns } = await source.columnsFor({ group: '', version: 'v1', resource: 'pods' }, 'Pod')
  assert.equal(columns[1]?.name, 'Ready')
  assert.equal(await source.columnsFor({ group: '', version: 'v1', resource: 'things' }, 'Thing'), defaultColumns)
})

test('a custom kind has the printer columns of its version, made anew when its definition changes', async () => {
  let key = '1'
  let declared: object[] = [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }]
  const asked: string[] = []
  const source = createColumnSource([
    () => Promise.reject(new Error('a member that does not answer')),
    () => Promise.resolve(undefined),
    (name) => {
      asked.push(name)
      return Promise.resolve({ key, bytes: crd(declared) })
    },
  ])
  assert.deepEqual(await names(source), ['Name', 'Size'])
  assert.deepEqual(asked, ['foos.example.io'])
  declared = [{ name: 'Other', type: 'string', jsonPath: '.spec.other' }]
  assert.deepEqual(await names(source), ['Name', 'Size'], 'the same key: the same definition')
  key = '2'
  assert.deepEqual(await names(source), ['Name', 'Other'])
  assert.deepEqual(await names(source, 'v1beta1'), ['Name', 'Age'], 'that version declares none')
  assert.deepEqual(await names(source, 'v9'), ['Name', 'Age'])
})

test('a definition that nobody has, or of a strange shape, is NAME and AGE', async () => {
  assert.deepEqual(await names(createColumnSource([])), ['Name', 'Age'])
  const odd = createColumnSource([() => Promise.resolve({ key: '1', bytes: Buffer.from('{"spec":{"versions":7}}') })])
  assert.deepEqual(await names(odd), ['Name', 'Age'])
})

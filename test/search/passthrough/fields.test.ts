import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapping, ROOT } from '../../../src/backendstore/search-engine/schema.ts'
import { FIELDS, matchingFields, SHOWN_FIELDS, shownMapping } from '../../../src/search/passthrough/fields.ts'

/** How a field is indexed beyond what it is. */
const DETAILS: ReadonlySet<string> = new Set(['norms', 'ignore_malformed'])

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => !DETAILS.has(name))
  return Object.fromEntries(members.map(([name, child]) => [name, plain(child)]))
}

/** Of a mapping, by the names that queries have. */
function typesOf(properties: Readonly<Record<string, Mapped>>, prefix = ''): [string, string][] {
  return Object.entries(properties).flatMap(([name, { type = '', properties: own, fields = {}, ...rest }]) => {
    const path = prefix + name
    if (own !== undefined) return typesOf(own, `${path}.`)
    if (rest.index === false || rest.enabled === false) return []
    const more = Object.entries(fields).map(([each, field]): [string, string] => [`${path}.${each}`, field.type ?? ''])
    return [[path, type] as [string, string], ...more]
  })
}

interface Mapped {
  readonly type?: string
  readonly index?: boolean
  readonly enabled?: boolean
  readonly properties?: Readonly<Record<string, Mapped>>
  readonly fields?: Readonly<Record<string, Mapped>>
}

test('the fields that the passthrough knows, and the mapping it shows, are those of the stores without ours', () => {
  for (const flat of ['flattened', 'flat_object']) {
    const { properties } = mapping({ type: flat }) as { properties: Record<string, Mapped> }
    const { [ROOT]: ours, ...legacy } = properties
    assert.ok(ours !== undefined)
    assert.deepEqual(plain(shownMapping(flat)), { properties: plain(legacy) })
    const known = [...FIELDS].map(([name, type]): [string, string] => [name, type === 'labels' ? flat : type])
    assert.deepEqual(known.toSorted(), typesOf(legacy).toSorted())
  }
})

test('a pattern is the fields that there are, none of ours, in time that is bounded', () => {
  assert.deepEqual(matchingFields('*', SHOWN_FIELDS), SHOWN_FIELDS)
  assert.deepEqual(matchingFields('metadata.*Timestamp', SHOWN_FIELDS), [
    'metadata.creationTimestamp',
    'metadata.deletionTimestamp',
  ])
  for (const none of ['fleetsearch.*', 'fleetsearch.tie', '_*', 'metadata.annotations', 'm?tadata.*']) {
    assert.deepEqual(matchingFields(none, SHOWN_FIELDS), [], none)
  }
  assert.deepEqual(matchingFields('metadata.labels.app', SHOWN_FIELDS), ['metadata.labels.app'])
  assert.deepEqual(matchingFields(`${'*a'.repeat(400)}`, SHOWN_FIELDS), [])
})

/**
 * `search/fields`: what can be asked for. Answers a FieldList: `fields` of `{name, aliases, types, kinds, operators, sort,
 * examples}` and `patterns`, the fields that have no fixed name. `?kind=Pod` tells the fields of one kind, `?prefix=re`
 * those that begin so. Kinds of custom resources are told to whoever may see an object of theirs.
 */
import { sendBody } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import type { ColumnType, KindColumns } from '../kube/columns/column.ts'
import { columnKinds, columnsOf } from '../kube/columns/index.ts'
import { aliasesOf, FIELD_PATTERNS, isIdentityField, type Field } from '../query/fields.ts'
import { columnsOfResource } from './current-fields.ts'
import { CONTENT_TYPES, headRow, row } from './row-format.ts'
import { createSearchEndpoint, tailOf, type SearchCall } from './search-call.ts'
import type { SearchParts } from './search-parts.ts'

export function createFieldsHandler(parts: SearchParts): ApiHandler {
  return createSearchEndpoint(parts, answer)
}

export interface FieldEntry {
  readonly name: string
  readonly aliases: readonly string[]
  readonly types: readonly FieldType[]
  /** Empty: whatever the kind. */
  readonly kinds: readonly string[]
  readonly operators: readonly string[]
  readonly sort: boolean
  readonly examples: readonly string[]
}

async function answer(call: SearchCall): Promise<void> {
  const kind = call.parameters.get('kind')?.toLowerCase() ?? ''
  const prefix = call.parameters.get('prefix')?.toLowerCase() ?? ''
  const all = await fieldEntries(call)
  const fields = all
    .filter(({ kinds }) => kind === '' || kinds.length === 0 || kinds.some((each) => each.toLowerCase() === kind))
    .filter(({ name, aliases }) => [name, ...aliases].some((each) => each.startsWith(prefix)))
  const headers = { 'content-type': CONTENT_TYPES[call.format], ...call.headers }
  await sendBody(call.exchange, { headers }, (body) => {
    if (call.format === 'json') {
      const head = {
        apiVersion: 'search.karmada.io/v1alpha1',
        kind: 'FieldList',
        total: fields.length,
        totalIsExact: true,
      }
      body.writeText(JSON.stringify({ ...head, fields, patterns: FIELD_PATTERNS, ...tailOf(call) }))
    } else {
      const names = ['name', 'aliases', 'types', 'kinds', 'operators', 'sort', 'examples'] as const
      body.writeText(headRow(call.format, names))
      for (const field of fields)
        body.writeText(
          row(
            call.format,
            names,
            names.map((name) => field[name]),
          ),
        )
    }
    return Promise.resolve()
  })
}

/** By name. */
export async function fieldEntries(call: Pick<SearchCall, 'parts' | 'visible' | 'fields'>): Promise<FieldEntry[]> {
  const kinds = new Map<string, Set<string>>()
  for (const { kind, columns } of await visibleKinds(call)) {
    for (const { field } of [...columns.columns, ...(columns.extra ?? [])]) {
      if (isIdentityField(field)) continue
      kinds.set(field, (kinds.get(field) ?? new Set()).add(kind))
    }
  }
  return call.fields
    .names()
    .filter((name) => kinds.has(name) || call.fields.isCommon(name))
    .flatMap((name) => {
      const field = call.fields.find(name)
      return field === undefined ? [] : [entryOf(name, field, call, kinds.get(name))]
    })
}

function entryOf(
  name: string,
  { types: all }: Field,
  { fields }: Pick<SearchCall, 'fields'>,
  kinds: ReadonlySet<string> | undefined,
): FieldEntry {
  const types = [...all]
  return {
    name,
    aliases: aliasesOf(name),
    types,
    kinds: fields.isCommon(name) ? [] : [...(kinds ?? [])].sort(),
    operators: operatorsOf(types),
    sort: true,
    examples: types.flatMap((type) => EXAMPLES[type].map((value) => name + value)),
  }
}

type FieldType = ColumnType | 'json'

const COMPARED: ReadonlySet<FieldType> = new Set(['int', 'quantity', 'time', 'duration', 'version', 'ip', 'json'])
const TEXTLESS: ReadonlySet<FieldType> = new Set(['int', 'time', 'duration'])

function operatorsOf(types: readonly FieldType[]): string[] {
  const compared = types.some((type) => COMPARED.has(type)) ? ['<', '<=', '>', '>='] : []
  return [':', '=', '!=', ...compared, ...(types.every((type) => TEXTLESS.has(type)) ? [] : ['~'])]
}

const EXAMPLES: Readonly<Record<FieldType, readonly string[]>> = {
  keyword: [':value', '~^prefix'],
  text: [':word'],
  int: ['>3'],
  quantity: ['>=1Gi'],
  time: ['<7d', '>2026-01-31'],
  duration: ['>5m'],
  version: ['>=v1.30'],
  ip: [':10.0.0.0/8', '=10.0.0.1'],
  bool: ['=true'],
  json: [':value', '>3'],
}

async function visibleKinds({
  parts,
  visible: { documents },
}: Pick<SearchCall, 'parts' | 'visible'>): Promise<{ kind: string; columns: KindColumns }[]> {
  const seen = new Set(documents?.parts.flat().map(({ group, resource }) => `${group}/${resource}`))
  const custom = parts.cache.resources().filter(({ gvr: { group, resource }, kind }) => {
    return columnsOf({ group, kind }) === undefined && (documents === undefined || seen.has(`${group}/${resource}`))
  })
  const found = await Promise.all(
    custom.map(async (reader) => ({ kind: reader.kind, columns: await columnsOfResource(parts, reader) })),
  )
  return [...columnKinds(), ...found.flatMap(({ kind, columns }) => (columns === undefined ? [] : [{ kind, columns }]))]
}

/**
 * Columns of custom resources, from the `additionalPrinterColumns` of their definition.
 * Source: apiextensions-apiserver pkg/registry/customresource/tableconvertor.
 */
import { parseJsonPath, type JsonPath } from '../json-path.ts'
import { goJson } from '../json-deep.ts'
import { goNumber } from '../json-exact.ts'
import type { Cell, Column, ColumnType, ColumnValue, JsonObject, KindColumns } from './column.ts'
import { ageColumn, fieldName, nameColumn } from './define.ts'
import { since } from './format.ts'
import { isObject, text, timeMs } from './read.ts'

/** One entry of `spec.versions[].additionalPrinterColumns`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
  readonly jsonPath: string
}

type CellType = Column['definition']['type']

const CELL_TYPES: readonly string[] = ['string', 'integer', 'number', 'boolean', 'date']

const COLUMN_TYPES: Readonly<Record<CellType, ColumnType>> = {
  string: 'keyword',
  integer: 'int',
  number: 'quantity',
  boolean: 'bool',
  date: 'time',
}

/** What a definition without columns of its own shows: Name and Age (which a kube-apiserver declares as a date). */
export const defaultColumns: KindColumns = {
  columns: [nameColumn, { ...ageColumn, definition: { ...ageColumn.definition, type: 'date' } }],
}

/**
 * Name and the columns of the definition. Entries are taken up to the first whose path cannot be read, as a
 * kube-apiserver does; entries of a wrong shape end it too. Without entries: `defaultColumns`.
 */
export function customColumns(printerColumns: readonly unknown[] | undefined): KindColumns {
  if (printerColumns === undefined || printerColumns.length === 0) return defaultColumns
  const columns: Column[] = [nameColumn]
  const taken = new Set([nameColumn.field])
  for (const entry of printerColumns) {
    const made = readColumn(entry, taken)
    if (made === undefined) break
    columns.push(made)
    taken.add(made.field)
  }
  return { columns, exactIntegers: true }
}

/** The columns of one version of a CustomResourceDefinition object; undefined where it does not have that version. */
export function columnsOfDefinition(definition: JsonObject, version: string): KindColumns | undefined {
  const versions = isObject(definition['spec']) ? definition['spec']['versions'] : undefined
  if (!Array.isArray(versions)) return undefined
  const found = versions.filter(isObject).find((candidate) => candidate['name'] === version)
  if (found === undefined) return undefined
  const columns = found['additionalPrinterColumns']
  return customColumns(Array.isArray(columns) ? columns : undefined)
}

function readColumn(entry: unknown, taken: ReadonlySet<string>): Column | undefined {
  if (!isObject(entry)) return undefined
  const path = readPath(entry)
  const type = text(entry, 'type')
  if (path === undefined || !CELL_TYPES.includes(type)) return undefined
  const cellType = type as CellType
  const name = text(entry, 'name')
  const jsonPath = text(entry, 'jsonPath')
  return {
    name,
    field: freeField(name, taken),
    type: COLUMN_TYPES[cellType],
    jsonPath,
    definition: {
      type: cellType,
      format: text(entry, 'format'),
      description: text(entry, 'description') || `${jsonPath} of the custom resource`,
      priority: typeof entry['priority'] === 'number' ? entry['priority'] : 0,
    },
    cell: (object, nowMs) => cellOf(first(path, object), cellType, nowMs),
    value: (object) => valueOf(first(path, object), cellType),
  }
}

function readPath(entry: JsonObject): JsonPath | undefined {
  const jsonPath = text(entry, 'jsonPath')
  try {
    return jsonPath === '' ? undefined : parseJsonPath(jsonPath)
  } catch {
    return undefined
  }
}

/** Two columns may have one name; queries find the second by `name2`. */
function freeField(name: string, taken: ReadonlySet<string>): string {
  const base = fieldName(name)
  let field = base
  for (let i = 2; taken.has(field); i++) field = `${base}${String(i)}`
  return field
}

/** The first result, which may be null; undefined where there is none. */
function first(path: JsonPath, object: JsonObject): unknown {
  return path.find(object)?.[0]
}

function cellOf(found: unknown, type: CellType, nowMs: number): Cell {
  if (found === undefined) return null
  switch (type) {
    case 'string':
      return printed(found)
    case 'integer':
      return typeof found === 'number' ? Math.trunc(found) : typeof found === 'bigint' ? found : null
    case 'number':
      return typeof found === 'bigint' ? Number(found) : typeof found === 'number' ? found : null
    case 'boolean':
      return typeof found === 'boolean' ? found : null
    case 'date':
      return typeof found === 'string' ? dateCell(found, nowMs) : null
  }
}

function printed(found: unknown): string {
  if (typeof found === 'string') return found
  if (typeof found === 'number') return goNumber(found)
  if (found === null) return '<no value>'
  return goJson(found)
}

const RFC3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([01][0-9]|2[0-3])(:[0-5][0-9]){2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$/

function dateCell(timestamp: string, nowMs: number): string {
  if (timestamp === '' || timestamp === 'null') return '<unknown>'
  const [, year, month, day] = RFC3339.exec(timestamp) ?? []
  if (day === undefined || !isDay(Number(year), Number(month), Number(day))) return '<invalid>'
  return since(timestamp, nowMs)
}

/** JavaScript takes the 30th of February for the 1st or 2nd of March. */
function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function valueOf(found: unknown, type: CellType): ColumnValue {
  if (type === 'date') return typeof found === 'string' && timeMs(found) !== undefined ? found : undefined
  if (found === null || found === undefined) return undefined
  const cell = cellOf(found, type, 0)
  if (cell === null) return undefined
  // Fractions are quantities to a query, and quantities are text.
  return type === 'number' || typeof cell === 'bigint' ? String(cell) : cell
}

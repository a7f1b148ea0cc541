/** Makers of columns, so that a kind's file reads as a table. */
import type { Cell, Column, ColumnType, ColumnValue, ExtraField, JsonObject } from './column.ts'
import { labelsText, selectorCell, since } from './format.ts'
import { items, optionalText, text, textEntries, timeMs } from './read.ts'

export interface ColumnOptions {
  readonly description: string
  /** Shown with `-o wide` only. */
  readonly wide?: boolean
  /** How the Table declares it; default `string`. Kubernetes declares many a number as a string. */
  readonly tableType?: Column['definition']['type']
  readonly format?: string
  /** Default: `keyword`. */
  readonly type?: ColumnType
  /** Default: the column's name in lower case without anything but letters and digits. */
  readonly field?: string
  /** Default: the cell, where it is no placeholder such as `<none>`. Give it where the cell depends on the time. */
  readonly value?: (object: JsonObject) => ColumnValue
}

const PLACEHOLDER = /^<(none|unset|unknown|error|invalid|pending)>$/

export function column(
  name: string,
  cell: (object: JsonObject, nowMs: number) => Cell,
  options: ColumnOptions,
): Column {
  const { description, wide = false, tableType = 'string', format = '', type = 'keyword' } = options
  return {
    name,
    field: options.field ?? fieldName(name),
    type,
    definition: { type: tableType, format, description, priority: wide ? 1 : 0 },
    cell,
    value: options.value ?? ((object) => valueOfCell(cell(object, 0))),
  }
}

/** A column that counts something. */
export function count(
  name: string,
  cell: (object: JsonObject) => number,
  options: Omit<ColumnOptions, 'type' | 'value'>,
): Column {
  return column(name, cell, { tableType: 'integer', ...options, type: 'int', value: cell })
}

/** The time since a timestamp; queries compare the timestamp itself. */
export function age(
  name: string,
  timestamp: (object: JsonObject) => string | undefined,
  options: Omit<ColumnOptions, 'type' | 'value'> & { readonly missing?: string },
): Column {
  const cell = (object: JsonObject, nowMs: number): string => {
    const time = timestamp(object)
    return time === undefined && options.missing !== undefined ? options.missing : since(time, nowMs)
  }
  const value = (object: JsonObject): ColumnValue => {
    const time = timestamp(object)
    return timeMs(time) === undefined ? undefined : time
  }
  return column(name, cell, { ...options, type: 'time', value })
}

export function extra(field: string, type: ColumnType, value: (object: JsonObject) => ColumnValue): ExtraField {
  return { field, type, value }
}

export const NAME_DESCRIPTION = 'Name of the object, unique among those of its kind in the namespace.'
const AGE_DESCRIPTION = 'Time since the object was created.'

export const nameColumn: Column = column('Name', (object) => text(object, 'metadata', 'name'), {
  description: NAME_DESCRIPTION,
  format: 'name',
})

export const ageColumn: Column = age('Age', (object) => optionalText(object, 'metadata', 'creationTimestamp'), {
  description: AGE_DESCRIPTION,
})

/** For the few kinds that show when they were created rather than their age. */
export const createdAtColumn: Column = column(
  'Created At',
  (object) => createdAt(text(object, 'metadata', 'creationTimestamp')),
  { description: 'When the object was created, in UTC.', tableType: 'date', type: 'time', field: 'created' },
)

/** `Containers` and `Images` of a pod template, wide; `spec` finds the pod's spec in the object. */
export function containerColumns(spec: (object: JsonObject) => unknown, wide = true): Column[] {
  const joined = (key: string) => (object: JsonObject) =>
    items(spec(object), 'containers')
      .map((container) => text(container, key))
      .join(',')
  return [
    column('Containers', joined('name'), { description: "Names of the template's containers.", wide }),
    column('Images', joined('image'), { description: "Images of the template's containers.", wide }),
  ]
}

/** A `metav1.LabelSelector`, wide. */
export function selectorColumn(selector: (object: JsonObject) => unknown): Column {
  return column('Selector', (object) => selectorCell(selector(object)), {
    description: 'Which pods belong to it.',
    wide: true,
  })
}

/** A plain map of labels that selects pods. */
export function labelMapColumn(name: string, path: readonly string[], options: ColumnOptions): Column {
  return column(name, (object) => labelsText(textEntries(object, ...path)), options)
}

/** Computes once for an object, however many columns ask. */
export function perObject<Result>(compute: (object: JsonObject) => Result): (object: JsonObject) => Result {
  let last: JsonObject | undefined
  let result: Result
  return (object) => {
    if (object !== last) {
      result = compute(object)
      last = object
    }
    return result
  }
}

export function fieldName(columnName: string): string {
  return columnName.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

function createdAt(timestamp: string): string {
  const ms = timeMs(timestamp)
  return ms === undefined ? '0001-01-01T00:00:00Z' : `${new Date(ms).toISOString().slice(0, 19)}Z`
}

function valueOfCell(cell: Cell): ColumnValue {
  if (cell === null || cell === '') return undefined
  if (typeof cell === 'bigint') return cell.toString()
  return typeof cell === 'string' && PLACEHOLDER.test(cell) ? undefined : cell
}

/**
 * A Table in pieces, so that ten thousand rows need not be made at once.
 * Source: apimachinery pkg/apis/meta/v1 (Table), apiserver pkg/endpoints/handlers/response.go (asTable).
 */
import type { Cell, JsonObject, KindColumns } from '../kube/columns/column.ts'
import type { MetaVersion } from './accept.ts'
import type { ListMetadata, TableOptions } from './object-list.ts'
import { partialObject } from './partial.ts'
import { parseObject } from './selection.ts'

export const TABLE_TAIL = Buffer.from(']}')

export interface TableHeadOptions {
  /** Of a watch, only the first Table declares its columns; default true. */
  readonly definitions?: boolean
}

/** Everything up to the opening bracket of the rows. */
export function tableHead(
  columns: KindColumns,
  version: MetaVersion,
  metadata: ListMetadata,
  { definitions = true }: TableHeadOptions = {},
): Buffer {
  const columnDefinitions = definitions
    ? columns.columns.map(({ name, definition }) => ({ name, ...definition }))
    : null
  const head = JSON.stringify({ kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata, columnDefinitions })
  return Buffer.from(`${head.slice(0, -1)},"rows":[`)
}

/** One row of a canonical object. */
export function tableRow(
  columns: KindColumns,
  bytes: Uint8Array,
  version: MetaVersion,
  { includeObject, nowMs }: TableOptions,
): Buffer {
  const object = parseObject(bytes)
  const cells = columns.columns.map((column) => cellJson(column.cell(object, nowMs))).join(',')
  const conditions = conditionsJson(columns, object)
  const start = Buffer.from(`{"cells":[${cells}]${conditions},"object":`)
  return Buffer.concat([start, rowObject(bytes, version, includeObject), Buffer.from('}')])
}

function rowObject(bytes: Uint8Array, version: MetaVersion, include: TableOptions['includeObject']): Uint8Array {
  switch (include) {
    case 'None':
      return Buffer.from('null')
    case 'Metadata':
      return partialObject(bytes, version)
    case 'Object':
      return bytes
    default:
      return include satisfies never
  }
}

function conditionsJson(columns: KindColumns, object: JsonObject): string {
  const conditions = columns.rowConditions?.(object)
  return conditions === undefined ? '' : `,"conditions":${JSON.stringify(conditions)}`
}

function cellJson(cell: Cell): string {
  return typeof cell === 'bigint' ? cell.toString() : JSON.stringify(cell)
}

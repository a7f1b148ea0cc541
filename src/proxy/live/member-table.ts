/** Tables as the members print them, of kinds whose columns only they know, put together into one. */
import { fields, isFields, textOrEmpty } from '../../fleet/fields.ts'
import { canonicalize, withResourceVersion } from '../../kube/canonical-object.ts'
import { goJson } from '../../kube/json-deep.ts'
import { parseExact } from '../../kube/json-exact.ts'
import { MalformedListError } from '../../kube/malformed-error.ts'
import type { ClusterName, ResourceVersion } from '../../kube/names.ts'
import type { TableListMeta } from '../../kube/table.ts'

export interface MemberTable {
  readonly cluster: ClusterName
  readonly version: ResourceVersion
  readonly continue: string
  readonly definitions: readonly ColumnDefinition[]
  readonly rows: readonly TableRow[]
}

interface ColumnDefinition {
  readonly name?: unknown
  readonly [key: string]: unknown
}

interface TableRow {
  readonly cells?: readonly unknown[]
  readonly object?: unknown
  readonly [key: string]: unknown
}

interface TableBody {
  readonly kind?: unknown
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
  readonly columnDefinitions?: readonly ColumnDefinition[] | null
  readonly rows?: readonly TableRow[] | null
}

/** A Table begins with its kind; a list's own kind stands first as well, or behind its items. */
const TABLE_START = /^\s*\{\s*"kind"\s*:\s*"Table"/

/** Where none was asked for, a Table is as wrong as anything else. */
export function isTable(firstChunk: Uint8Array, accept: string): boolean {
  return accept.includes('as=Table') && TABLE_START.test(Buffer.from(firstChunk.subarray(0, 64)).toString('latin1'))
}

/** Throws SyntaxError for one that is cut off, MalformedListError for one whose parts are none. */
export function parseMemberTable(bytes: Uint8Array, cluster: ClusterName): MemberTable {
  const { metadata, columnDefinitions, rows } = parseExact(bytes) as TableBody
  if (!isArrayOf(columnDefinitions ?? [], isFields)) throw malformed('its columns')
  if (!isArrayOf(rows ?? [], isRow)) throw malformed('its rows')
  return {
    cluster,
    version: (metadata?.resourceVersion ?? '') as ResourceVersion,
    continue: metadata?.continue ?? '',
    definitions: columnDefinitions ?? [],
    rows: rows ?? [],
  }
}

function isRow(row: unknown): boolean {
  if (!isFields(row)) return false
  const { cells = [], object } = row
  if (!Array.isArray(cells)) return false
  return !isFields(object) || textOrEmpty(fields(object.metadata), 'name') !== ''
}

function isArrayOf(value: unknown, isElement: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isElement)
}

function malformed(what: string): MalformedListError {
  return new MalformedListError('shape', `a Table, but ${what} are none`)
}

export interface JoinOptions {
  readonly apiVersion: 'v1' | 'v1beta1'
  readonly listMeta: TableListMeta
  /** Of a single object: what its resourceVersion becomes. */
  readonly objectVersion?: string
  /** Default true; of a watch only the first Table has them. */
  readonly headers?: boolean
  /** With CLUSTER behind the first column. Default false. */
  readonly clusterColumn?: boolean
}

const CLUSTER_DEFINITION = {
  name: 'Cluster',
  type: 'string',
  format: '',
  description: 'Cluster is the member cluster that holds the object.',
  priority: 0,
}

/** The columns are those of the first Table; cells of others are put under the same names. */
export function joinTables(
  tables: readonly MemberTable[],
  { apiVersion, listMeta, objectVersion, headers = true, clusterColumn = false }: JoinOptions,
): Buffer {
  const definitions = tables[0]?.definitions ?? []
  const head = JSON.stringify({
    kind: 'Table',
    apiVersion: `meta.k8s.io/${apiVersion}`,
    metadata: listMeta,
    columnDefinitions: headers ? (clusterColumn ? definitions.toSpliced(1, 0, CLUSTER_DEFINITION) : definitions) : null,
  })
  const shown = { definitions, objectVersion, clusterColumn }
  const rows = tables.flatMap((table) => table.rows.map((row) => rowJson(row, table, shown)))
  return Buffer.from(`${head.slice(0, -1)},"rows":[${rows.join(',')}]}`)
}

function rowJson(
  { cells = [], object, ...rest }: TableRow,
  { definitions, cluster }: MemberTable,
  shown: {
    readonly definitions: readonly ColumnDefinition[]
    readonly objectVersion: string | undefined
    readonly clusterColumn: boolean
  },
): string {
  const { definitions: wanted, objectVersion, clusterColumn } = shown
  const aligned = definitions === wanted ? cells : wanted.map(({ name }) => cells[indexOf(definitions, name)] ?? null)
  const others = Object.entries(rest).map(([key, value]) => `${JSON.stringify(key)}:${goJson(value)},`)
  const printed = clusterColumn ? aligned.toSpliced(1, 0, cluster) : aligned
  return `{"cells":${goJson(printed)},${others.join('')}"object":${objectJson(object, cluster, objectVersion)}}`
}

function indexOf(definitions: readonly ColumnDefinition[], name: unknown): number {
  return definitions.findIndex((definition) => definition.name === name)
}

function objectJson(object: unknown, cluster: ClusterName, version: string | undefined): string {
  if (typeof object !== 'object' || object === null) return 'null'
  const identity = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', cluster }
  const { bytes, meta } = canonicalize(Buffer.from(goJson(object)), identity)
  if (version === undefined) return bytes.toString('utf8')
  const { versionStart, versionEnd } = meta
  return withResourceVersion({ bytes, versionStart, versionEnd }, version).toString('utf8')
}

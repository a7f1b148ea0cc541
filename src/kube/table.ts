/**
 * Lists and objects as `meta.k8s.io` Tables, which kubectl asks for: one row for each object, its cells from the kind's
 * columns. Source: apiserver pkg/endpoints/handlers/response.go, apimachinery pkg/apis/meta/v1/types.go.
 */
import { partialObjectMetadata } from './canonical-object.ts'
import type { Cell, JsonObject, KindColumns } from './columns/index.ts'
import { parseExact } from './json-exact.ts'
import { scanObject } from './object-scanner.ts'

/** What each row carries of its object: nothing, its metadata (the default of Kubernetes), or all of it. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

export interface TableObject {
  /** Canonical JSON. */
  readonly bytes: Uint8Array
  /** Its parsed form, where somebody has it already (`parseExact` where the columns say so). */
  readonly parsed?: JsonObject
}

export interface TableListMeta {
  readonly resourceVersion?: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export interface TableOptions {
  readonly columns: KindColumns
  readonly objects: Iterable<TableObject>
  /** Of `meta.k8s.io`, for the Table and the metadata in it. */
  readonly apiVersion: 'v1' | 'v1beta1'
  readonly includeObject: IncludeObject
  /** A single object's Table has that object's resourceVersion. */
  readonly listMeta: TableListMeta
  /** Wall clock, for ages. */
  readonly nowMs: number
  /** Default true. The Tables of a watch have their columns in the first event only. */
  readonly headers?: boolean
}

/** About so many bytes are handed out at once: few enough to hold, many enough for one write. */
const CHUNK_BYTES = 64 * 1024

/** The whole Table, as JSON. */
export function renderTable(options: TableOptions): Buffer {
  return Buffer.concat([...tableChunks(options)])
}

/**
 * The same in pieces of about 64 KiB, made as they are asked for, so that a long list is never in memory twice. An object
 * that is not JSON throws SyntaxError; canonical objects always are.
 */
export function* tableChunks(options: TableOptions): Generator<Buffer, void, undefined> {
  const { columns, objects, nowMs } = options
  let pending: Buffer[] = [head(options)]
  let size = 0
  let separator = ''
  for (const object of objects) {
    for (const piece of row(columns, object, options, nowMs, separator)) {
      pending.push(piece)
      size += piece.length
    }
    separator = ','
    if (size < CHUNK_BYTES) continue
    yield Buffer.concat(pending)
    pending = []
    size = 0
  }
  pending.push(Buffer.from(']}\n'))
  yield Buffer.concat(pending)
}

function head({ columns, apiVersion, listMeta, headers = true }: TableOptions): Buffer {
  const metadata = {
    ...(listMeta.resourceVersion === undefined ? {} : { resourceVersion: listMeta.resourceVersion }),
    ...(listMeta.continue === undefined ? {} : { continue: listMeta.continue }),
    ...(listMeta.remainingItemCount === undefined ? {} : { remainingItemCount: listMeta.remainingItemCount }),
  }
  const definitions = columns.columns.map(({ name, definition: { type, format, description, priority } }) => ({
    name,
    type,
    format,
    description,
    priority,
  }))
  const json = JSON.stringify({
    kind: 'Table',
    apiVersion: `meta.k8s.io/${apiVersion}`,
    metadata,
    columnDefinitions: headers ? definitions : null,
  })
  return Buffer.from(`${json.slice(0, -1)},"rows":[`)
}

function* row(
  columns: KindColumns,
  object: TableObject,
  { includeObject, apiVersion }: TableOptions,
  nowMs: number,
  separator: string,
): Generator<Buffer, void, undefined> {
  const parsed = object.parsed ?? parse(object.bytes, columns)
  const cells = columns.columns.map((column) => cellJson(column.cell(parsed, nowMs))).join(',')
  const conditions = columns.rowConditions?.(parsed)
  const conditionsJson = conditions === undefined ? '' : `,"conditions":${JSON.stringify(conditions)}`
  yield Buffer.from(`${separator}{"cells":[${cells}]${conditionsJson},"object":`)
  yield embedded(object.bytes, includeObject, apiVersion)
  yield CLOSE
}

function parse(bytes: Uint8Array, { exactIntegers = false }: KindColumns): JsonObject {
  if (exactIntegers) return parseExact(bytes) as JsonObject
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return JSON.parse(text) as JsonObject
}

const CLOSE = Buffer.from('}')
const NULL = Buffer.from('null')

function embedded(bytes: Uint8Array, includeObject: IncludeObject, apiVersion: 'v1' | 'v1beta1'): Buffer {
  switch (includeObject) {
    case 'None':
      return NULL
    case 'Object':
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    case 'Metadata':
      return apiVersion === 'v1' ? partialObjectMetadata(bytes) : partialV1beta1(bytes)
  }
}

/** Only old clients ask for it, so it may cost a scan of the whole object. */
function partialV1beta1(bytes: Uint8Array): Buffer {
  const { metadataStart, metadataEnd } = scanObject(bytes)
  return Buffer.concat([PARTIAL_V1BETA1, bytes.subarray(metadataStart, metadataEnd), CLOSE])
}

const PARTIAL_V1BETA1 = Buffer.from('{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":')

function cellJson(cell: Cell): string {
  return typeof cell === 'bigint' ? cell.toString() : JSON.stringify(cell)
}

/** Writes lists and single objects in the representation asked for, out of canonical bytes. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { KindColumns } from '../kube/columns/column.ts'
import { badRequest } from '../kube/status-error.ts'
import type { IncludeObject, TableObject } from '../kube/table.ts'
import { renderTable, tableChunks } from '../kube/table.ts'
import type { Representation } from './accept.ts'
import type { Exchange } from './answer.ts'
import { sendBody } from './answer.ts'
import type { BodyWriter } from './body-writer.ts'
import { partialObject } from './partial.ts'
import { jsonToYaml, jsonToYamlItem } from './yaml.ts'

/** `metav1.ListMeta`; an absent field is left out. */
export interface ListMetadata {
  readonly resourceVersion?: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export interface ObjectSequence {
  readonly length: number
  /** Canonical JSON; only read. */
  bytesAt(index: number): Uint8Array
}

export interface ListAnswer {
  readonly apiVersion: string
  /** Of the items; the list's own is this and `List`. */
  readonly kind: string
  readonly metadata: ListMetadata
  readonly items: ObjectSequence
  /** Freshness and warnings. */
  readonly headers: OutgoingHttpHeaders
  /** Asked only for a Table. */
  columns(): Promise<KindColumns>
}

export interface TableOptions {
  readonly includeObject: IncludeObject
  /** Wall clock, for ages. */
  readonly nowMs: number
}

/** Throws `badRequest` for a value that a Table does not know. */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? ''
  if (value === '') return 'Metadata'
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value
  throw badRequest(
    `Unable to convert to Table as requested: unrecognized includeObject value: ${JSON.stringify(value)}`,
  )
}

const COMMA = Buffer.from(',')

export async function sendList(
  exchange: Exchange,
  answer: ListAnswer,
  representation: Representation,
  table: TableOptions,
): Promise<void> {
  const headers = { 'content-type': `application/${representation.format}`, ...answer.headers }
  const columns = representation.as === 'table' ? await answer.columns() : undefined
  await sendBody(exchange, { headers }, async (body) => {
    if (representation.as !== 'table') {
      const list = itemList(answer, representation)
      return representation.format === 'json' ? writeJson(body, answer.items, list) : writeYaml(body, answer, list)
    }
    const options = { columns: columns ?? { columns: [] }, apiVersion: representation.version, ...table }
    return writeTable(body, answer, options, representation.format)
  })
}

export interface ObjectAnswer {
  /** Canonical, with the resourceVersion that the client shall see. */
  readonly bytes: Uint8Array
  readonly resourceVersion: string
  readonly headers: OutgoingHttpHeaders
  /** Asked only for a Table. */
  columns(): Promise<KindColumns>
}

export async function sendObject(
  exchange: Exchange,
  answer: ObjectAnswer,
  representation: Representation,
  table: TableOptions,
): Promise<void> {
  const headers = { 'content-type': `application/${representation.format}`, ...answer.headers }
  const rendered = await renderObject(answer, representation, table)
  await sendBody(exchange, { headers }, (body) => {
    if (representation.format === 'json') body.write(rendered)
    else body.writeText(jsonToYaml(rendered))
    return Promise.resolve()
  })
}

async function renderObject(
  { bytes, resourceVersion, columns }: ObjectAnswer,
  representation: Representation,
  table: TableOptions,
): Promise<Uint8Array> {
  switch (representation.as) {
    case 'object':
      return bytes
    case 'partial':
      return partialObject(bytes, representation.version)
    case 'table': {
      const listMeta = { resourceVersion }
      const { version: apiVersion } = representation
      return renderTable({ columns: await columns(), objects: [{ bytes }], apiVersion, listMeta, ...table })
    }
    default:
      return representation satisfies never
  }
}

/** A list of objects: everything up to its items, and what becomes of each. */
interface ItemList {
  readonly apiVersion: string
  readonly kind: string
  readonly item: (bytes: Uint8Array) => Uint8Array
  readonly metadata: ListMetadata
}

function itemList(answer: ListAnswer, representation: Exclude<Representation, { as: 'table' }>): ItemList {
  const { metadata } = answer
  if (representation.as === 'object') {
    return { apiVersion: answer.apiVersion, kind: `${answer.kind}List`, item: (bytes) => bytes, metadata }
  }
  const { version } = representation
  const item = (bytes: Uint8Array): Uint8Array => partialObject(bytes, version)
  return { apiVersion: `meta.k8s.io/${version}`, kind: 'PartialObjectMetadataList', item, metadata }
}

async function writeJson(body: BodyWriter, items: ObjectSequence, list: ItemList): Promise<void> {
  const { apiVersion, kind, metadata, item } = list
  body.writeText(`${JSON.stringify({ apiVersion, kind, metadata }).slice(0, -1)},"items":[`)
  for (let i = 0; i < items.length; i++) {
    const bytes = items.bytesAt(i)
    const rendered = item(bytes)
    if (i > 0) body.write(COMMA)
    body.write(rendered)
    if (rendered !== bytes) body.worked(bytes.length)
    const wait = body.ready()
    if (wait !== undefined) await wait
  }
  body.writeText(']}\n')
}

/** Writing YAML takes about thirty times as long as parsing JSON of that size. */
const YAML_COST = 30

/** Keys in the order of the alphabet, as everywhere in YAML: apiVersion, items, kind, metadata. */
async function writeYaml(body: BodyWriter, { items }: ListAnswer, list: ItemList): Promise<void> {
  const { apiVersion, kind, metadata, item } = list
  body.writeText(jsonToYaml(Buffer.from(JSON.stringify({ apiVersion }))))
  body.writeText(items.length === 0 ? 'items: []\n' : 'items:\n')
  for (let i = 0; i < items.length; i++) {
    const bytes = items.bytesAt(i)
    body.writeText(jsonToYamlItem(item(bytes)))
    body.worked(bytes.length * YAML_COST)
    const wait = body.ready()
    if (wait !== undefined) await wait
  }
  body.writeText(jsonToYaml(Buffer.from(JSON.stringify({ kind, metadata }))))
}

async function writeTable(
  body: BodyWriter,
  { items, metadata }: ListAnswer,
  options: Omit<Parameters<typeof tableChunks>[0], 'objects' | 'listMeta'>,
  format: Representation['format'],
): Promise<void> {
  const whole: Buffer[] = []
  for (const chunk of tableChunks({ ...options, objects: eachObject(items, body), listMeta: metadata })) {
    if (format === 'json') body.write(chunk)
    else whole.push(chunk)
    const wait = body.ready()
    if (wait !== undefined) await wait
  }
  if (format === 'yaml') body.writeText(jsonToYaml(Buffer.concat(whole)))
}

function* eachObject(items: ObjectSequence, body: BodyWriter): Generator<TableObject, void, undefined> {
  for (let i = 0; i < items.length; i++) {
    const bytes = items.bytesAt(i)
    body.worked(bytes.length)
    yield { bytes }
  }
}

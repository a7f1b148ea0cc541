/** Writes lists and single objects in the representation asked for, out of canonical bytes. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { KindColumns } from '../kube/columns/column.ts'
import { badRequest } from '../kube/status-error.ts'
import type { Representation } from './accept.ts'
import type { Exchange } from './answer.ts'
import { sendBody } from './answer.ts'
import type { BodyWriter } from './body-writer.ts'
import { partialObject } from './partial.ts'
import { tableHead, tableRow, TABLE_TAIL } from './table.ts'
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

/** `None` leaves the objects out of a Table's rows, `Metadata` (the default) and `Object` say how much of them is in it. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

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

/** How a piece of JSON becomes one of the representation's. */
type Item = (bytes: Uint8Array) => Uint8Array

const COMMA = Buffer.from(',')

export async function sendList(
  exchange: Exchange,
  answer: ListAnswer,
  representation: Representation,
  table: TableOptions,
): Promise<void> {
  const headers = { 'content-type': `application/${representation.format}`, ...answer.headers }
  const parts = await listParts(answer, representation, table)
  await sendBody(exchange, { headers }, async (body) => {
    if (representation.format === 'json') return writeJson(body, answer.items, parts)
    if (representation.as === 'table') return body.writeText(jsonToYaml(wholeJson(answer.items, parts)))
    return writeYaml(body, answer.items, parts)
  })
}

/** Writes one object. `bytes` are canonical, with the resourceVersion that the client shall see. */
export async function sendObject(
  exchange: Exchange,
  bytes: Uint8Array,
  representation: Representation,
  table: TableOptions & { readonly columns: () => Promise<KindColumns>; readonly resourceVersion: string },
  headers: OutgoingHttpHeaders,
): Promise<void> {
  const rendered = await renderObject(bytes, representation, table)
  await sendBody(
    exchange,
    { headers: { 'content-type': `application/${representation.format}`, ...headers } },
    (body) => {
      if (representation.format === 'json') body.write(rendered)
      else body.writeText(jsonToYaml(rendered))
      return Promise.resolve()
    },
  )
}

async function renderObject(
  bytes: Uint8Array,
  representation: Representation,
  table: TableOptions & { readonly columns: () => Promise<KindColumns>; readonly resourceVersion: string },
): Promise<Uint8Array> {
  switch (representation.as) {
    case 'object':
      return bytes
    case 'partial':
      return partialObject(bytes, representation.version)
    case 'table': {
      const columns = await table.columns()
      const head = tableHead(columns, representation.version, { resourceVersion: table.resourceVersion })
      return Buffer.concat([head, tableRow(columns, bytes, representation.version, table), TABLE_TAIL])
    }
    default:
      return representation satisfies never
  }
}

interface ListParts {
  readonly head: Uint8Array
  readonly item: Item
  readonly tail: Uint8Array
}

async function listParts(answer: ListAnswer, representation: Representation, table: TableOptions): Promise<ListParts> {
  switch (representation.as) {
    case 'object':
      return itemList(answer.apiVersion, `${answer.kind}List`, answer.metadata, (bytes) => bytes)
    case 'partial': {
      const { version } = representation
      return itemList(`meta.k8s.io/${version}`, 'PartialObjectMetadataList', answer.metadata, (bytes) =>
        partialObject(bytes, version),
      )
    }
    case 'table': {
      const columns = await answer.columns()
      const { version } = representation
      return {
        head: tableHead(columns, version, answer.metadata),
        item: (bytes) => tableRow(columns, bytes, version, table),
        tail: TABLE_TAIL,
      }
    }
    default:
      return representation satisfies never
  }
}

function itemList(apiVersion: string, kind: string, metadata: ListMetadata, item: Item): ListParts {
  const head = JSON.stringify({ apiVersion, kind, metadata })
  return { head: Buffer.from(`${head.slice(0, -1)},"items":[`), item, tail: Buffer.from(']}') }
}

async function writeJson(body: BodyWriter, items: ObjectSequence, { head, item, tail }: ListParts): Promise<void> {
  body.write(head)
  for (let i = 0; i < items.length; i++) {
    const bytes = items.bytesAt(i)
    const rendered = item(bytes)
    if (i > 0) body.write(COMMA)
    body.write(rendered)
    if (rendered !== bytes) body.worked(bytes.length)
    const wait = body.ready()
    if (wait !== undefined) await wait
  }
  body.write(tail)
}

/** Keys in the order of the alphabet, as everywhere in YAML: apiVersion, items, kind, metadata. */
async function writeYaml(body: BodyWriter, items: ObjectSequence, { head, item, tail }: ListParts): Promise<void> {
  const empty = JSON.parse(Buffer.concat([head, tail]).toString('utf8')) as Record<string, unknown>
  const { apiVersion, kind, metadata } = empty
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

/** Writing YAML takes about thirty times as long as parsing JSON of that size. */
const YAML_COST = 30

function wholeJson(items: ObjectSequence, { head, item, tail }: ListParts): Buffer {
  const pieces: Uint8Array[] = [head]
  for (let i = 0; i < items.length; i++) {
    if (i > 0) pieces.push(COMMA)
    pieces.push(item(items.bytesAt(i)))
  }
  return Buffer.concat([...pieces, tail])
}

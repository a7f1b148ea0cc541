/** How an answer shows its objects: whole, as rows of a Table, or their metadata alone. */
import { negotiate, type AnswerShape, type Representation } from '../../http/accept.ts'
import { partialObject } from '../../http/partial.ts'
import type { KindColumns } from '../../kube/columns/column.ts'
import { columnsOf, columnsOfDefinition, defaultColumns } from '../../kube/columns/index.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import { renderTable, tableChunks, type IncludeObject, type TableListMeta } from '../../kube/table.ts'
import type { ObjectStore } from './object-store.ts'
import type { ResourceType } from './resource-type.ts'
import type { StoredObject } from './stored-object.ts'

export interface FaceOptions {
  readonly store: ObjectStore
  readonly type: ResourceType
  readonly accept: string | undefined
  readonly query: URLSearchParams
  readonly shape: AnswerShape
  readonly nowMs: () => number
}

export class Face {
  readonly #options: FaceOptions
  readonly #representation: Representation
  readonly #include: IncludeObject
  readonly #columns: KindColumns
  #tables = 0

  /** Throws 406 where nothing that is accepted is spoken here, 400 for an unknown `includeObject`. */
  constructor(options: FaceOptions) {
    this.#options = options
    this.#representation = negotiate(options.accept, options.shape)
    if (this.#representation.format === 'yaml') throw new StatusError('notAcceptable', 'only JSON is spoken here')
    this.#include = includeOf(options.query)
    this.#columns = columnsFor(options.store, options.type)
  }

  /** One object: the answer to a GET, or the object of a watch event. */
  object(object: StoredObject): string {
    return this.#one(object.document(this.#options.type), String(object.version))
  }

  /** A bookmark: an object with nothing but a version and perhaps annotations. */
  bookmark(metadata: { readonly resourceVersion: string }): string {
    const { type } = this.#options
    const object = { kind: type.kind, apiVersion: apiVersionOf(type), metadata }
    return this.#one(JSON.stringify(object), metadata.resourceVersion)
  }

  /** A list, in pieces. */
  list(objects: readonly StoredObject[], metadata: TableListMeta): Iterable<string> {
    switch (this.#representation.as) {
      case 'object':
        return plainList(this.#options.type, objects, metadata)
      case 'partial':
        return partialList(this.#options.type, objects, metadata, this.#representation.version)
      case 'table':
        return this.#tableList(objects, metadata, this.#representation.version)
      default:
        return this.#representation satisfies never
    }
  }

  #one(document: string, resourceVersion: string): string {
    const bytes = Buffer.from(document)
    switch (this.#representation.as) {
      case 'object':
        return document
      case 'partial':
        return Buffer.from(partialObject(bytes, this.#representation.version)).toString()
      case 'table':
        return renderTable({
          columns: this.#columns,
          objects: [{ bytes }],
          apiVersion: this.#representation.version,
          includeObject: this.#include,
          listMeta: { resourceVersion },
          nowMs: this.#options.nowMs(),
          headers: this.#tables++ === 0,
        })
          .toString()
          .trimEnd()
      default:
        return this.#representation satisfies never
    }
  }

  *#tableList(
    objects: readonly StoredObject[],
    listMeta: TableListMeta,
    apiVersion: 'v1' | 'v1beta1',
  ): Generator<string> {
    const { type } = this.#options
    const rows = objects.map((object) => ({ bytes: Buffer.from(object.document(type)) }))
    const options = { columns: this.#columns, objects: rows, apiVersion, includeObject: this.#include, listMeta }
    for (const chunk of tableChunks({ ...options, nowMs: this.#options.nowMs() })) yield chunk.toString()
  }
}

function* plainList(type: ResourceType, objects: readonly StoredObject[], listMeta: TableListMeta): Generator<string> {
  const kind = `"kind":${JSON.stringify(`${type.kind}List`)}`
  const apiVersion = `"apiVersion":${JSON.stringify(apiVersionOf(type))}`
  const metadata = `"metadata":${JSON.stringify(listMeta)}`
  // Lists of custom resources have their keys in alphabetical order, so the items come before the metadata.
  yield type.custom === true ? `{${apiVersion},"items":[` : `{${kind},${apiVersion},${metadata},"items":[`
  for (const [index, object] of objects.entries()) yield `${index === 0 ? '' : ','}${object.item(type)}`
  yield type.custom === true ? `],${kind},${metadata}}\n` : ']}\n'
}

function* partialList(
  type: ResourceType,
  objects: readonly StoredObject[],
  metadata: TableListMeta,
  version: 'v1' | 'v1beta1',
): Generator<string> {
  const head = { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata }
  yield `${JSON.stringify(head).slice(0, -1)},"items":[`
  for (const [index, object] of objects.entries()) {
    const bytes = partialObject(Buffer.from(object.document(type)), version)
    yield `${index === 0 ? '' : ','}${Buffer.from(bytes).toString()}`
  }
  yield ']}\n'
}

function includeOf(query: URLSearchParams): IncludeObject {
  const asked = query.get('includeObject') ?? ''
  if (asked === '') return 'Metadata'
  if (asked === 'None' || asked === 'Metadata' || asked === 'Object') return asked
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(asked)}`)
}

/** Built in, or what the kind's CustomResourceDefinition declares, or name and age. */
function columnsFor(store: ObjectStore, type: ResourceType): KindColumns {
  const builtin = columnsOf(type)
  if (builtin !== undefined) return builtin
  const definitions = store.typeOfKind('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
  const found = definitions === undefined ? undefined : store.get(definitions, '', `${type.resource}.${type.group}`)
  return (found === undefined ? undefined : columnsOfDefinition(found.value, type.version)) ?? defaultColumns
}

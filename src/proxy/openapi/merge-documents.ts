/**
 * OpenAPI documents of several clusters as one: everything that any of them describes. Under a name that several have, the
 * first cluster's entry counts, as in discovery.
 */
import { readEntries, readFields, textOf, writeField } from '../../kube/protobuf.ts'

type Json = Readonly<Record<string, unknown>>

/** `first` with the paths and schemas that only later documents have. OpenAPI 2 (`definitions`) or 3 (`components`). */
export function mergeOpenApi(documents: readonly Json[]): Json {
  const [first = {}] = documents
  const components = documents.map((document) => objectOf(document['components']))
  return {
    ...first,
    paths: firstOfEach(documents.map((document) => objectOf(document['paths']))),
    ...(first['definitions'] === undefined
      ? {}
      : { definitions: firstOfEach(documents.map((document) => objectOf(document['definitions']))) }),
    ...(first['components'] === undefined
      ? {}
      : { components: { ...components[0], schemas: firstOfEach(components.map(({ schemas }) => objectOf(schemas))) } }),
  }
}

/** Every key of any of them, with the first one's value; in the order in which they come. */
export function firstOfEach(objects: readonly Json[]): Json {
  const merged = new Map<string, unknown>()
  for (const object of objects) {
    for (const [key, value] of Object.entries(object)) if (!merged.has(key)) merged.set(key, value)
  }
  return Object.fromEntries(merged)
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

/** Numbers of `openapi.v2.Document`. Source: gnostic-models openapiv2/OpenAPIv2.proto. */
const PATHS = { field: 8, entry: 2 }
const DEFINITIONS = { field: 9, entry: 1 }

/**
 * The same of OpenAPI 2 in protobuf. Messages that stand behind each other are merged by whoever reads them, so the first
 * stays as it is and the entries that only others have are put behind it. Undefined where one of them is no message.
 */
export function mergeOpenApiProtobuf(documents: readonly Buffer[]): Buffer | undefined {
  const [first, ...others] = documents
  if (first === undefined) return undefined
  const parts = [first]
  for (const map of [PATHS, DEFINITIONS]) {
    const known = new Set(entriesOf(first, map)?.map(({ name }) => name))
    for (const document of others) {
      const entries = entriesOf(document, map)
      if (entries === undefined) return undefined
      const added = entries.filter(({ name }) => !known.has(name))
      for (const { name } of added) known.add(name)
      const fields = added.map(({ bytes }) => writeField(map.entry, bytes))
      if (fields.length > 0) parts.push(writeField(map.field, Buffer.concat(fields)))
    }
  }
  return Buffer.concat(parts)
}

interface Entry {
  readonly name: string
  readonly bytes: Buffer
}

function entriesOf(document: Buffer, { field, entry }: typeof PATHS): Entry[] | undefined {
  const maps = readEntries(document, field)
  const entries = maps?.flatMap((map) => readEntries(map, entry) ?? [])
  return entries?.map((bytes) => ({ name: textOf(readFields(bytes) ?? new Map<number, Buffer[]>(), 1), bytes }))
}

/**
 * OpenAPI 3 documents of a demo API server: schemas of built-in kinds from the models of the Kubernetes client, those of
 * custom resources from their CustomResourceDefinitions. Structure without descriptions (the models carry none at run
 * time), verbs reduced to `get`: what `kubectl explain` walks.
 */
import * as models from '@kubernetes/client-node'
import type { GroupVersion } from '../../kube/group-version.ts'
import { groupVersionPath } from '../../kube/group-version.ts'
import type { JsonObject } from '../../kube/columns/column.ts'
import type { ObjectStore } from './object-store.ts'
import type { ResourceType } from './resource-type.ts'

interface Attribute {
  readonly baseName: string
  readonly type: string
  readonly format: string
}

type Schemas = Record<string, JsonObject>

export function openApiDocument(store: ObjectStore, gv: GroupVersion): JsonObject {
  const types = store.types().filter((type) => type.group === gv.group && type.version === gv.version)
  const schemas: Schemas = {}
  for (const type of types) addKind(schemas, store, type)
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths: Object.fromEntries(types.map((type) => [collectionPath(type), { get: operation(type) }])),
    components: { schemas },
  }
}

/** The documents of all groups and versions as one of OpenAPI 2. */
export function openApiV2Document(store: ObjectStore): JsonObject {
  const versions = new Map(store.types().map(({ group, version }) => [`${group}/${version}`, { group, version }]))
  const documents = [...versions.values()].map((gv) => openApiDocument(store, gv))
  const schemas = documents.map(({ components }) => (components as { schemas: Schemas }).schemas)
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths: Object.assign({}, ...documents.map(({ paths }) => paths as object)) as JsonObject,
    definitions: asV2(Object.assign({}, ...schemas) as JsonObject) as JsonObject,
  }
}

/** References have another place, and stand alone; what may be a number or a text is a format. */
function asV2(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asV2)
  if (typeof value !== 'object' || value === null) return value
  const { allOf, oneOf, ...rest } = value as JsonObject
  if (Array.isArray(allOf) && allOf.length === 1) return asV2({ ...(allOf[0] as JsonObject), ...rest })
  if (oneOf !== undefined) return { type: 'string', format: 'int-or-string', ...rest }
  return Object.fromEntries(
    Object.entries(rest).map(([key, each]) => [
      key,
      key === '$ref' ? String(each).replace('#/components/schemas/', '#/definitions/') : asV2(each),
    ]),
  )
}

function collectionPath(type: ResourceType): string {
  return `${groupVersionPath(type)}${type.namespaced ? '/namespaces/{namespace}' : ''}/${type.resource}`
}

function operation(type: ResourceType): JsonObject {
  return {
    description: `list objects of kind ${type.kind}`,
    operationId: `list${type.kind}`,
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': 'list',
    'x-kubernetes-group-version-kind': kindOf(type),
  }
}

function kindOf({ group, version, kind }: ResourceType): JsonObject {
  return { group, version, kind }
}

function addKind(schemas: Schemas, store: ObjectStore, type: ResourceType): void {
  const marks = { 'x-kubernetes-group-version-kind': [kindOf(type)] }
  if (type.custom === true) {
    addModel(schemas, 'V1ObjectMeta')
    const { properties, ...rest } = customSchema(store, type)
    const metadata = reference('V1ObjectMeta')
    schemas[`${type.group}.${type.version}.${type.kind}`] = {
      type: 'object',
      ...rest,
      properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...(properties as object), metadata },
      ...marks,
    }
    return
  }
  const name = modelName(type)
  if (name === undefined) return
  addModel(schemas, name)
  schemas[name] = { ...schemas[name], ...marks }
}

/** The schema its CustomResourceDefinition gives for this version. */
function customSchema(store: ObjectStore, type: ResourceType): JsonObject {
  const definitions = store.typeOfKind('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
  if (definitions === undefined) return {}
  const spec = store.get(definitions, '', `${type.resource}.${type.group}`)?.value['spec'] as
    { versions?: { name: string; schema?: { openAPIV3Schema?: JsonObject } }[] } | undefined
  return spec?.versions?.find((version) => version.name === type.version)?.schema?.openAPIV3Schema ?? {}
}

/** Models are named `V1Pod`, where two groups share a kind `CoreV1Event`. */
function modelName({ version, kind, group }: ResourceType): string | undefined {
  const plain = `${capital(version)}${kind}`
  const prefixed = `${group === '' ? 'Core' : capital(group.split('.')[0] ?? '')}${plain}`
  return [plain, prefixed].find((name) => attributesOf(name) !== undefined)
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

function attributesOf(model: string): readonly Attribute[] | undefined {
  const found = (models as unknown as Record<string, { getAttributeTypeMap?: () => readonly Attribute[] }>)[model]
  return found?.getAttributeTypeMap?.()
}

/** Adds a model and every model it refers to. */
function addModel(schemas: Schemas, name: string): void {
  const attributes = attributesOf(name)
  if (attributes === undefined || schemas[name] !== undefined) return
  const properties: Record<string, JsonObject> = {}
  schemas[name] = { type: 'object', properties }
  for (const { baseName, type, format } of attributes) properties[baseName] = schemaOf(schemas, type, format)
}

function reference(name: string): JsonObject {
  return { allOf: [{ $ref: `#/components/schemas/${name}` }] }
}

const PRIMITIVES = new Map<string, JsonObject>([
  ['string', { type: 'string' }],
  ['boolean', { type: 'boolean' }],
  ['Date', { type: 'string', format: 'date-time' }],
  ['V1MicroTime', { type: 'string', format: 'date-time' }],
  ['IntOrString', { oneOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true }],
  ['any', { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }],
])

/** A model's attribute type, such as `Array<V1Container>`, `{ [key: string]: string; }` or `number`, as a schema. */
function schemaOf(schemas: Schemas, type: string, format: string): JsonObject {
  const list = /^(?:Array|Set)<(.*)>$/.exec(type)?.[1]
  if (list !== undefined) return { type: 'array', items: schemaOf(schemas, list, format) }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1]
  if (map !== undefined) return { type: 'object', additionalProperties: schemaOf(schemas, map, format) }
  if (type === 'number') return { type: format.startsWith('int') ? 'integer' : 'number', format }
  const primitive = PRIMITIVES.get(type)
  if (primitive !== undefined) return primitive
  addModel(schemas, type)
  return schemas[type] === undefined ? { type: 'object' } : reference(type)
}

/** What an OpenAPI document says, apart from how its version writes it: v2.ts and v3.ts render the same model. */
import { SEARCH_GROUP, SEARCH_VERSION } from '../../api/resource-registry.ts'

export type Scalar = 'string' | 'boolean' | 'int32' | 'int64' | 'object'

export type Type = Scalar | Ref | ListType | { readonly map: Type }

export interface Ref {
  /** Name of a definition. */
  readonly ref: string
}

export interface ListType {
  readonly list: Type
  /** Who may own what of it: all of it, each value, or each item, told apart by a key. Absent: not said. */
  readonly owned?: 'atomic' | 'set' | { readonly key: string }
}

export interface Property {
  readonly type: Type
  readonly text: string
  /** Must be there. */
  readonly required?: true
  /** What stands for it where it is left out: the zero value of its type. */
  readonly zero?: true
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export interface Definition {
  readonly text: string
  /** Absent: a scalar, or an object of any fields. */
  readonly properties?: Readonly<Record<string, Property>>
  /** Where it has no properties; default `object`. */
  readonly scalar?: 'string'
  readonly format?: string
  /** The kinds that it is the schema of. */
  readonly kinds?: readonly GroupVersionKind[]
  /** One owner has all of it. */
  readonly atomic?: boolean
}

export type Definitions = Readonly<Record<string, Definition>>

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'path'
  readonly type: 'string' | 'integer' | 'boolean'
  readonly text: string
}

export type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch'

export interface Operation {
  readonly id: string
  readonly text: string
  readonly tag: string
  readonly parameters?: readonly Parameter[]
  /** Name of the definition of what is sent. */
  readonly body?: { readonly ref: string; readonly types: readonly string[]; readonly required: boolean }
  /** Statuses of success. */
  readonly answers: readonly (200 | 201 | 202)[]
  /** Name of the definition of what is answered; undefined: anything. */
  readonly answer: string | undefined
  readonly produces: readonly string[]
  readonly action?: string
  readonly kind?: GroupVersionKind
}

export interface PathItem {
  readonly parameters: readonly Parameter[]
  readonly operations: Partial<Readonly<Record<Method, Operation>>>
}

export type Paths = Readonly<Record<string, PathItem>>

/** All paths as a document has them, when what they are made of has been written as its version writes it. */
export function renderPaths(
  paths: Paths,
  operationOf: (operation: Operation) => object,
  parameterOf: (parameter: Parameter) => object,
): object {
  return Object.fromEntries(
    Object.entries(paths).map(([path, { operations, parameters }]) => [
      path,
      {
        ...Object.fromEntries(Object.entries(operations).map(([method, each]) => [method, operationOf(each)])),
        ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameterOf) }),
      },
    ]),
  )
}

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1'

export const meta = (name: string): Ref => ({ ref: `${META}.${name}` })

/** A kind of our own group. */
export const ownKind = (kind: string): GroupVersionKind => ({ group: SEARCH_GROUP, version: SEARCH_VERSION, kind })

export const metaKind = (kind: string): GroupVersionKind => ({ group: '', version: 'v1', kind })

export const INFO = { title: 'Fleetsearch', version: SEARCH_VERSION }

export const BEARER_TOKEN = {
  type: 'apiKey',
  description: 'A bearer token',
  name: 'authorization',
  in: 'header',
}

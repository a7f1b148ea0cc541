/** Definitions as JSON schemas, in the dialect of each version. */
import type { Definition, Definitions, Property, Ref, Scalar, Type } from './model.ts'

export interface Dialect {
  /** Where definitions are, e.g. `#/definitions/`. */
  readonly prefix: string
  /** A reference stands in `allOf`, beside what is said of it; and zero values are given. Else: bare, without. */
  readonly detailed: boolean
}

type Json = Readonly<Record<string, unknown>>

export function schemasOf(definitions: Definitions, dialect: Dialect): Record<string, Json> {
  const names = Object.keys(definitions).toSorted()
  return Object.fromEntries(names.map((name) => [name, schemaOf(definitions[name] as Definition, dialect)]))
}

export function refTo(name: string, { prefix }: Dialect): Json {
  return { $ref: `${prefix}${name}` }
}

function schemaOf({ text, properties, scalar, format, kinds, atomic }: Definition, dialect: Dialect): Json {
  const fields = Object.entries(properties ?? {})
  const required = fields.filter(([, property]) => property.required === true).map(([name]) => name)
  return {
    description: text,
    type: scalar ?? 'object',
    ...(format === undefined ? {} : { format }),
    ...(required.length === 0 ? {} : { required }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(fields.map(([name, property]) => [name, propertyOf(property, dialect)])) }),
    ...(kinds === undefined ? {} : { 'x-kubernetes-group-version-kind': kinds }),
    ...(atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  }
}

function propertyOf({ type, text, zero }: Property, dialect: Dialect): Json {
  return { description: text, ...typeOf(type, dialect, zero === true) }
}

function typeOf(type: Type, dialect: Dialect, zero: boolean): Json {
  if (typeof type === 'string') return { ...scalarOf(type), ...(zero ? zeroOf(type, dialect) : {}) }
  if ('ref' in type) return referenceOf(type, dialect, zero)
  if ('map' in type) return { type: 'object', additionalProperties: typeOf(type.map, dialect, true) }
  return { type: 'array', items: typeOf(type.list, dialect, true), ...ownership(type.owned) }
}

function referenceOf({ ref }: Ref, dialect: Dialect, zero: boolean): Json {
  if (!dialect.detailed) return refTo(ref, dialect)
  return { ...(zero ? { default: {} } : {}), allOf: [refTo(ref, dialect)] }
}

function scalarOf(type: Scalar): Json {
  return type === 'int32' || type === 'int64' ? { type: 'integer', format: type } : { type }
}

function zeroOf(type: Scalar, { detailed }: Dialect): Json {
  if (!detailed || type === 'object') return {}
  return { default: type === 'string' ? '' : type === 'boolean' ? false : 0 }
}

function ownership(owned: 'atomic' | 'set' | { readonly key: string } | undefined): Json {
  if (owned === undefined) return {}
  if (owned === 'atomic') return { 'x-kubernetes-list-type': 'atomic' }
  if (owned === 'set') return { 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' }
  return {
    'x-kubernetes-list-map-keys': [owned.key],
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-patch-merge-key': owned.key,
    'x-kubernetes-patch-strategy': 'merge',
  }
}

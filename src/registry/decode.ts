/**
 * From a request's body to a ResourceRegistry: fields of the wrong type are refused, unknown ones dropped and named.
 * Absent and null are the same, as in Go. What the values mean is checked later (validation.ts).
 */
import { SEARCH_GROUP_VERSION, SEARCH_VERSION, type ResourceRegistry } from '../api/resource-registry.ts'
import { isPossibleTime } from '../kube/calendar.ts'
import { badRequest } from '../kube/status-error.ts'
import { MANAGED_FIELDS, REGISTRY, type Fields, type Shape } from './schema.ts'

const KIND = 'ResourceRegistry'

export interface DecodedRegistry {
  /** Complete: what the types call required is there, empty where the body lacks it. */
  readonly registry: ResourceRegistry
  /** Paths of fields nobody knows (`spec.targetClusters`), in the order of the body; they were dropped. */
  readonly unknownFields: readonly string[]
}

/** Throws `badRequest` for a value that is no ResourceRegistry of this version. */
export function decodeRegistry(body: unknown): DecodedRegistry {
  const unknownFields: string[] = []
  const decoded = decode(body, REGISTRY, '', unknownFields) as ResourceRegistry | undefined
  if (decoded === undefined) throw cannotDecode('the body is empty')
  // Go's decoder takes an object without kind and apiVersion for what its path says it is.
  const { apiVersion = SEARCH_GROUP_VERSION, kind = KIND } = decoded as { apiVersion?: string; kind?: string }
  if (apiVersion !== SEARCH_GROUP_VERSION || kind !== KIND) {
    throw badRequest(
      `the object (${apiVersion}, Kind=${kind}) does not match the expected type (${SEARCH_GROUP_VERSION}, Kind=${KIND})`,
    )
  }
  const { metadata, spec, status = {} } = decoded
  return { registry: { kind: KIND, apiVersion: SEARCH_GROUP_VERSION, metadata, spec, status }, unknownFields }
}

/** A stored value; unknown fields of another version are dropped. */
export function decodeStored(json: string): ResourceRegistry {
  return decodeRegistry(JSON.parse(json)).registry
}

/** Undefined for null and absent. */
function decode(value: unknown, shape: Shape, path: string, unknown: string[]): unknown {
  if (value === null || value === undefined) return undefined
  if (typeof shape === 'string') return scalar(value, shape, path)
  if ('list' in shape) {
    if (!Array.isArray(value)) throw wrongType(path, 'a list', value)
    return value.map((item, i) => decode(item, shape.list, `${path}[${i}]`, unknown) ?? zero(shape.list))
  }
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(path, 'an object', value)
  return 'map' in shape ? decodeMap(value, shape.map, path, unknown) : decodeFields(value, shape, path, unknown)
}

function decodeMap(value: object, shape: Shape, path: string, unknown: string[]): Record<string, unknown> {
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    decode(item, shape, `${path}[${key}]`, unknown) ?? zero(shape),
  ])
  return Object.fromEntries(entries) as Record<string, unknown>
}

function decodeFields(
  value: object,
  { fields, always = [] }: Fields,
  path: string,
  unknown: string[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    const field = path === '' ? key : `${path}.${key}`
    const shape = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (shape === undefined) {
      unknown.push(field)
      continue
    }
    const decoded = decode(item, shape, field, unknown)
    if (decoded !== undefined && !isOmitted(decoded, shape)) result[key] = decoded
  }
  for (const key of always) result[key] ??= zero(fields[key] ?? 'any')
  return result
}

/** Empty, as Go leaves such fields out of what it writes (omitempty); those that are always there come back with zero. */
function isOmitted(value: unknown, shape: Shape): boolean {
  if (shape === 'string' || shape === 'time') return value === ''
  if (typeof shape === 'string' || 'fields' in shape) return false
  // Empty managed fields ask for all owners to be forgotten.
  return shape !== MANAGED_FIELDS && Object.keys(value as object).length === 0
}

function scalar(value: unknown, shape: Shape & string, path: string): unknown {
  switch (shape) {
    case 'any':
      return value
    case 'string':
      if (typeof value !== 'string') throw wrongType(path, 'a string', value)
      return value
    case 'boolean':
      if (typeof value !== 'boolean') throw wrongType(path, 'true or false', value)
      return value
    case 'integer':
      if (!Number.isSafeInteger(value)) throw wrongType(path, 'an integer', value)
      return value
    case 'time':
      if (typeof value !== 'string' || !(value === '' || isTime(value)))
        throw wrongType(path, 'an RFC 3339 time', value)
      return value
  }
}

/** Go's zero value, for null inside a list or map and for fields that are always there. */
function zero(shape: Shape): unknown {
  if (typeof shape === 'string') return shape === 'string' || shape === 'time' ? '' : null
  if ('list' in shape) return []
  return 'map' in shape ? {} : decodeFields({}, shape, '', [])
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

function isTime(text: string): boolean {
  return RFC3339.test(text) && isPossibleTime(text) && !Number.isNaN(Date.parse(text))
}

function wrongType(path: string, expected: string, value: unknown): Error {
  const got = Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : JSON.stringify(value)
  return cannotDecode(`${path === '' ? 'the body' : path} must be ${expected}, not ${got}`)
}

export function cannotDecode(why: string): Error {
  return badRequest(`${KIND} in version "${SEARCH_VERSION}" cannot be handled as a ${KIND}: ${why}`)
}

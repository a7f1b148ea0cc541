/**
 * Who owns which fields: `metadata.managedFields` and back.
 * Source: apimachinery pkg/util/managedfields/internal/{managedfields,capmanagers}.go.
 */
import { FieldSet } from './field-set.ts'

export type Operation = 'Apply' | 'Update'

export interface Manager {
  readonly name: string
  readonly operation: Operation
  readonly apiVersion: string
  /** Empty: the main resource. */
  readonly subresource: string
}

export interface Owner extends Manager {
  readonly fields: FieldSet
  /** RFC 3339, to the second; undefined where it is not known. */
  readonly time: string | undefined
}

/** Owners by their keys. */
export type Owners = ReadonlyMap<string, Owner>

/** Configurations of one name are one, whatever version they are written in; updates are kept apart by it. */
export function keyOf({ name, operation, apiVersion, subresource }: Manager): string {
  return JSON.stringify([name, operation, operation === 'Apply' ? '' : apiVersion, subresource])
}

/** `metadata.managedFields` as it came. Undefined for entries that are not what they should be. */
export function decodeOwners(entries: unknown): Owners | undefined {
  const owners = new Map<string, Owner>()
  for (const entry of Array.isArray(entries) ? (entries as unknown[]) : []) {
    const owner = decodeOwner(entry)
    if (owner === undefined) return undefined
    owners.set(keyOf(owner), owner)
  }
  return owners
}

function decodeOwner(entry: unknown): Owner | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { manager, operation, apiVersion, subresource, time, fieldsType, fieldsV1 } = entry as Record<string, unknown>
  if (operation !== 'Apply' && operation !== 'Update') return undefined
  if (typeof apiVersion !== 'string' || apiVersion === '' || fieldsType !== 'FieldsV1') return undefined
  try {
    return {
      name: typeof manager === 'string' ? manager : '',
      operation,
      apiVersion,
      subresource: typeof subresource === 'string' ? subresource : '',
      time: typeof time === 'string' ? time : undefined,
      fields: FieldSet.fromFieldsV1(fieldsV1 ?? {}),
    }
  } catch {
    return undefined
  }
}

/** Undefined where nobody owns anything. */
export function encodeOwners(owners: Owners): object[] | undefined {
  if (owners.size === 0) return undefined
  return [...owners.values()].sort(compareOwners).map(({ name, operation, apiVersion, time, fields, subresource }) => ({
    ...(name === '' ? {} : { manager: name }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields.toFieldsV1(),
    ...(subresource === '' ? {} : { subresource }),
  }))
}

function compareOwners(a: Owner, b: Owner): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.name, b.name) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const MAX_UPDATERS = 10 // as a kube-apiserver keeps
const BUCKET = 'ancient-changes'

/** Above ten names of updates the oldest become one, so that the list does not grow for ever. */
export function capUpdaters(owners: Owners): Owners {
  const updaters = [...owners.values()].filter(({ operation }) => operation === 'Update')
  if (updaters.length <= MAX_UPDATERS) return owners
  const byAge = updaters.sort((a, b) => compareText(a.time ?? '', b.time ?? '') || compareText(keyOf(a), keyOf(b)))
  const capped = new Map(owners)
  const firsts = new Map<string, Owner>()
  let count = updaters.length
  for (const owner of byAge) {
    if (count <= MAX_UPDATERS) break
    const first = firsts.get(owner.apiVersion)
    if (first === undefined) {
      firsts.set(owner.apiVersion, owner)
      continue
    }
    const manager = { name: BUCKET, operation: 'Update', apiVersion: owner.apiVersion, subresource: '' } as const
    const bucket = capped.get(keyOf(manager)) ?? first
    capped.delete(keyOf(first))
    capped.delete(keyOf(owner))
    capped.set(keyOf(manager), { ...manager, time: owner.time, fields: owner.fields.union(bucket.fields) })
    count -= 1
  }
  return capped
}

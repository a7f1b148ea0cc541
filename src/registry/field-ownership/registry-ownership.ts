/** Field ownership of ResourceRegistries: which fields each write makes whose, in `metadata.managedFields`. */
import { isDeepStrictEqual } from 'node:util'
import { SEARCH_GROUP_VERSION, type ResourceRegistry } from '../../api/resource-registry.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import { decodeRegistry } from '../decode.ts'
import { REGISTRY } from '../schema.ts'
import { FieldSet, pathText } from './field-set.ts'
import { fieldsAsLastApplied, KUBECTL, withLastApplied } from './last-applied.ts'
import { decodeOwners, encodeOwners, type Operation, type Owner, type Owners } from './managers.ts'
import { applied, ownersAfterUpdate, type Conflict, type OwnershipContext } from './ownership.ts'

export interface Writer {
  /** The client's name for itself; empty: `unknown`. */
  readonly manager: string
  readonly subresource: '' | 'status'
  /** RFC 3339, to the second. */
  readonly now: string
}

/** What Go has before the first write: fields without `omitempty` are there and belong to nobody. */
const NEW = {
  kind: 'ResourceRegistry',
  apiVersion: SEARCH_GROUP_VERSION,
  metadata: { creationTimestamp: null },
  spec: { targetCluster: {}, resourceSelectors: [] },
  status: {},
}

const RESET: Readonly<Record<Writer['subresource'], FieldSet>> = {
  '': FieldSet.of(['f:status']),
  status: FieldSet.of(['f:metadata'], ['f:spec']),
}

const NOBODY: Owners = new Map()

type ManagedFields = readonly object[] | undefined

/** Of a create (nothing is stored), update or patch: `next` is what the client wants. */
export function managedFieldsAfterUpdate(
  stored: ResourceRegistry | undefined,
  next: ResourceRegistry,
  writer: Writer,
): ManagedFields {
  const owners = ownersBefore(stored, next, writer)
  return encodeOwners(
    ownersAfterUpdate(withoutOwners(stored), withoutOwners(next), owners, contextOf(writer, 'Update')),
  )
}

/**
 * A client may write the owners themselves: kubectl does when it migrates. One that knows nothing of them changes nothing,
 * `[]` or `[{}]` forgets them all.
 */
function ownersBefore(stored: ResourceRegistry | undefined, next: ResourceRegistry, { subresource }: Writer): Owners {
  const live = decodeOwners(stored?.metadata['managedFields']) ?? NOBODY
  const wanted = next.metadata['managedFields']
  if (subresource !== '') return live
  if (isDeepStrictEqual(wanted, []) || isDeepStrictEqual(wanted, [{}])) return NOBODY
  const owners = decodeOwners(wanted)
  return owners === undefined || owners.size === 0 ? live : owners
}

function withoutOwners(registry: ResourceRegistry | undefined): object | undefined {
  if (registry === undefined) return undefined
  const { managedFields: _, ...metadata } = registry.metadata
  return { ...registry, metadata }
}

function contextOf({ manager, subresource, now }: Writer, operation: Operation): OwnershipContext {
  const name = manager === '' ? 'unknown' : manager
  return {
    shape: REGISTRY,
    blank: NEW,
    manager: { name, operation, apiVersion: SEARCH_GROUP_VERSION, subresource },
    reset: RESET[subresource],
    now,
  }
}

/** The configuration of a server-side apply: a part of an object. Throws `badRequest` for what cannot be one. */
export function decodeConfiguration(body: unknown): object {
  const { unknownFields } = decodeRegistry(body)
  const config = body as { apiVersion?: unknown; kind?: unknown; metadata?: { managedFields?: unknown } | null }
  if (config.apiVersion !== SEARCH_GROUP_VERSION) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${String(config.apiVersion ?? '/')}, expected: ${SEARCH_GROUP_VERSION}`,
    )
  }
  if (config.kind === undefined) throw badRequest('kind must be specified in apply patch')
  const owners = config.metadata?.managedFields
  if (owners !== undefined && owners !== null) throw badRequest('metadata.managedFields must be nil')
  if (unknownFields.length > 0) {
    const faults = unknownFields.map((field) => `.${field}: field not declared in schema`)
    throw badRequest(`failed to create typed patch object: ${faults.join(', ')}`)
  }
  return config
}

/**
 * The object with the configuration applied and its owners set. Throws `conflict` with each field that belongs to
 * somebody else and would change.
 */
export function applyConfiguration(
  stored: ResourceRegistry | undefined,
  config: object,
  writer: Writer,
  force: boolean,
): ResourceRegistry {
  const live = withoutOwners(stored)
  const context = contextOf(writer, 'Apply')
  const owners = decodeOwners(stored?.metadata['managedFields'])
  if (owners === undefined) throw new StatusError('internal', 'the managed fields of the live object cannot be read')
  let result = applied(live, config, owners, context, force)
  const conflicts = stillConflicts(result.conflicts, live, writer)
  if (conflicts.length > 0) throw applyConflict(conflicts)
  if (result.conflicts.length > 0) result = applied(live, config, owners, context, true)
  const value = result.value ?? live ?? NEW
  const object = writer.manager === KUBECTL ? withLastApplied(value, config) : value
  const { registry } = decodeRegistry(object)
  const managedFields = encodeOwners(result.owners)
  return { ...registry, metadata: { ...registry.metadata, ...(managedFields === undefined ? {} : { managedFields }) } }
}

function stillConflicts(conflicts: readonly Conflict[], live: unknown, { manager }: Writer): readonly Conflict[] {
  if (conflicts.length === 0 || manager !== KUBECTL) return conflicts
  const allowed = fieldsAsLastApplied(live, SEARCH_GROUP_VERSION, REGISTRY)
  return conflicts
    .map(({ owner, fields }) => ({ owner, fields: fields.difference(allowed) }))
    .filter(({ fields }) => !fields.empty)
}

function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const all = conflicts.flatMap(({ owner, fields }) =>
    [...fields.paths()].map((path) => ({ owner: ownerText(owner), field: pathText(path) })),
  )
  const causes = all.map(({ owner, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${owner}`,
    field,
  }))
  return new StatusError('conflict', conflictText(all), { details: { causes } })
}

function conflictText(all: readonly { readonly owner: string; readonly field: string }[]): string {
  const [only] = all
  if (all.length === 1 && only !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${only.owner}: ${only.field}`
  }
  const owners = [...new Set(all.map(({ owner }) => owner))].sort()
  const lines = owners.flatMap((each) => [
    `conflicts with ${each}:`,
    ...all.filter(({ owner }) => owner === each).map(({ field }) => `- ${field}`),
  ])
  return `Apply failed with ${all.length} conflicts: ${lines.join('\n')}`
}

function ownerText({ name, operation, apiVersion, subresource }: Owner): string {
  const who = `${JSON.stringify(name)}${subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`}`
  return operation === 'Update' ? `${who} using ${apiVersion}` : who
}

/** Whether two objects differ in no more than the times at which owners were recorded. */
export function isSameButTimes(a: ResourceRegistry, b: ResourceRegistry): boolean {
  return isDeepStrictEqual(withoutTimes(a), withoutTimes(b))
}

function withoutTimes(registry: ResourceRegistry): object {
  const entries = registry.metadata['managedFields']
  if (!Array.isArray(entries)) return registry
  const managedFields = (entries as Record<string, unknown>[]).map(({ time: _, ...entry }) => entry)
  return { ...registry, metadata: { ...registry.metadata, managedFields } }
}

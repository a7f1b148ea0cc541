/**
 * Who owns which fields after a write. Source: structured-merge-diff merge/update.go and the chain of managers in
 * apimachinery pkg/util/managedfields. Left out: other versions of the API, as there is one; owners of others are dropped.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Shape } from '../schema.ts'
import { FieldSet } from './field-set.ts'
import { capUpdaters, keyOf, type Manager, type Owner, type Owners } from './managers.ts'
import { differenceOf, fieldsOf, merged, withNamedFields, withoutFields, type Difference } from './typed-value.ts'

export interface OwnershipContext {
  readonly shape: Shape
  readonly manager: Manager
  /** What an object is before its first write. */
  readonly blank: object
  /** What this way of writing does not write: `f:status` of the main resource. */
  readonly reset: FieldSet
  /** RFC 3339, to the second. */
  readonly now: string
}

/** Fields that nobody owns: the system's. */
const SYSTEM = FieldSet.of(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation', 'managedFields']
    .concat('resourceVersion')
    .map((field) => ['f:metadata', `f:${field}`]),
)

/**
 * A create (`live` is undefined), update or patch: whatever it changes belongs to its manager. An object from before fields
 * had owners has none until somebody applies.
 */
export function ownersAfterUpdate(live: unknown, next: unknown, owners: Owners, context: OwnershipContext): Owners {
  if (live !== undefined && owners.size === 0) return owners
  return ownersAfterChange(live ?? context.blank, next, owners, context)
}

function ownersAfterChange(live: unknown, next: unknown, owners: Owners, context: OwnershipContext): Owners {
  const { manager, now, shape } = context
  const key = keyOf(manager)
  const difference = kept(differenceOf(live, next, shape), context)
  const { owners: others } = takenFrom(ofThisVersion(owners, manager), undefined, difference)
  const taken = difference.modified.union(difference.added).without(context.reset).difference(SYSTEM)
  if (taken.empty) return capUpdaters(others)
  const previous = others.get(key)?.fields ?? FieldSet.EMPTY
  return capUpdaters(new Map(others).set(key, { ...manager, time: now, fields: taken.union(previous) }))
}

export interface Applied {
  /** Undefined: the configuration changes nothing. */
  readonly value: unknown
  readonly owners: Owners
  /** Fields of others that the configuration would change; empty where it was forced. */
  readonly conflicts: readonly Conflict[]
}

export interface Conflict {
  readonly owner: Owner
  readonly fields: FieldSet
}

/**
 * A configuration: what it says holds, what it no longer says and nobody else owns is removed. `live` is undefined where
 * nothing is stored.
 */
export function applied(
  live: unknown,
  config: unknown,
  owners: Owners,
  context: OwnershipContext,
  force: boolean,
): Applied {
  if (live === undefined || owners.size > 0) return appliedTo(live ?? context.blank, config, owners, context, force)
  // Whatever is there without an owner belongs to somebody before.
  const before = { ...context.manager, name: 'before-first-apply', operation: 'Update' } as const
  const first = ownersAfterChange(context.blank, live, owners, { ...context, manager: before })
  return appliedTo(live, config, first, context, force)
}

function appliedTo(live: unknown, config: unknown, owners: Owners, context: OwnershipContext, force: boolean): Applied {
  const { manager, shape, reset, now } = context
  const key = keyOf(manager)
  const known = ofThisVersion(owners, manager)
  const last = known.get(key)
  const own = { ...manager, time: last?.time, fields: fieldsOf(config, shape).without(reset) }
  const current = new Map(known).set(key, own)
  const value = pruned(merged(live, config, shape), current, last?.fields ?? FieldSet.EMPTY, shape)
  const difference = kept(differenceOf(live, value, shape), context)
  const { owners: others, conflicts } = takenFrom(current, key, difference)
  if (conflicts.length > 0 && !force) return { value: undefined, owners, conflicts }
  const changed = !isDeepStrictEqual(live, value)
  const fields = own.fields.difference(SYSTEM)
  const next = new Map(others)
  if (fields.empty) next.delete(key)
  else next.set(key, { ...own, fields, time: changed ? now : own.time })
  return { value: changed ? value : undefined, owners: next, conflicts: [] }
}

function ofThisVersion(owners: Owners, { apiVersion }: Manager): Owners {
  return new Map([...owners].filter(([, owner]) => owner.apiVersion === apiVersion))
}

function kept({ added, modified, removed }: Difference, { reset }: OwnershipContext): Difference {
  return { added: added.without(reset), modified: modified.without(reset), removed: removed.without(reset) }
}

/** The owners but `except` lose what changed; those of what was added or modified are in conflict. */
function takenFrom(
  owners: Owners,
  except: string | undefined,
  { added, modified, removed }: Difference,
): { readonly owners: Owners; readonly conflicts: readonly Conflict[] } {
  const changed = modified.union(added)
  const conflicts: Conflict[] = []
  const left = new Map<string, Owner>()
  for (const [key, owner] of owners) {
    if (key === except) {
      left.set(key, owner)
      continue
    }
    const fields = owner.fields.intersection(changed)
    if (!fields.empty) conflicts.push({ owner, fields })
    const rest = owner.fields.difference(fields).difference(removed)
    if (!rest.empty) left.set(key, { ...owner, fields: rest })
  }
  return { owners: left, conflicts }
}

/** Removes what this configuration had last time, has no longer, and no one else owns. */
function pruned(value: unknown, owners: Owners, last: FieldSet, shape: Shape): unknown {
  if (last.empty) return value
  const named = (fields: FieldSet): FieldSet => withNamedFields(fields, shape)
  const all = named(fieldsOf(value, shape))
  const remains = named(fieldsOf(withoutFields(value, named(last), shape), shape))
  const owned = [...owners.values()].reduce((sum, owner) => sum.union(owner.fields), FieldSet.EMPTY)
  const unowned = withoutFields(value, all.difference(remains.union(named(owned))), shape)
  const dangling = all.difference(named(fieldsOf(unowned, shape))).intersection(named(last))
  return withoutFields(value, dangling, shape)
}

/** Which paths the objects of a kind may have, by the OpenAPI 3 documents of members that serve it. */
import { LRUCache } from 'lru-cache'
import type { FleetReader } from '../../fleet/fleet.ts'
import type { Member } from '../../fleet/member.ts'
import type { FieldSource } from '../../http/field-source.ts'
import type { GroupVersionKind } from '../../kube/group-version.ts'
import { groupVersionPath } from '../../kube/group-version.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import { MemberFault } from '../live/member-fault.ts'
import { readMember } from '../live/read-list.ts'
import type { MemberDiscovery } from '../ports.ts'
import { hasPath, type Schemas, structureOf } from './schema-path.ts'

export interface SchemaFieldsOptions {
  readonly fleet: Pick<FleetReader, 'members'>
  readonly discovery: MemberDiscovery
  readonly clock: Clock
}

/** What is kept of a kind: the bare structure that it reaches, some 100 KB for a pod of a document of megabytes. */
const MAX_KINDS = 64
/** A definition that has changed is noticed after so long. */
const TTL_MS = 60_000
/** Members asked until one has the path: their schemas of one kind may differ. */
const MEMBERS = 3
const READ_MS = 10_000

interface Kept {
  readonly schemas: Promise<Schemas | undefined>
  readonly untilMs: number
}

export function createSchemaFields(options: SchemaFieldsOptions): FieldSource {
  const { clock } = options
  const known = new LRUCache<string, Kept>({ max: MAX_KINDS })
  const schemasOf = (member: Member, gvk: GroupVersionKind): Promise<Schemas | undefined> => {
    const key = JSON.stringify([member.facts.name, gvk.group, gvk.version, gvk.kind])
    const kept = known.get(key)
    if (kept !== undefined && kept.untilMs > clock.monotonicMs()) return kept.schemas
    const schemas = readSchemas(member, gvk, clock)
    known.set(key, { schemas, untilMs: clock.monotonicMs() + TTL_MS })
    const forget = (): void => void known.delete(key)
    schemas.then((found) => {
      if (found === undefined) forget()
    }, forget)
    return schemas
  }
  return { exists: (gvk, path) => ask(options, schemasOf, gvk, path) }
}

/** Rejects with `serviceUnavailable` where none of the members that serve the kind tells. */
async function ask(
  { fleet, discovery }: SchemaFieldsOptions,
  schemasOf: (member: Member, gvk: GroupVersionKind) => Promise<Schemas | undefined>,
  gvk: GroupVersionKind,
  path: readonly string[],
): Promise<boolean> {
  const serving = fleet.members().filter(({ facts: { name } }) => {
    const resources = discovery.resources(name)
    return resources?.some((r) => r.kind === gvk.kind && r.group === gvk.group && r.version === gvk.version) === true
  })
  let faults = 0
  let asked = 0
  for (const member of serving) {
    if (asked - faults >= MEMBERS) break
    asked += 1
    const schemas = await schemasOf(member, gvk)
    if (schemas === undefined) faults += 1
    else if (hasPath(schemas, gvk, path)) return true
  }
  if (asked > 0 && faults === asked) {
    throw new StatusError('serviceUnavailable', `no member tells which fields ${gvk.kind} has`, {
      details: { retryAfterSeconds: 1 },
    })
  }
  return false
}

async function readSchemas(member: Member, gvk: GroupVersionKind, clock: Clock): Promise<Schemas | undefined> {
  const read = { clock, signal: AbortSignal.timeout(READ_MS), accept: 'application/json' }
  try {
    return await readMember(member, `/openapi/v3${groupVersionPath(gvk)}`, read, async (response) => {
      const { components } = JSON.parse((await response.bytes()).toString('utf8')) as {
        components?: { schemas?: Schemas }
      }
      return structureOf(components?.schemas ?? {}, gvk)
    })
  } catch (error) {
    if (error instanceof MemberFault) return undefined
    throw error
  }
}

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
import { hasPath, type Schemas } from './schema-path.ts'

export interface SchemaFieldsOptions {
  readonly fleet: Pick<FleetReader, 'members'>
  readonly discovery: MemberDiscovery
  readonly clock: Clock
}

/** Answers, not documents, are kept: a document of the core group takes megabytes, an answer a few words. */
const MAX_ANSWERS = 10_000
/** A definition that has changed is noticed after so long. */
const TTL_MS = 60_000
/** Members asked until one has the path: their schemas of one kind may differ. */
const MEMBERS = 3
const READ_MS = 10_000

export function createSchemaFields(options: SchemaFieldsOptions): FieldSource {
  const { clock } = options
  const known = new LRUCache<string, { readonly exists: boolean; readonly untilMs: number }>({ max: MAX_ANSWERS })
  const asking = new Map<string, Promise<boolean>>()
  return {
    async exists(gvk, path) {
      const key = JSON.stringify([gvk.group, gvk.version, gvk.kind, ...path])
      const answer = known.get(key)
      if (answer !== undefined && answer.untilMs > clock.monotonicMs()) return answer.exists
      const asked = asking.get(key) ?? ask(options, gvk, path).finally(() => asking.delete(key))
      asking.set(key, asked)
      const exists = await asked
      known.set(key, { exists, untilMs: clock.monotonicMs() + TTL_MS })
      return exists
    },
  }
}

/** Rejects with `serviceUnavailable` where none of the members that serve the kind tells. */
async function ask(options: SchemaFieldsOptions, gvk: GroupVersionKind, path: readonly string[]): Promise<boolean> {
  const { fleet, discovery, clock } = options
  const serving = fleet.members().filter(({ facts: { name } }) => {
    const resources = discovery.resources(name)
    return resources?.some((r) => r.kind === gvk.kind && r.group === gvk.group && r.version === gvk.version) === true
  })
  let faults = 0
  let asked = 0
  for (const member of serving) {
    if (asked - faults >= MEMBERS) break
    asked += 1
    const schemas = await readSchemas(member, gvk, clock)
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
      return components?.schemas ?? {}
    })
  } catch (error) {
    if (error instanceof MemberFault) return undefined
    throw error
  }
}

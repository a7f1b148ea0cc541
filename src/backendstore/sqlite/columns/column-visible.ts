/** `restrict` of `visible.ts` over columns: only documents whose name decides are asked for in the tables. */
import type { VisibleDocuments, VisibleResource } from '../../../query/search-request.ts'
import type { MemoryColumns } from './columns.ts'
import type { Mask } from './mask.ts'

/** Of a cluster's resource: all of it, or what of it. */
type Right = true | { readonly namespaces: Uint8Array; readonly names: boolean }

/** Leaves only visible rows in the mask. The rows that it returns must be asked for one by one; they are not left. */
export function restrictMask(columns: MemoryColumns, mask: Mask, visible: VisibleDocuments): number[] {
  const rights = rightsOf(columns, visible)
  const clusters = columns.clusters.codes
  const namespaces = columns.namespaces.codes
  const resources = columns.resources
  const kinds = columns.kinds.length
  const undecided: number[] = []
  for (let row = 0; row < columns.rows.length; row++) {
    if (mask[row] === 0) continue
    const right = rights[(clusters[row] as number) * kinds + (resources[row] as number)]
    if (right === true) continue
    if (right?.namespaces[namespaces[row] as number] === 1) continue
    mask[row] = 0
    if (right?.names === true) undecided.push(row)
  }
  return undecided
}

/** By cluster and resource; clusters of equal rights share them. */
function rightsOf(columns: MemoryColumns, { clusters, parts }: VisibleDocuments): readonly (Right | undefined)[] {
  const byPart = parts.map((resources) => rightsOfPart(columns, resources))
  return columns.clusters.texts.flatMap((cluster) => {
    const part = clusters.get(cluster)
    const rights = part === undefined ? undefined : byPart[part]
    return columns.kinds.map((kind) => (kind === undefined ? undefined : rights?.get(`${kind.group}/${kind.resource}`)))
  })
}

function rightsOfPart(columns: MemoryColumns, resources: readonly VisibleResource[]): Map<string, Right> {
  const known = new Set(columns.kinds.map((kind) => `${kind?.group}/${kind?.resource}`))
  const rights = new Map<string, Right>()
  for (const each of resources) {
    const key = `${each.group}/${each.resource}`
    if (!known.has(key)) continue
    const before = rights.get(key)
    rights.set(key, before === true || each.everything ? true : joined(columns, before, each))
  }
  return rights
}

function joined(columns: MemoryColumns, before: Exclude<Right, true> | undefined, each: VisibleResource): Right {
  const namespaces = before?.namespaces ?? new Uint8Array(columns.namespaces.texts.length)
  for (const namespace of each.namespaces) {
    const code = columns.namespaces.codeOf(namespace)
    if (code !== undefined) namespaces[code] = 1
  }
  return { namespaces, names: before?.names === true || each.names.length > 0 }
}

/** Which columns a Table has: those of the kind, else the printer columns of its CustomResourceDefinition. */
import type { JsonObject, KindColumns } from '../kube/columns/column.ts'
import { columnsOf, customColumns, defaultColumns } from '../kube/columns/index.ts'
import type { GroupVersionResource } from '../kube/group-version.ts'
import { parseObject } from './selection.ts'

export interface ColumnSource {
  /** Never rejects: a kind of which nothing is known has NAME and AGE. */
  columnsFor(gvr: GroupVersionResource, kind: string): Promise<KindColumns>
}

export interface FoundCrd {
  /** Equal keys mean equal objects: UID and version. */
  readonly key: string
  readonly bytes: Uint8Array
}

/** Finds a CustomResourceDefinition by its name, `foos.example.com`, in any cluster; undefined where there is none. */
export type CrdLookup = (name: string) => Promise<FoundCrd | undefined>

/** Tries `lookups` in order; one that fails counts as one that found nothing. */
export function createColumnSource(lookups: readonly CrdLookup[]): ColumnSource {
  const known = new Map<string, { readonly key: string; readonly columns: KindColumns }>()
  return {
    async columnsFor(gvr, kind) {
      const builtIn = columnsOf({ group: gvr.group, kind })
      if (builtIn !== undefined) return builtIn
      const name = `${gvr.resource}.${gvr.group}`
      const crd = gvr.group.includes('.') ? await firstFound(lookups, name) : undefined
      if (crd === undefined) return defaultColumns
      const slot = `${name}/${gvr.version}`
      const remembered = known.get(slot)
      if (remembered?.key === crd.key) return remembered.columns
      const columns = printerColumns(parseObject(crd.bytes), gvr.version)
      known.set(slot, { key: crd.key, columns })
      return columns
    },
  }
}

async function firstFound(lookups: readonly CrdLookup[], name: string): Promise<FoundCrd | undefined> {
  for (const lookup of lookups) {
    const crd = await lookup(name).catch(() => undefined)
    if (crd !== undefined) return crd
  }
  return undefined
}

interface CrdVersion {
  readonly name?: unknown
  readonly additionalPrinterColumns?: unknown
}

function printerColumns(crd: JsonObject, version: string): KindColumns {
  const versions = (crd['spec'] as { versions?: unknown } | undefined)?.versions
  const found = Array.isArray(versions) ? (versions as CrdVersion[]).find(({ name }) => name === version) : undefined
  const declared = found?.additionalPrinterColumns
  return Array.isArray(declared) && declared.length > 0 ? customColumns(declared) : defaultColumns
}

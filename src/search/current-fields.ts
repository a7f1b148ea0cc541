/** The fields there are now: of all built-in kinds, and the printer columns of custom resources that are cached. */
import type { ResourceReader } from '../cache/reader.ts'
import type { KindColumns } from '../kube/columns/column.ts'
import { columnKinds, columnsOf } from '../kube/columns/index.ts'
import { FieldCatalog } from '../query/fields.ts'
import type { SearchParts } from './search-parts.ts'

const BUILT_IN = columnKinds().map(({ columns }) => columns)
const STATIC = new FieldCatalog(BUILT_IN)

export async function currentFields({ cache, columns }: Pick<SearchParts, 'cache' | 'columns'>): Promise<FieldCatalog> {
  const custom = cache.resources().filter(isCustom)
  if (columns === undefined || custom.length === 0) return STATIC
  const kinds = await Promise.all(custom.map(({ gvr, kind }) => columns.columnsFor(gvr, kind)))
  return new FieldCatalog([...BUILT_IN, ...kinds])
}

/** The columns of one cached kind; undefined where nothing tells them. */
export async function columnsOfResource(
  { columns }: Pick<SearchParts, 'columns'>,
  reader: Pick<ResourceReader, 'gvr' | 'kind'>,
): Promise<KindColumns | undefined> {
  return (
    columnsOf({ group: reader.gvr.group, kind: reader.kind }) ?? (await columns?.columnsFor(reader.gvr, reader.kind))
  )
}

function isCustom({ gvr: { group }, kind }: ResourceReader): boolean {
  return columnsOf({ group, kind }) === undefined
}

/** The fields there are now: of all built-in kinds, and the printer columns of custom resources that are cached. */
import type { ResourceReader } from '../cache/reader.ts'
import type { KindColumns } from '../kube/columns/column.ts'
import { columnKinds, columnsOf } from '../kube/columns/index.ts'
import { FieldCatalog } from '../query/fields.ts'
import type { SearchParts } from './search-parts.ts'

const BUILT_IN = columnKinds().map(({ columns }) => columns)
const STATIC = new FieldCatalog(BUILT_IN)

/** A definition may have to be asked of a member; a query does not wait for one that does not answer. */
const PATIENCE_MS = 200

export async function currentFields({
  cache,
  columns,
  clock,
}: Pick<SearchParts, 'cache' | 'columns' | 'clock'>): Promise<FieldCatalog> {
  const custom = cache.resources().filter(isCustom)
  if (columns === undefined || custom.length === 0) return STATIC
  let cancel = (): void => undefined
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.setTimeout(() => resolve(undefined), PATIENCE_MS)
  })
  const kinds = await Promise.all(custom.map(({ gvr, kind }) => Promise.race([columns.columnsFor(gvr, kind), late])))
  cancel()
  const catalog = new FieldCatalog(BUILT_IN)
  for (const kind of kinds) if (kind !== undefined) catalog.addCustom(kind)
  return catalog
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

/** An optional column of Tables: the cluster that each object is of, behind the name. */
import { CLUSTER_NAME_ANNOTATION } from '../kube/annotations.ts'
import type { Column, JsonObject, KindColumns } from '../kube/columns/column.ts'
import { column } from '../kube/columns/define.ts'
import { text } from '../kube/columns/read.ts'
import type { ApiRequest } from './api-request.ts'
import { parseBool } from './list-options.ts'

export const CLUSTER_COLUMN_HEADER = 'fleetsearch-cluster-column'

/** Asked for by `clusterColumn=true`, or by the header `Fleetsearch-Cluster-Column: true`. */
export function wantsClusterColumn({ query, incoming }: Pick<ApiRequest, 'query' | 'incoming'>): boolean {
  const header = incoming.headers[CLUSTER_COLUMN_HEADER]
  return parseBool(query.get('clusterColumn') ?? (typeof header === 'string' ? header : null)) === true
}

const clusterColumn: Column = column('Cluster', clusterOf, {
  description: 'Cluster is the member cluster that holds the object.',
  type: 'keyword',
})

function clusterOf(object: JsonObject): string {
  return text(object, 'metadata', 'annotations', CLUSTER_NAME_ANNOTATION)
}

const extended = new WeakMap<KindColumns, KindColumns>()

/** The same columns with CLUSTER behind the first, which names the object. */
export function withClusterColumn(columns: KindColumns): KindColumns {
  const known = extended.get(columns)
  if (known !== undefined) return known
  const [name, ...others] = columns.columns
  const more = { ...columns, columns: name === undefined ? [clusterColumn] : [name, clusterColumn, ...others] }
  extended.set(columns, more)
  return more
}

/** The columns that a request's Table has. */
export async function requestedColumns(
  request: Pick<ApiRequest, 'query' | 'incoming'>,
  columns: Promise<KindColumns>,
): Promise<KindColumns> {
  return wantsClusterColumn(request) ? withClusterColumn(await columns) : columns
}

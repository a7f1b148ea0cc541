/** The query of a call: `q` and `cluster`, looked up. */
import type { Field, FieldCatalog } from '../query/fields.ts'
import { parseQuery } from '../query/parser.ts'
import { resolveQuery, type Predicate, type ResolvedQuery } from '../query/resolve.ts'
import type { QueryNode } from '../query/ast.ts'
import { pieces } from '../query/pieces.ts'
import { foldCase } from '../query/tokens.ts'
import type { ClusterName } from '../kube/names.ts'
import { clusterNotFound, parseClusterFilter } from './cluster-filter.ts'
import type { SearchParts } from './search-parts.ts'

export interface ReadQuery extends ResolvedQuery {
  readonly ast: QueryNode
}

/** Throws `badRequest` with the position, and `notFound` for a cluster that there is not. */
export function readQuery(
  parameters: URLSearchParams,
  fields: FieldCatalog,
  parts: Pick<SearchParts, 'clusters' | 'cache'>,
  nowMs: number,
): ReadQuery {
  const ast = parseQuery(parameters.get('q') ?? '', (name) => fields.find(name) !== undefined)
  const resolved = resolveQuery(ast, { fields, nowMs })
  const names = clusterNames(parts)
  refuseUnknownClusters(ast, names, fields)
  const chosen = parseClusterFilter(parameters, { names: () => names })
  if (chosen === undefined) return { ast, ...resolved }
  const clusters = [...chosen].map((value): Predicate => ({ type: 'exact', path: 'cluster', value }))
  const predicate: Predicate = { type: 'and', children: [{ type: 'or', children: clusters }, resolved.predicate] }
  return { ast, ...resolved, predicate }
}

/** Those there are, and those of which something is cached. */
export function clusterNames({ clusters, cache }: Pick<SearchParts, 'clusters' | 'cache'>): ClusterName[] {
  const names = new Set(clusters?.names() ?? [])
  for (const resource of cache.resources()) for (const { cluster } of resource.shards()) names.add(cluster)
  return [...names]
}

/** An empty answer would hide a typing error, in the query as in the parameter. */
function refuseUnknownClusters(node: QueryNode, names: readonly ClusterName[], fields: FieldCatalog): void {
  switch (node.type) {
    case 'and':
    case 'or':
      return node.children.forEach((child) => refuseUnknownClusters(child, names, fields))
    case 'not':
      return refuseUnknownClusters(node.child, names, fields)
    case 'text':
      return
    case 'field': {
      if (!isCluster(fields.find(node.field)) || !/^(:|=|!=)$/.test(node.operator)) return
      for (const { text, quoted } of node.values) {
        if (!quoted && node.operator === ':' && /[*?]/.test(text)) continue
        if (!names.some((name) => isNamed(name, text, node.operator))) throw clusterNotFound(text)
      }
    }
  }
}

function isCluster(field: Field | undefined): boolean {
  return field?.path === 'cluster'
}

function isNamed(name: string, text: string, operator: string): boolean {
  return operator === ':' ? pieces(name).includes(foldCase(text)) : name === text
}

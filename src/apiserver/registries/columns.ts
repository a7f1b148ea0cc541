/** The Table of ResourceRegistries. The original shows names and times of creation alone. */
import type { Condition } from '../../api/resource-registry.ts'
import type { JsonObject, KindColumns } from '../../kube/columns/column.ts'
import { ageColumn, column, count, nameColumn } from '../../kube/columns/define.ts'

/** What is known of a registry besides what is stored. */
export interface RegistryStats {
  /** Clusters that it matches. */
  readonly clusters: number
  /** Kinds of resources that it caches in any of them. */
  readonly resources: number
  readonly objects: number
}

export type RegistryStatsSource = (name: string) => RegistryStats | undefined

export function registryColumns(statsOf: RegistryStatsSource): KindColumns {
  const stats = (object: JsonObject): RegistryStats | undefined =>
    statsOf((object['metadata'] as { name: string }).name)
  return {
    columns: [
      nameColumn,
      count('Clusters', (object) => stats(object)?.clusters ?? 0, {
        description: 'Clusters that spec.targetCluster matches now.',
      }),
      count('Resources', (object) => stats(object)?.resources ?? 0, {
        description: 'Kinds of resources that are cached for this registry in at least one cluster.',
      }),
      count('Objects', (object) => stats(object)?.objects ?? 0, {
        description: 'Objects of those resources in those clusters that are cached now.',
      }),
      column('Backend', backend, { description: 'Search engine that the objects are indexed in.' }),
      column('Ready', ready, { description: 'Whether every object that is asked for is cached.' }),
      ageColumn,
    ],
  }
}

function backend(object: JsonObject): string {
  const { backendStore = {} } = object['spec'] as { backendStore?: { openSearch?: unknown; elasticsearch?: unknown } }
  const engines = []
  if (backendStore.openSearch !== undefined) engines.push('opensearch')
  if (backendStore.elasticsearch !== undefined) engines.push('elasticsearch')
  return engines.length === 0 ? 'embedded' : engines.join(',')
}

function ready(object: JsonObject): string {
  const { conditions = [] } = (object['status'] ?? {}) as { conditions?: readonly Condition[] }
  return conditions.find(({ type }) => type === 'Ready')?.status ?? 'Unknown'
}

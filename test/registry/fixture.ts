/** Registries for tests. */
import type { ResourceRegistry, ResourceRegistrySpec } from '../../src/api/resource-registry.ts'
import { decodeRegistry } from '../../src/registry/decode.ts'

export const POD_SPEC: ResourceRegistrySpec = {
  targetCluster: {},
  resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }],
}

/** As it comes out of a request's body. */
export function input(
  name: string,
  spec: Partial<ResourceRegistrySpec> = {},
  metadata: Record<string, unknown> = {},
): ResourceRegistry {
  return decodeRegistry({ metadata: { name, ...metadata }, spec: { ...POD_SPEC, ...spec } }).registry
}

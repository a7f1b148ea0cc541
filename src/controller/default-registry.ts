/**
 * The registry that `up` and `demo` begin with: everything of every cluster that can be listed and watched, but Events and
 * Secrets (resolve-selector.ts says why). It is an ordinary registry: it can be read, changed and deleted.
 */
import type { ResourceRegistrySpec } from '../api/resource-registry.ts'
import { WILDCARD } from './resolve-selector.ts'

export const DEFAULT_REGISTRY_NAME = 'everything'

export const DEFAULT_REGISTRY_SPEC: ResourceRegistrySpec = {
  targetCluster: {},
  resourceSelectors: [{ apiVersion: WILDCARD, kind: WILDCARD }],
}

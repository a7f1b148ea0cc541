/** `search.karmada.io/v1alpha1` ResourceRegistry: the shape clients of karmada-search know. */
export const SEARCH_GROUP = 'search.karmada.io'
export const SEARCH_VERSION = 'v1alpha1'
export const SEARCH_GROUP_VERSION = `${SEARCH_GROUP}/${SEARCH_VERSION}`

export interface LabelSelectorRequirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

export interface ClusterAffinity {
  readonly clusterNames?: readonly string[]
  readonly exclude?: readonly string[]
  readonly labelSelector?: {
    readonly matchLabels?: Readonly<Record<string, string>>
    readonly matchExpressions?: readonly LabelSelectorRequirement[]
  }
  readonly fieldSelector?: { readonly matchExpressions?: readonly LabelSelectorRequirement[] }
}

export interface ResourceSelector {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
}

export interface SecretReference {
  readonly namespace: string
  readonly name: string
}

export interface SearchEngineStore {
  readonly addresses: readonly string[]
  readonly secretRef?: SecretReference
}

export interface ResourceRegistrySpec {
  readonly targetCluster: ClusterAffinity
  readonly resourceSelectors: readonly ResourceSelector[]
  readonly backendStore?: { readonly openSearch?: SearchEngineStore; readonly elasticsearch?: SearchEngineStore }
}

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly observedGeneration?: number
  readonly lastTransitionTime: string
  readonly reason: string
  readonly message: string
}

export interface ObjectMeta {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly [key: string]: unknown
}

export interface ResourceRegistry {
  readonly apiVersion: typeof SEARCH_GROUP_VERSION
  readonly kind: 'ResourceRegistry'
  readonly metadata: ObjectMeta
  readonly spec: ResourceRegistrySpec
  readonly status?: { readonly conditions?: readonly Condition[] }
}

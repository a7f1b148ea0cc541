/** Annotations that name the cluster of an object; every object handed out carries both (contract of the original). */
export const CACHED_FROM_CLUSTER_ANNOTATION = 'resource.karmada.io/cached-from-cluster'
export const CLUSTER_NAME_ANNOTATION = 'cluster.karmada.io/name'

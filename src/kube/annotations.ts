/** Annotations that name the cluster of an object; every object handed out carries both (contract of the original). */
export const CACHED_FROM_CLUSTER_ANNOTATION = 'resource.karmada.io/cached-from-cluster'
export const CLUSTER_NAME_ANNOTATION = 'cluster.karmada.io/name'

/** On the BOOKMARK that ends a watch's initial events. Source: apimachinery meta/v1 InitialEventsAnnotationKey. */
export const INITIAL_EVENTS_END_ANNOTATION = 'k8s.io/initial-events-end'

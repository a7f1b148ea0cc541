/** The annotations of the API, told again where its users look for them. */
export { CACHED_FROM_CLUSTER_ANNOTATION, CLUSTER_NAME_ANNOTATION } from '../kube/annotations.ts'

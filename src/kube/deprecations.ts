/** Built-in kinds of a kube-apiserver 1.36 that it warns about. Source: k8s.io/api, `APILifecycleDeprecated` of each kind. */
import { apiVersionOf, type GroupVersionKind } from './group-version.ts'

const WARNINGS: ReadonlyMap<string, string> = new Map([
  ['v1 ComponentStatus', 'v1 ComponentStatus is deprecated in v1.19+'],
  ['v1 Endpoints', 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
])

/** Undefined where there is nothing to warn about. */
export function deprecationOf(gvk: GroupVersionKind): string | undefined {
  return WARNINGS.get(`${apiVersionOf(gvk)} ${gvk.kind}`)
}

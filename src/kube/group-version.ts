/** Names of types. The core group is the empty string. */
export interface GroupVersion {
  readonly group: string
  readonly version: string
}
export interface GroupResource {
  readonly group: string
  readonly resource: string
}
export interface GroupVersionResource extends GroupVersion, GroupResource {}
export interface GroupVersionKind extends GroupVersion {
  readonly kind: string
}

/** `apps/v1`, or `v1` for the core group. */
export function apiVersionOf(gv: GroupVersion): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`
}

/** The group and version of an `apiVersion`; undefined where it has more than one slash or an empty part. */
export function parseApiVersion(apiVersion: string): GroupVersion | undefined {
  const parts = apiVersion.split('/')
  if (parts.length > 2 || parts.some((part) => part === '')) return undefined
  const [first, second] = parts
  if (first === undefined) return undefined
  return second === undefined ? { group: '', version: first } : { group: first, version: second }
}

/** `apps/v1/deployments`, `v1/pods`: a key for maps, and how logs and metrics name a resource. */
export function gvrKey(gvr: GroupVersionResource): string {
  return `${apiVersionOf(gvr)}/${gvr.resource}`
}

/** `deployments.apps`, `pods`: as kubectl and a Status name a resource without its version. */
export function groupResourceKey(gr: GroupResource): string {
  return gr.group === '' ? gr.resource : `${gr.resource}.${gr.group}`
}

/** The path prefix below which a group-version's resources live: `/api/v1`, `/apis/apps/v1`. */
export function groupVersionPath(gv: GroupVersion): string {
  return gv.group === '' ? `/api/${gv.version}` : `/apis/${gv.group}/${gv.version}`
}

/** The collection's or object's native path. Names are percent-encoded; slashes inside them cannot occur. */
export function resourcePath(gvr: GroupVersionResource, namespace?: string, name?: string): string {
  const scope = namespace === undefined || namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const object = name === undefined || name === '' ? '' : `/${encodeURIComponent(name)}`
  return `${groupVersionPath(gvr)}${scope}/${gvr.resource}${object}`
}

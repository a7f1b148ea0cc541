/** The control plane's OpenAPI 3 with the registered groups and versions that only members have. */
import type { Member, MemberResponse } from '../../fleet/member.ts'
import { sendJson } from '../../http/answer.ts'
import { groupVersionPath } from '../../kube/group-version.ts'
import type { MergedGroup } from '../discovery/merged-resources.ts'
import { relay } from '../live/relay.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { OpenApiIndex, OpenApiOptions } from './serve-openapi.ts'
import { openApiGroupVersion, readOpenApiIndex, serveOpenApi } from './serve-openapi.ts'

export interface HostOpenApi extends OpenApiOptions {
  readonly members: readonly Member[]
  /** What is registered, as the members serve it. */
  readonly registered: readonly MergedGroup[]
  /** Asks the control plane for the request's own path. */
  ask(): Promise<MemberResponse>
}

export async function serveHostOpenApi(request: ProxyRequest, options: HostOpenApi): Promise<void> {
  const path = request.path.replace(/\/$/, '')
  const answer = await options.ask()
  if (path === '/openapi/v3' && answer.status === 200 && options.members.length > 0) {
    const host = JSON.parse((await answer.bytes()).toString('utf8')) as OpenApiIndex
    return sendJson(request, { paths: { ...(await missingPaths(host, request, options)), ...host.paths } })
  }
  const gv = openApiGroupVersion(path)
  const isRegistered = gv !== undefined && registeredPaths(options.registered).has(groupVersionPath(gv).slice(1))
  if (answer.status !== 404 || !isRegistered) return relay(request, answer)
  await answer.bytes()
  await serveOpenApi(request, options.members, options)
}

async function missingPaths(host: OpenApiIndex, { request }: ProxyRequest, options: HostOpenApi): Promise<object> {
  const missing = new Set([...registeredPaths(options.registered)].filter((path) => !Object.hasOwn(host.paths, path)))
  if (missing.size === 0) return {}
  const index = await readOpenApiIndex(options.members, options, request.signal)
  return Object.fromEntries(Object.entries(index.paths).filter(([path]) => missing.has(path)))
}

/** As the index names them: `apis/apps/v1`. */
function registeredPaths(groups: readonly MergedGroup[]): Set<string> {
  const paths = groups.flatMap(({ group, versions }) =>
    versions.map(({ version }) => groupVersionPath({ group, version }).slice(1)),
  )
  return new Set(paths)
}

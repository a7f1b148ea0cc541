/**
 * Plugin 3000 where there is no control plane (`up`, `demo`): whatever is not registered is read live from the members;
 * discovery is theirs merged; documents that are the same everywhere come from any of them.
 */
import { sendJson } from '../../http/answer.ts'
import { pathNotFound } from '../../http/status-response.ts'
import type { Member } from '../../fleet/member.ts'
import { discoveryForm, parseDiscoveryPath } from '../discovery/discovery-path.ts'
import { documentOf, MemberApi } from '../discovery/member-api.ts'
import { rootPaths } from '../discovery/root-paths.ts'
import { sendDocument } from '../discovery/send-document.ts'
import { isPublicPath, relayFromAny } from '../live/any-member.ts'
import { readLowestVersion } from '../live/lowest-version.ts'
import type { LiveServices } from '../live/serve-live.ts'
import { serveLive } from '../live/serve-live.ts'
import { asCaller } from '../live/as-caller.ts'
import { memberDestination } from '../forward/destination.ts'
import { routeUnregistered } from '../forward/route-unregistered.ts'
import { serveOwned, type WriteServices } from '../write/write.ts'
import { findLiveTarget, nobodyHeard } from '../live/target.ts'
import { isOpenApiPath, serveOpenApi } from '../openapi/serve-openapi.ts'
import { auditCluster, type Plugin, type ProxyRequest } from '../plugin.ts'
import type { MemberDiscovery } from '../ports.ts'
import { answerLocalReview } from '../local-review.ts'
import { isSelfReview } from '../self-review.ts'

export interface MembersPluginOptions extends LiveServices, WriteServices {
  readonly discovery: MemberDiscovery
  /** Whether a caller may change anything; undefined: nobody may. */
  readonly mayWrite?: ((request: ProxyRequest) => boolean) | undefined
}

export function createMembersPlugin(options: MembersPluginOptions): Plugin {
  const api = new MemberApi(options.fleet, options.discovery)
  return {
    name: 'members',
    order: 3000,
    supports: () => true,
    async connect(request) {
      const { method } = request.request
      const mayWrite = options.mayWrite?.(request) ?? false
      // Who the caller is in a chosen cluster is that cluster's to say, what this server lets through is not.
      if (isSelfReview(request) && (request.cluster === undefined || request.path.startsWith(AUTHORIZATION))) {
        if (request.cluster !== undefined) auditCluster(request, request.cluster)
        return answerLocalReview(request, { ...options, members: asked(options, request), mayWrite })
      }
      if (method !== 'GET' && method !== 'HEAD') return serveUnregistered(options, request)
      if (await serveDiscovery(request, api)) return
      if (isPublicPath(request.path)) return servePublic(options, request)
      await serveUnregistered(options, request)
    },
  }
}

/** Answers a discovery path, and the root; false for any other. */
export async function serveDiscovery(request: ProxyRequest, api: MemberApi): Promise<boolean> {
  const path = parseDiscoveryPath(request.path)
  if (path === undefined && request.path !== '/') return false
  const groups = api.groups(request.cluster)
  if (groups === undefined) throw nobodyHeard()
  if (path === undefined) {
    await sendJson(request, rootPaths(groups))
    return true
  }
  const form = discoveryForm(request.request.incoming.headers.accept, path)
  const document = documentOf(groups, path, form)
  if (document === undefined) throw pathNotFound()
  await sendDocument(request, document, form)
  return true
}

/** Answers `/version`, `/openapi` and the like. */
export async function servePublic(options: MembersPluginOptions, request: ProxyRequest): Promise<void> {
  const members = reachable(options, request)
  if (request.cluster !== undefined) auditCluster(request, request.cluster)
  if (isOpenApiPath(request.path)) return serveOpenApi(request, members, options)
  if (request.path === '/version' && members.length > 1) {
    return sendJson(request, await readLowestVersion(members, options.clock, request.request.signal))
  }
  await relayFromAny(request, members, options)
}

const AUTHORIZATION = '/apis/authorization.k8s.io/'

/** All of them, or the chosen one: whoever cannot be reached is named. */
function asked(
  { fleet }: Pick<MembersPluginOptions, 'fleet'>,
  { cluster }: Pick<ProxyRequest, 'cluster'>,
): readonly Member[] {
  return fleet.members().filter(({ facts }) => cluster === undefined || facts.name === cluster)
}

export function reachable({ fleet }: MembersPluginOptions, { cluster }: ProxyRequest): readonly Member[] {
  const members = asked({ fleet }, { cluster })
  const known = members.filter(({ facts }) => facts.unreachable === undefined)
  return known.length > 0 ? known : members
}

/**
 * Reads of what nobody registered are joined live, as the caller; everything else goes to the one member it is about. What is no
 * resource is a chosen member's own.
 */
export async function serveUnregistered(options: MembersPluginOptions, request: ProxyRequest): Promise<void> {
  const { resource, cluster, verb } = request
  const reads = verb === 'get' || verb === 'list' || verb === 'watch'
  if (resource === undefined && cluster !== undefined) {
    const { member } = await routeUnregistered(options, request)
    auditCluster(request, cluster)
    return options.forwarder.forward(request, memberDestination(member))
  }
  if (resource === undefined) throw pathNotFound()
  if (!reads || resource.subresource !== undefined) {
    return serveOwned(options, request, await routeUnregistered(options, request))
  }
  const target = findLiveTarget(options, resource, cluster)
  if (target === undefined) throw pathNotFound()
  if (cluster !== undefined) auditCluster(request, cluster)
  await serveLive({ ...options, rights: undefined }, request, resource, asCaller(target, request, options.forwarder))
}

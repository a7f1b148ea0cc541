/**
 * Plugin 3000 in Karmada (`serve`): everything else is the control plane's, asked as the caller and never as ourselves.
 * Its discovery is widened by registered kinds that only members serve. A chosen member is asked for its documents alone.
 */
import type { CacheReader } from '../../cache/reader.ts'
import { isMemberError } from '../../fleet/member-error.ts'
import type { MemberResponse } from '../../fleet/member.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { DiscoveryForm, DiscoveryPath } from '../discovery/discovery-path.ts'
import { discoveryForm, parseDiscoveryPath } from '../discovery/discovery-path.ts'
import type { Document } from '../discovery/documents.ts'
import { documentOf, MemberApi } from '../discovery/member-api.ts'
import { mergeDocuments } from '../discovery/merge-documents.ts'
import type { MergedGroup } from '../discovery/merged-resources.ts'
import { sendDocument } from '../discovery/send-document.ts'
import { hostDestination } from '../forward/destination.ts'
import { faultedAnswer } from '../forward/faulted-answer.ts'
import { impersonationHeaders } from '../impersonation.ts'
import { isPublicPath } from '../live/any-member.ts'
import { forwardedHeaders, relay, relayStream } from '../live/relay.ts'
import { serveHostOpenApi } from '../openapi/host-openapi.ts'
import { isOpenApiPath } from '../openapi/serve-openapi.ts'
import type { Plugin, ProxyRequest } from '../plugin.ts'
import type { HostClient } from '../ports.ts'
import type { ResourceRule } from '../registered-review.ts'
import { registeredRules, reviewRegistered, withoutRegistered } from '../registered-review.ts'
import { parseReview } from '../../kube/self-review.ts'
import { isSelfReview, reviewBody, sendReview } from '../self-review.ts'
import type { MembersPluginOptions } from './members.ts'
import { reachable, serveDiscovery, servePublic, serveUnregistered } from './members.ts'

export interface KarmadaPluginOptions extends MembersPluginOptions {
  readonly host: HostClient
  readonly cache: Pick<CacheReader, 'resource'>
}

/** A control plane gives a list 60 s itself. */
const HEAD_MS = 60_000

/** A kube-apiserver ends a watch that names no end within an hour. */
const WATCH_SECONDS = 3_600
const END_GRACE_MS = 15_000

/**
 * A control plane that hangs must not look like one in which nothing happens: when it has not ended a watch whose time is over,
 * the client is cut off, and asks again.
 */
function watchSilenceMs(query: URLSearchParams): number {
  const seconds = Number(query.get('timeoutSeconds'))
  return (seconds > 0 ? seconds : WATCH_SECONDS) * 1_000 + END_GRACE_MS
}

export function createKarmadaPlugin(options: KarmadaPluginOptions): Plugin {
  const api = new MemberApi(options.fleet, options.discovery)
  return {
    name: 'karmada',
    order: 3000,
    supports: () => true,
    async connect(request) {
      const { method } = request.request
      // What one member allows the caller is that member's own to say.
      if (isSelfReview(request) && request.cluster === undefined) return answerReview(options, api, request)
      if (request.cluster !== undefined) return serveMember(options, api, request)
      const reads = method === 'GET' || method === 'HEAD'
      if (!reads || request.resource?.subresource !== undefined) {
        return options.forwarder.forward(request, hostDestination(options.host))
      }
      const path = parseDiscoveryPath(request.path)
      if (path !== undefined) return serveMergedDiscovery(options, api, request, path)
      if (isOpenApiPath(request.path)) {
        return serveHostOpenApi(request, {
          ...options,
          members: reachable(options, request),
          registered: registeredOnly(api.groups(undefined) ?? [], options.cache),
          ask: () => askHost(options, request, forwardedHeaders(request), false),
        })
      }
      await readHost(options, request)
    },
  }
}

/** Documents that every authenticated caller may read, and whatever else that member allows the caller. */
async function serveMember(options: KarmadaPluginOptions, api: MemberApi, request: ProxyRequest): Promise<void> {
  const { method } = request.request
  const reads = method === 'GET' || method === 'HEAD'
  if (reads && (await serveDiscovery(request, api))) return
  if (reads && isPublicPath(request.path)) return servePublic(options, request)
  await serveUnregistered(options, request)
}

async function readHost(options: KarmadaPluginOptions, request: ProxyRequest): Promise<void> {
  const streams = request.verb === 'watch'
  const answer = await askHost(options, request, forwardedHeaders(request), streams)
  await (streams ? relayStream(request, answer) : relay(request, answer))
}

/** Of registered kinds the members tell, of everything else the control plane, which is asked as the caller. */
async function answerReview(options: KarmadaPluginOptions, api: MemberApi, request: ProxyRequest): Promise<void> {
  const body = await reviewBody(request.request.incoming)
  const review = parseReview(body, request.path)
  const attributes = review.spec?.resourceAttributes
  const { user, signal } = request.request
  const rights = options.rights?.rights
  const { cache } = options
  const registered = rights === undefined ? undefined : { cache, rights, user, signal }
  if (registered !== undefined && attributes !== undefined) {
    const status = await reviewRegistered(registered, attributes)
    if (status !== undefined) return sendReview(request, review, status)
  }
  const type = request.request.incoming.headers['content-type'] ?? 'application/json'
  const isRules = review.kind === 'SelfSubjectRulesReview'
  const accept = isRules ? { accept: 'application/json' } : {}
  const headers = { ...forwardedHeaders(request), ...accept, 'content-type': type }
  const answer = await askHost(options, request, headers, false, body)
  if (!isRules || registered === undefined || answer.status !== 201) return relay(request, answer)
  const { status } = JSON.parse((await answer.bytes()).toString('utf8')) as {
    status: { resourceRules: ResourceRule[] }
  }
  const groups = registeredOnly(api.groups(undefined) ?? [], cache)
  const own = await registeredRules(registered, groups, review.spec?.namespace ?? '')
  const resourceRules = [...own, ...withoutRegistered(status.resourceRules, cache)]
  await sendReview(request, review, { ...status, resourceRules })
}

async function askHost(
  { host }: KarmadaPluginOptions,
  { path, request }: ProxyRequest,
  headers: Record<string, string>,
  streams: boolean,
  body?: Uint8Array,
): Promise<MemberResponse> {
  const identity = impersonationHeaders(request.user)
  try {
    const answer = await host.request({
      method: request.method,
      path: request.rawQuery === '' ? path : `${path}?${request.rawQuery}`,
      headers: { ...headers, ...identity },
      ...(body === undefined ? {} : { body }),
      headersTimeoutMs: HEAD_MS,
      ...(streams ? { idleMs: watchSilenceMs(request.query) } : {}),
      signal: request.signal,
    })
    return faultedAnswer(answer, hostFault)
  } catch (error) {
    throw hostFault(error)
  }
}

/** Only reads, and reviews, which change nothing, are asked here: they may be asked again. */
function hostFault(error: unknown): unknown {
  if (!isMemberError(error)) return error
  return new StatusError('serviceUnavailable', `the control plane does not answer: ${error.message}`, {
    details: { retryAfterSeconds: 1 },
    cause: error,
  })
}

async function serveMergedDiscovery(
  options: KarmadaPluginOptions,
  api: MemberApi,
  request: ProxyRequest,
  path: DiscoveryPath,
): Promise<void> {
  const form = discoveryForm(request.request.incoming.headers.accept, path)
  const own = registeredOnly(api.groups(undefined) ?? [], options.cache)
  const headers = { accept: acceptOf(form) }
  const answer = await askHost(options, { ...request, request: { ...request.request, method: 'GET' } }, headers, false)
  if (answer.status !== 200) {
    const alone = answer.status === 404 ? documentOf(own, path, form) : undefined
    if (alone === undefined) return relay(request, answer)
    await answer.bytes()
    return sendDocument(request, alone, form)
  }
  const host = JSON.parse((await answer.bytes()).toString('utf8')) as Document
  const plain = host['kind'] !== 'APIGroupDiscoveryList'
  const shown: DiscoveryForm = plain && form.aggregated !== undefined ? { aggregated: undefined, format: 'json' } : form
  const members = documentOf(own, path, shown)
  await sendDocument(request, members === undefined ? host : mergeDocuments(host, members), shown)
}

function acceptOf(form: DiscoveryForm): string {
  if (form.aggregated === undefined) return 'application/json'
  return `application/json;g=apidiscovery.k8s.io;v=${form.aggregated};as=APIGroupDiscoveryList,application/json`
}

/** A kind that nobody registered would be asked of the control plane, which does not have it. */
function registeredOnly(groups: readonly MergedGroup[], cache: Pick<CacheReader, 'resource'>): MergedGroup[] {
  return groups
    .map(({ group, versions }) => ({
      group,
      versions: versions
        .map(({ version, resources }) => ({
          version,
          resources: resources.filter((resource) => cache.resource(resource) !== undefined),
        }))
        .filter(({ resources }) => resources.length > 0),
    }))
    .filter(({ versions }) => versions.length > 0)
}

/**
 * `/openapi/v2` and `/openapi/v3` of our own group, made from what the registry knows of its fields. The same program
 * serves the same bytes from every replica. Source: kube-openapi pkg/handler, pkg/handler3.
 */
import { createHash } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import { SEARCH_GROUP, SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import { parseAccept } from '../http/accept.ts'
import { sendBytes, type Exchange } from '../http/answer.ts'
import { pathNotFound } from '../http/status-response.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Clock } from '../util/clock.ts'
import { META_DEFINITIONS } from './openapi/meta-model.ts'
import { META, type Definitions } from './openapi/model.ts'
import { GROUP_PATHS, VERSION_PATHS } from './openapi/operations.ts'
import { registryDefinitions } from './openapi/registry-model.ts'
import { openApiV2 } from './openapi/v2.ts'
import { openApiV3 } from './openapi/v3.ts'

interface Document {
  readonly bytes: Buffer
  /** Changes with the bytes. */
  readonly hash: string
}

const V3 = '/openapi/v3'
const YEAR_MS = 365 * 24 * 3600 * 1000

export type OpenApi = (exchange: Exchange) => Promise<void>

/** Answers reads of `/openapi/…`. Throws `notFound` for a document that there is not, `notAcceptable` for any format but JSON. */
export function createOpenApi(clock: Pick<Clock, 'nowMs'>): OpenApi {
  const definitions: Definitions = { ...META_DEFINITIONS, ...registryDefinitions() }
  const v2 = documentOf(openApiV2({ ...GROUP_PATHS, ...VERSION_PATHS }, definitions))
  const v3 = new Map([
    [`apis/${SEARCH_GROUP}`, documentOf(openApiV3(GROUP_PATHS, groupDefinitions()))],
    [`apis/${SEARCH_GROUP_VERSION}`, documentOf(openApiV3(VERSION_PATHS, definitions))],
  ])
  const index = documentOf({
    paths: Object.fromEntries([...v3].map(([path, { hash }]) => [path, { serverRelativeURL: urlOf(path, hash) }])),
  })
  return (exchange) => {
    const { path } = exchange.request
    if (path === V3) return send(exchange, index)
    if (path === '/openapi/v2') return send(exchange, v2)
    const name = path.slice(V3.length + 1)
    const document = path.startsWith(`${V3}/`) ? v3.get(name) : undefined
    if (document === undefined) throw pathNotFound()
    return sendHashed(exchange, name, document, clock)
  }
}

function groupDefinitions(): Definitions {
  const names = ['APIGroup', 'GroupVersionForDiscovery', 'ServerAddressByClientCIDR'].map((name) => `${META}.${name}`)
  return Object.fromEntries(Object.entries(META_DEFINITIONS).filter(([name]) => names.includes(name)))
}

function documentOf(value: object): Document {
  const bytes = Buffer.from(JSON.stringify(value))
  return { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() }
}

function urlOf(path: string, hash: string): string {
  return `${V3}/${path}?hash=${hash}`
}

/**
 * What is asked for by its hash never changes; another hash than ours leads to ours. A kube-apiserver in front of us makes
 * 502 of a redirect, and asks by an old hash for a while after an upgrade: there the document itself, not to be kept.
 */
function sendHashed(exchange: Exchange, path: string, document: Document, clock: Pick<Clock, 'nowMs'>): Promise<void> {
  const { query, incoming } = exchange.request
  const asked = query.get('hash') ?? ''
  if (asked === document.hash) {
    const expires = new Date(clock.nowMs() + YEAR_MS).toUTCString()
    return send(exchange, document, { 'cache-control': 'public, immutable', expires })
  }
  if (asked === '' || incoming.headers['x-forwarded-for'] !== undefined) return send(exchange, document)
  requireJson(exchange)
  const headers = { location: urlOf(path, document.hash), vary: 'Accept', 'content-type': 'text/plain; charset=utf-8' }
  return sendBytes(exchange, { status: 301, headers }, Buffer.alloc(0))
}

function send(exchange: Exchange, { bytes, hash }: Document, more: OutgoingHttpHeaders = {}): Promise<void> {
  requireJson(exchange)
  const headers = { etag: `"${hash}"`, vary: 'Accept', ...more }
  if (!knows(exchange, hash)) {
    return sendBytes(exchange, { headers: { 'content-type': 'application/json', ...headers } }, bytes)
  }
  exchange.response.writeHead(304, { 'cache-control': 'no-cache, private', ...headers })
  exchange.response.end()
  return Promise.resolve()
}

/** Whether If-None-Match names the document, also as a weak tag: proxies that compress make it one. */
function knows({ request }: Exchange, hash: string): boolean {
  const tags = request.incoming.headers['if-none-match']?.split(',').map((tag) => tag.trim()) ?? []
  return tags.some((tag) => tag === '*' || tag.replace(/^W\//, '') === `"${hash}"`)
}

/** A kube-apiserver that aggregates us prefers protobuf, which we do not speak; JSON is its second choice. */
function requireJson({ request }: Exchange): void {
  const accept = request.incoming.headers.accept
  if (accept === undefined || accept.trim() === '') return
  const takesJson = parseAccept(accept).some(
    ({ type, subtype }) => (type === 'application' || type === '*') && (subtype === 'json' || subtype === '*'),
  )
  if (!takesJson) throw new StatusError('notAcceptable', 'only application/json is served here', { details: {} })
}

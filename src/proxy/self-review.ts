/**
 * Self reviews: POSTs that ask what the caller itself may do or is (`kubectl auth can-i`, `auth whoami`), and write nothing.
 */
import type { IncomingMessage } from 'node:http'
import { sendBytes } from '../http/answer.ts'
import { readBytes } from '../http/request-body.ts'
import { readEnvelope, readFields, textOf, type KubernetesEnvelope, type ProtobufFields } from '../kube/protobuf.ts'
import { badRequest } from '../kube/status-error.ts'
import type { ProxyRequest } from './plugin.ts'

const SELF_REVIEWS: ReadonlySet<string> = new Set([
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  '/apis/authentication.k8s.io/v1/selfsubjectreviews',
])

/** A review is a few hundred bytes. */
const MAX_BYTES = 64 * 1024

export function isSelfReview({ path, request }: ProxyRequest): boolean {
  return request.method === 'POST' && SELF_REVIEWS.has(path)
}

/** The body, to be forwarded as it is. Throws `requestEntityTooLarge`. */
export function reviewBody(incoming: IncomingMessage): Promise<Buffer> {
  return readBytes(incoming, MAX_BYTES)
}

export interface Review {
  readonly apiVersion?: unknown
  readonly kind?: unknown
  readonly spec?: {
    readonly resourceAttributes?: ResourceAttributes
    readonly nonResourceAttributes?: { readonly verb?: unknown }
    /** Of a rules review. */
    readonly namespace?: string
  }
}

export interface ResourceAttributes {
  readonly namespace?: string
  readonly verb?: string
  readonly group?: string
  readonly version?: string
  readonly resource?: string
  readonly subresource?: string
  readonly name?: string
}

const READS = ['get', 'list', 'watch']

/**
 * Answers for the one user of `demo` and `up`: through this server everything may be read, and changed by who has its token.
 * What each member allows is the member's to say when it is asked.
 */
export async function answerLocalReview(request: ProxyRequest, mayWrite: boolean): Promise<void> {
  const review = parseReview(await reviewBody(request.request.incoming))
  await sendReview(request, review, statusOf(review, request, mayWrite))
}

/** The review with its answer. */
export async function sendReview(request: ProxyRequest, review: Review, status: object): Promise<void> {
  const answer = JSON.stringify({ ...review, status })
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }
  await sendBytes(request, { status: 201, headers }, Buffer.from(answer))
}

/** JSON or protobuf. Throws `badRequest`. */
export function parseReview(body: Buffer): Review {
  const envelope = readEnvelope(body)
  if (envelope !== undefined) return fromProtobuf(envelope)
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Told below.
  }
  throw badRequest('the body of a review must be a JSON object, or protobuf')
}

/** kubectl sends reviews as protobuf. Field numbers: k8s.io/api authorization/v1/generated.proto. */
function fromProtobuf({ apiVersion, kind, raw }: KubernetesEnvelope): Review {
  const spec = message(readFields(raw), 2)
  if (kind === 'SelfSubjectRulesReview') {
    return { apiVersion, kind, spec: spec === undefined ? {} : { namespace: textOf(spec, 1) } }
  }
  const resource = message(spec, 1)
  const path = message(spec, 2)
  return {
    apiVersion,
    kind,
    spec: {
      ...(resource === undefined ? {} : { resourceAttributes: texts(resource, RESOURCE_FIELDS) }),
      ...(path === undefined ? {} : { nonResourceAttributes: texts(path, ['path', 'verb']) }),
    },
  }
}

const RESOURCE_FIELDS = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name']

function message(fields: ProtobufFields | undefined, number: number): ProtobufFields | undefined {
  const bytes = fields?.get(number)?.at(-1)
  return bytes === undefined ? undefined : readFields(bytes)
}

/** Fields 1, 2, … by name, those that are set. */
function texts(fields: ProtobufFields, names: readonly string[]): Record<string, string> {
  const entries = names.map((name, i) => [name, textOf(fields, i + 1)] as const)
  return Object.fromEntries(entries.filter(([, text]) => text !== ''))
}

function statusOf({ kind, spec }: Review, { request: { user } }: ProxyRequest, mayWrite: boolean): object {
  switch (kind) {
    case 'SelfSubjectAccessReview': {
      const verb = (spec?.resourceAttributes ?? spec?.nonResourceAttributes)?.verb
      const allowed = typeof verb === 'string' && (mayWrite || READS.includes(verb))
      return allowed ? { allowed } : { allowed, reason: 'this server is read-only' }
    }
    case 'SelfSubjectRulesReview':
      return {
        resourceRules: [{ verbs: mayWrite ? ['*'] : READS, apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*'] }],
        incomplete: false,
      }
    case 'SelfSubjectReview':
      return { userInfo: { username: user.name, groups: user.groups } }
    default:
      throw badRequest(`no review of kind ${JSON.stringify(kind)} is known here`)
  }
}

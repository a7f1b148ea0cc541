/** Self reviews as they are sent: JSON by most, protobuf by kubectl. */
import { readEnvelope, readFields, textOf, type KubernetesEnvelope, type ProtobufFields } from './protobuf.ts'
import { badRequest } from './status-error.ts'

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

const KINDS: Readonly<Record<string, { readonly apiVersion: string; readonly kind: string }>> = {
  selfsubjectaccessreviews: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' },
  selfsubjectrulesreviews: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview' },
  selfsubjectreviews: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
}

/** JSON or protobuf. One that does not say what it is, is what its path is for, as in a kube-apiserver. Throws `badRequest`. */
export function parseReview(body: Buffer, path: string): Review {
  const resource = path.slice(path.lastIndexOf('/') + 1)
  const { kind, apiVersion, ...rest } = parse(body)
  const named = kind === undefined || kind === '' ? KINDS[resource] : { apiVersion, kind }
  return { ...named, ...rest }
}

function parse(body: Buffer): Review {
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

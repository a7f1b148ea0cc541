/**
 * Translates protobuf without schemas: in every built-in kind that is stored or scaled field 1 is the ObjectMeta, in a list the
 * ListMeta with the items behind it. `DeleteOptions` and Eviction are the exceptions that carry preconditions.
 * Field numbers: k8s.io/apimachinery pkg/apis/meta/v1/generated.proto, pkg/runtime/generated.proto; k8s.io/api policy/v1.
 */
import { lengthDelimited, rewriteFields, type FieldRewrite } from '../../kube/protobuf-rewrite.ts'
import { readEnvelope, readFields, textOf } from '../../kube/protobuf.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import { isTakenOut, ownersVersion, type BodyShape, type Mode, type Rules } from './rules.ts'

const MAGIC_BYTES = 4
const UNKNOWN = { raw: 2, contentEncoding: 3, contentType: 4 } as const
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const OBJECT_META = { resourceVersion: 6, annotations: 12 } as const
const LIST_META_VERSION = 2
const DELETE_OPTIONS_PRECONDITIONS = 2
const PRECONDITIONS_VERSION = 2
const EVICTION_OPTIONS = 2

/**
 * What a body is follows from its request, not from what it says of itself: a kube-apiserver takes `DeleteOptions` without a
 * kind too. Throws `badRequest` for what is no Kubernetes envelope.
 */
export function translateProtobuf(body: Buffer, rules: Rules, mode: Mode, shape: BodyShape): Buffer {
  const envelope = readEnvelope(body)
  if (envelope === undefined) throw notProtobuf()
  const fields = readFields(body.subarray(MAGIC_BYTES))
  const type = fields === undefined ? '' : textOf(fields, UNKNOWN.contentType)
  const packed = fields === undefined ? '' : textOf(fields, UNKNOWN.contentEncoding)
  if ((type !== '' && type !== PROTOBUF) || packed !== '') {
    throw new StatusError('unsupportedMediaType', 'only plain protobuf is taken inside of protobuf', { details: {} })
  }
  const inside = rewriterOf(envelope.kind, shape, rules, mode)
  const unknown = whole(
    rewriteFields(body.subarray(MAGIC_BYTES), (n, value) => (n === UNKNOWN.raw ? nested(value, inside) : value)),
  )
  return unknown.length === body.length - MAGIC_BYTES && unknown.buffer === body.buffer
    ? body
    : Buffer.concat([body.subarray(0, MAGIC_BYTES), unknown])
}

function rewriterOf(kind: string, shape: BodyShape, rules: Rules, mode: Mode): FieldRewrite {
  if (shape === 'deleteOptions') return deleteOptions(rules)
  if (shape === 'eviction') {
    return (number, value) =>
      number === EVICTION_OPTIONS ? nested(value, deleteOptions(rules)) : object(rules, 'merge')(number, value)
  }
  if (!kind.endsWith('List')) return object(rules, mode)
  return (number, value) => {
    if (number === 1)
      return nested(value, (n, version) => (n === LIST_META_VERSION ? versionOf(version, rules) : version))
    return number === 2 ? nested(value, object(rules, mode)) : value
  }
}

function object(rules: Rules, mode: Mode): FieldRewrite {
  return (number, value) => (number === 1 ? objectMeta(value, rules, mode) : value)
}

function objectMeta(bytes: Buffer, rules: Rules, mode: Mode): Buffer {
  const present = new Set<string>()
  const rewrite: FieldRewrite = (number, value) => {
    if (number === OBJECT_META.resourceVersion) return versionOf(value, rules)
    if (number !== OBJECT_META.annotations) return value
    const key = annotationKey(value)
    if (!isTakenOut(key)) return value
    const own = mode === 'merge' ? undefined : rules.own.get(key)
    if (own !== undefined) present.add(key)
    return own === undefined ? undefined : entry(key, own)
  }
  const rewritten = nested(bytes, rewrite)
  if (mode !== 'replace') return rewritten
  const missing = [...rules.own].filter(([key]) => !present.has(key))
  const appended = missing.map(([key, value]) => lengthDelimited(OBJECT_META.annotations, entry(key, value)))
  return appended.length === 0 ? rewritten : Buffer.concat([rewritten, ...appended])
}

function annotationKey(value: Buffer): string {
  const fields = readFields(value)
  if (fields === undefined) throw notProtobuf()
  return textOf(fields, 1)
}

function entry(key: string, value: string): Buffer {
  return Buffer.concat([lengthDelimited(1, Buffer.from(key)), lengthDelimited(2, Buffer.from(value))])
}

function deleteOptions(rules: Rules): FieldRewrite {
  return (number, value) => {
    if (number !== DELETE_OPTIONS_PRECONDITIONS) return value
    return nested(value, (n, version) => (n === PRECONDITIONS_VERSION ? versionOf(version, rules) : version))
  }
}

function versionOf(value: Buffer, rules: Rules): Buffer {
  const version = value.toString('utf8')
  const own = ownersVersion(version, rules)
  return own === version ? value : Buffer.from(own)
}

function nested(bytes: Buffer, rewrite: FieldRewrite): Buffer {
  return whole(rewriteFields(bytes, rewrite))
}

function whole(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw notProtobuf()
  return bytes
}

function notProtobuf(): StatusError {
  return badRequest('the body is no protobuf of Kubernetes')
}

/** A body on its way to a member: what it is by its media type, and what of it is translated. */
import { isMalformed } from '../live/malformed.ts'
import { applyEdits, wholeValue, type Edit } from '../../kube/json-splice.ts'
import type { Span } from '../../kube/object-spans.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import type { ProxyRequest } from '../plugin.ts'
import { subresourceOf } from '../forward/streaming.ts'
import { deleteOptionsEdits, evictionEdits, objectEdits } from './json-object.ts'
import { jsonPatchEdits } from './json-patch.ts'
import { translateProtobuf } from './protobuf-object.ts'
import type { BodyShape, Mode, Rules } from './rules.ts'
import { translateYaml } from './yaml-object.ts'

export type BodyFormat = 'json' | 'jsonPatch' | 'mergePatch' | 'strategicPatch' | 'applyYaml' | 'yaml' | 'protobuf'

const FORMATS: Readonly<Record<string, BodyFormat>> = {
  '': 'json',
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/vnd.kubernetes.protobuf': 'protobuf',
  'application/json-patch+json': 'jsonPatch',
  'application/merge-patch+json': 'mergePatch',
  'application/strategic-merge-patch+json': 'strategicPatch',
  'application/apply-patch+yaml': 'applyYaml',
}

const OF_PATCHES: ReadonlySet<BodyFormat> = new Set(['jsonPatch', 'mergePatch', 'strategicPatch', 'applyYaml'])

/**
 * Throws `unsupportedMediaType` as a kube-apiserver does, also for types that it may take one day: what cannot be read here
 * cannot be translated either.
 */
export function bodyFormat({ verb, request }: Pick<ProxyRequest, 'verb' | 'request'>): BodyFormat {
  const type = (request.incoming.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const format = Object.hasOwn(FORMATS, type) ? FORMATS[type] : undefined
  if (format !== undefined && OF_PATCHES.has(format) === (verb === 'patch')) return format
  const accepted = Object.entries(FORMATS).filter(
    ([name, f]) => name !== '' && OF_PATCHES.has(f) === (verb === 'patch'),
  )
  throw new StatusError(
    'unsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.map(([name]) => name).join(', ')}`,
    { details: {} },
  )
}

/** Bytes that the member is sent. Throws `badRequest` for what cannot be read, and as `ownersVersion`. */
export function translateBody(body: Buffer, format: BodyFormat, request: ProxyRequest, rules: Rules): Buffer {
  const shape = shapeOf(request)
  switch (format) {
    case 'protobuf':
      return translateProtobuf(body, rules, 'replace', shape)
    case 'jsonPatch':
      return json(body, (whole) => jsonPatchEdits(body, whole, rules))
    case 'mergePatch':
    case 'strategicPatch':
      return json(body, (whole) => objectEdits(body, whole.start, rules, 'merge'))
    case 'json':
      return json(body, (whole) => shapedEdits(body, whole, rules, shape))
    case 'yaml':
    case 'applyYaml':
      return yaml(body, rules, format === 'applyYaml' ? 'apply' : 'replace', shape)
    default:
      return format satisfies never
  }
}

function shapeOf(request: ProxyRequest): BodyShape {
  if (request.verb === 'delete' || request.verb === 'deletecollection') return 'deleteOptions'
  return subresourceOf(request) === 'eviction' ? 'eviction' : 'object'
}

function shapedEdits(body: Buffer, { start }: Span, rules: Rules, shape: BodyShape): Edit[] {
  switch (shape) {
    case 'deleteOptions':
      return deleteOptionsEdits(body, start, rules)
    case 'eviction':
      return evictionEdits(body, start, rules)
    case 'object':
      return objectEdits(body, start, rules, 'replace')
    default:
      return shape satisfies never
  }
}

function json(body: Buffer, edits: (whole: Span) => Edit[]): Buffer {
  try {
    return applyEdits(body, edits(wholeValue(body)))
  } catch (error) {
    throw isMalformed(error) ? badRequest(`the body is no JSON: ${error.message}`) : error
  }
}

/** JSON is YAML as a rule, and kubectl sends it under YAML's name. */
function yaml(body: Buffer, rules: Rules, mode: Mode, shape: BodyShape): Buffer {
  const whole = jsonValue(body)
  if (whole !== undefined) {
    return applyEdits(
      body,
      shape === 'object' ? objectEdits(body, whole.start, rules, mode) : shapedEdits(body, whole, rules, shape),
    )
  }
  const text = body.toString('utf8')
  const translated = translateYaml(text, rules, mode, shape)
  return translated === text ? body : Buffer.from(translated, 'utf8')
}

function jsonValue(body: Buffer): Span | undefined {
  try {
    return wholeValue(body)
  } catch (error) {
    if (isMalformed(error)) return undefined
    throw error
  }
}

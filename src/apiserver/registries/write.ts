/** Writes of ResourceRegistries: bodies to changes. */
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import type { ApiRequest } from '../../http/api-request.ts'
import { badRequest } from '../../kube/status-error.ts'
import { cannotDecode, decodeRegistry } from '../../registry/decode.ts'
import { decodeConfiguration } from '../../registry/field-ownership/registry-ownership.ts'
import { parseJsonPatch } from '../../registry/json-patch.ts'
import { mergePatch } from '../../registry/merge-patch.ts'
import type { Change } from '../../registry/resource-registries.ts'
import { mediaType, readBody, unsupportedType } from './decode-body.ts'
import type { WriteQuery } from './write-options.ts'

/** Warnings for the `Warning` header, each of a kind of RFC 7234; filled by writes. */
export type Warnings = string[]

export async function readRegistry(
  { incoming }: ApiRequest,
  query: WriteQuery,
  warnings: Warnings,
): Promise<ResourceRegistry> {
  const { value, faults } = await readBody(incoming)
  return decoded(value, faults, query, warnings)
}

/** PUT. Throws `badRequest` where the body is about another object than the path. */
export function replaceBy(input: ResourceRegistry, name: string): Change {
  const own = input.metadata.name
  if (own !== name && own !== '') throw nameMismatch(own, name)
  if (own === '') throw badRequest('name must be provided')
  return () => input
}

const MERGE = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const APPLY = 'application/apply-patch+yaml'

const PATCH_TYPES = [JSON_PATCH, MERGE, STRATEGIC, APPLY]

/** A PATCH that is a configuration: server-side apply. */
export function isApply({ incoming }: ApiRequest): boolean {
  return mediaType(incoming) === APPLY
}

/** Throws `badRequest`. */
export async function readConfiguration(
  { incoming }: ApiRequest,
  query: WriteQuery,
  warnings: Warnings,
  name: string,
): Promise<object> {
  const { value, faults } = await readBody(incoming, PATCH_TYPES)
  strict(faults, query, warnings)
  const config = decodeConfiguration(value) as { readonly metadata?: { readonly name?: string } }
  if ((config.metadata?.name ?? name) !== name) throw nameMismatch(config.metadata?.name ?? '', name)
  return config
}

/** PATCH. Throws unsupportedMediaType, badRequest. */
export async function patchBy({ incoming }: ApiRequest, query: WriteQuery, warnings: Warnings): Promise<Change> {
  const type = mediaType(incoming)
  if (!PATCH_TYPES.includes(type)) throw unsupportedType(type, PATCH_TYPES)
  const { value, faults } = await readBody(incoming, PATCH_TYPES)
  const patch = type === JSON_PATCH ? parseJsonPatch(value) : parseMergePatch(value, type === STRATEGIC)
  return (stored) => {
    warnings.length = 0 // a change is made again where another writer came first
    const patched = decoded(patch(stored), faults, query, warnings)
    if (patched.metadata.name === stored.metadata.name) return patched
    throw badRequest('the name of an object cannot be patched')
  }
}

function parseMergePatch(patch: unknown, strategic: boolean): (document: unknown) => unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    throw badRequest('a merge patch must be an object')
  }
  return (document) => mergePatch(document, patch, strategic)
}

function decoded(body: unknown, faults: readonly string[], query: WriteQuery, warnings: Warnings): ResourceRegistry {
  const { registry, unknownFields } = decodeRegistry(body)
  strict([...faults, ...unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`)], query, warnings)
  return registry
}

/** Refuses the faults, warns of them, or passes over them, as the client wishes. */
function strict(faults: readonly string[], { fieldValidation }: WriteQuery, warnings: Warnings): void {
  if (faults.length === 0 || fieldValidation === 'Ignore') return
  if (fieldValidation === 'Strict') throw cannotDecode(`strict decoding error: ${faults.join(', ')}`)
  warnings.push(...faults)
}

function nameMismatch(own: string, name: string): Error {
  return badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`)
}

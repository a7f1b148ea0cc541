/** Writes of ResourceRegistries: bodies to changes. */
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import type { ApiRequest } from '../../http/api-request.ts'
import { badRequest, type StatusCause } from '../../kube/status-error.ts'
import { cannotDecode, decodeRegistry } from '../../registry/decode.ts'
import { mergePatch } from '../../registry/merge-patch.ts'
import type { Change, Preconditions } from '../../registry/resource-registries.ts'
import { mediaType, readBody, unsupportedType } from './request-body.ts'
import { invalidOptions, isDryRun, type WriteQuery } from './write-options.ts'

/** Warnings for the `Warning` header, each of a kind of RFC 7234; filled by writes. */
export type Warnings = string[]

export async function readRegistry(
  { incoming }: ApiRequest,
  query: WriteQuery,
  warnings: Warnings,
): Promise<ResourceRegistry> {
  return decoded(await readBody(incoming), query, warnings)
}

/** PUT. Throws `badRequest` where the body is about another object than the path. */
export function replaceBy(input: ResourceRegistry, name: string): Change {
  const own = input.metadata.name
  if (own !== name && own !== '') {
    throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`)
  }
  if (own === '') throw badRequest('name must be provided')
  return () => input
}

const PATCH_TYPES = ['application/merge-patch+json', 'application/strategic-merge-patch+json']

/** PATCH. Throws unsupportedMediaType for JSON patches and server-side apply. */
export async function patchBy({ incoming }: ApiRequest, query: WriteQuery, warnings: Warnings): Promise<Change> {
  const type = mediaType(incoming)
  if (!PATCH_TYPES.includes(type)) throw unsupportedType(type, PATCH_TYPES)
  const patch = await readBody(incoming, PATCH_TYPES)
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    throw badRequest('a merge patch must be an object')
  }
  const strategic = type === 'application/strategic-merge-patch+json'
  return (stored) => {
    warnings.length = 0 // a change is made again where another writer came first
    const patched = decoded(mergePatch(stored, patch, strategic), query, warnings)
    if (patched.metadata.name === stored.metadata.name) return patched
    throw badRequest('the name of an object cannot be patched')
  }
}

function decoded(body: unknown, { fieldValidation }: WriteQuery, warnings: Warnings): ResourceRegistry {
  const { registry, unknownFields } = decodeRegistry(body)
  if (unknownFields.length === 0 || fieldValidation === 'Ignore') return registry
  const faults = unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`)
  if (fieldValidation === 'Strict') throw cannotDecode(`strict decoding error: ${faults.join(', ')}`)
  warnings.push(...faults)
  return registry
}

export interface Deletion {
  readonly dryRun: boolean
  readonly preconditions: Preconditions
}

interface DeleteOptions {
  readonly kind?: unknown
  readonly dryRun?: unknown
  readonly preconditions?: { readonly uid?: unknown; readonly resourceVersion?: unknown } | null
}

/** Options of a DELETE, from its body (`DeleteOptions`), which counts before the query. */
export async function readDeletion({ incoming, query }: ApiRequest): Promise<Deletion> {
  const body = await readBody(incoming)
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw badRequest('the body of a DELETE must be DeleteOptions')
  }
  const options = (body ?? {}) as DeleteOptions
  if (options.kind !== undefined && options.kind !== 'DeleteOptions') {
    throw badRequest('the body of a DELETE must be DeleteOptions')
  }
  const dryRuns = Array.isArray(options.dryRun) ? options.dryRun.map(String) : query.getAll('dryRun')
  const faults: StatusCause[] = []
  const dryRun = isDryRun(dryRuns, faults)
  if (faults.length > 0) throw invalidOptions('DeleteOptions', faults)
  const { uid, resourceVersion } = options.preconditions ?? {}
  return {
    dryRun,
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
  }
}

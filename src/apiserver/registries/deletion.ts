/** Options of a DELETE. Source: apimachinery pkg/apis/meta/v1 DeleteOptions and its validation. */
import type { ApiRequest } from '../../http/api-request.ts'
import { parseBool } from '../../http/list-options.ts'
import { badRequest, type StatusCause } from '../../kube/status-error.ts'
import type { DeleteOptions, Preconditions } from '../../registry/resource-registries.ts'
import { readBody } from './decode-body.ts'
import { invalidOptions, isDryRun, unsupported } from './write-options.ts'

export interface Deletion {
  readonly options: DeleteOptions
  readonly preconditions: Preconditions
}

const PROPAGATIONS = ['Background', 'Foreground', 'Orphan'] as const

interface Given {
  readonly dryRun: readonly string[]
  readonly propagation: unknown
  readonly orphan: boolean | undefined
  readonly preconditions: Preconditions
}

/** From the body, which counts before the query. Throws `badRequest`, and `invalid` with every fault. */
export async function readDeletion({ incoming, query }: ApiRequest): Promise<Deletion> {
  const { value } = await readBody(incoming)
  const given = value === undefined ? fromQuery(query) : fromBody(value)
  const faults: StatusCause[] = []
  const dryRun = isDryRun(given.dryRun, faults)
  const propagation = propagationOf(given, faults)
  if (faults.length > 0) throw invalidOptions('DeleteOptions', faults)
  return {
    options: { dryRun, ...(propagation === undefined ? {} : { propagation }) },
    preconditions: given.preconditions,
  }
}

function fromQuery(query: URLSearchParams): Given {
  return {
    dryRun: query.getAll('dryRun'),
    propagation: query.get('propagationPolicy') ?? undefined,
    orphan: parseBool(query.get('orphanDependents')),
    preconditions: {},
  }
}

function fromBody(body: unknown): Given {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw notOptions()
  const { kind, dryRun, propagationPolicy, orphanDependents, preconditions } = body as Record<string, unknown>
  if (kind !== undefined && kind !== 'DeleteOptions') throw notOptions()
  const { uid, resourceVersion } = (preconditions ?? {}) as Record<string, unknown>
  return {
    dryRun: Array.isArray(dryRun) ? dryRun.map(String) : [],
    propagation: propagationPolicy ?? undefined,
    orphan: typeof orphanDependents === 'boolean' ? orphanDependents : undefined,
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
  }
}

function propagationOf({ propagation, orphan }: Given, faults: StatusCause[]): DeleteOptions['propagation'] {
  if (propagation === undefined) return orphan === undefined ? undefined : orphan ? 'Orphan' : 'Background'
  if (orphan !== undefined) {
    const message = 'Invalid value: orphanDependents and deletionPropagation cannot be both set'
    faults.push({ reason: 'FieldValueInvalid', message, field: 'propagationPolicy' })
  }
  const known = PROPAGATIONS.find((each) => each === propagation)
  if (known === undefined) faults.push(unsupported('propagationPolicy', String(propagation), PROPAGATIONS))
  return known
}

function notOptions(): Error {
  return badRequest('the body of a DELETE must be DeleteOptions')
}

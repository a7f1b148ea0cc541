/** What goes wrong with registries, in the words clients of a kube-apiserver know. */
import { SEARCH_GROUP } from '../api/resource-registry.ts'
import { StatusError, expired, notFound, type StatusCause } from '../kube/status-error.ts'

const RESOURCE = { group: SEARCH_GROUP, resource: 'resourceregistries' }
const KIND = 'ResourceRegistry'
const QUALIFIED = `${RESOURCE.resource}.${SEARCH_GROUP}`

const detailsOf = (name: string): { name: string; group: string; kind: string } => ({
  name,
  group: SEARCH_GROUP,
  kind: RESOURCE.resource,
})

export const registryNotFound = (name: string): StatusError => notFound(RESOURCE, name)

export function registryExists(name: string): StatusError {
  return new StatusError('alreadyExists', `${QUALIFIED} ${JSON.stringify(name)} already exists`, {
    details: detailsOf(name),
  })
}

/** 409. `why` defaults to a stale version. */
export function registryConflict(name: string, why?: string): StatusError {
  const reason = why ?? 'it was modified meanwhile; read it again and apply your change to the latest version'
  return new StatusError(
    'conflict',
    `Operation cannot be fulfilled on ${QUALIFIED} ${JSON.stringify(name)}: ${reason}`,
    {
      details: detailsOf(name),
    },
  )
}

/** 410: changes behind `from` are no longer known. `oldest` is the first version a watch can begin from. */
export function versionTooOld(from: string, oldest: string): StatusError {
  return expired(`too old resource version: ${from} (${oldest})`)
}

/** 422 with every fault, each with its field path. */
export function registryInvalid(name: string, faults: readonly Required<StatusCause>[]): StatusError {
  const texts = [...new Set(faults.map(({ field, message }) => `${field}: ${message}`))]
  const joined = texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
  return new StatusError('invalid', `${KIND}.${SEARCH_GROUP} ${JSON.stringify(name)} is invalid: ${joined}`, {
    details: { name, group: SEARCH_GROUP, kind: KIND, causes: faults },
  })
}

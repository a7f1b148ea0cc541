/**
 * `search/dead-letters`: the objects that stores refused for good, and why. GET lists those whose objects the caller may see;
 * POST gives them to their stores again. Both take `store`, `cluster`, `namespace`, `name`, `resource` to name some of them.
 */
import { sendJson } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import { readParameters } from '../http/parameters.ts'
import { methodNotAllowed, pathNotFound } from '../http/status-response.ts'
import type { VisibleDocuments } from '../query/search-request.ts'
import type { SearchParts } from './search-parts.ts'
import { documentsVisibleTo } from './visible-documents.ts'

/** One refused object, as `backendstore/` tells it. */
export interface DeadLetter {
  readonly store: string
  readonly cluster: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly reason: string
  /** Ms since the epoch. */
  readonly firstMs: number
  readonly lastMs: number
  readonly times: number
}

export interface DeadLetterBox {
  list(): readonly DeadLetter[]
  /** Gives the object to its store again, as it is now. */
  replay(letter: DeadLetter): void
}

const NAMES = ['store', 'cluster', 'namespace', 'name', 'resource'] as const

export function createDeadLettersHandler(
  { rights, cache }: Pick<SearchParts, 'rights' | 'cache'>,
  box: DeadLetterBox,
): ApiHandler {
  return async (request, response) => {
    const { method, path } = request
    if (path !== '' && path !== '/') throw pathNotFound()
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
      throw methodNotAllowed({ group: 'search.karmada.io', resource: 'search' }, method.toLowerCase())
    }
    const parameters = await readParameters(request)
    const { documents } = await documentsVisibleTo(rights, cache, request)
    const letters = box
      .list()
      .filter((letter) => NAMES.every((name) => (parameters.get(name) ?? letter[name]) === letter[name]))
      .filter((letter) => isVisible(letter, documents))
    if (method === 'POST') for (const letter of letters) box.replay(letter)
    const kind = method === 'POST' ? 'DeadLetterReplay' : 'DeadLetterList'
    await sendJson(
      { request, response },
      {
        apiVersion: 'search.karmada.io/v1alpha1',
        kind,
        total: letters.length,
        items: letters.map(shown),
      },
    )
  }
}

function shown({ firstMs, lastMs, ...letter }: DeadLetter): object {
  return { ...letter, first: new Date(firstMs).toISOString(), last: new Date(lastMs).toISOString() }
}

/** As the stores decide it. */
export function isVisible(letter: DeadLetter, documents: VisibleDocuments | undefined): boolean {
  if (documents === undefined) return true
  const part = documents.parts[documents.clusters.get(letter.cluster) ?? -1] ?? []
  return part.some(
    ({ group, resource, everything, namespaces, names }) =>
      group === letter.group &&
      resource === letter.resource &&
      (everything ||
        namespaces.includes(letter.namespace) ||
        names.some(({ namespace = letter.namespace, name }) => namespace === letter.namespace && name === letter.name)),
  )
}

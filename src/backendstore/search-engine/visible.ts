/** Narrows a search to the documents that a caller may see, by sets of terms as large as his rights. */
import type { VisibleDocuments, VisibleResource } from '../../query/search-request.ts'
import type { ObjectName, ShardIdentity } from '../backend-store.ts'
import { SEPARATOR } from './term-marks.ts'
import { resourceName } from './keys.ts'
import { anyOf, NOTHING, type Query } from './query.ts'
import { FIELD } from './schema.ts'

/** In the place of a namespace: any. No namespace has such a name. */
const ANY = '*'

/** What a document can be seen by: its resource, its namespace in that, its name in that or in any namespace. */
export function rightsTerms(change: ShardIdentity & ObjectName): string[] {
  const { namespace, name } = change
  const resource = resourceName(change)
  return [key(resource), key(resource, namespace), key(resource, namespace, name), key(resource, ANY, name)]
}

export function visibleQuery({ clusters, parts }: VisibleDocuments): Query {
  const clustersOf = new Map<number, string[]>()
  for (const [cluster, part] of clusters) clustersOf.set(part, [...(clustersOf.get(part) ?? []), cluster])
  const queries = [...clustersOf].flatMap(([part, names]): Query[] => {
    const rights = (parts[part] ?? []).flatMap(termsOf)
    if (rights.length === 0) return []
    const where = anyOf(
      FIELD.value('cluster'),
      names.map((name) => `=${name}`),
    )
    return [{ bool: { filter: [where, anyOf(FIELD.rights, rights)] } }]
  })
  return queries.length === 0 ? NOTHING : { bool: { should: queries, minimum_should_match: 1 } }
}

function termsOf({ group, resource, everything, namespaces, names }: VisibleResource): string[] {
  const own = resourceName({ group, resource })
  if (everything) return [key(own)]
  return [
    ...namespaces.map((namespace) => key(own, namespace)),
    ...names.map(({ namespace = ANY, name }) => key(own, namespace, name)),
  ]
}

function key(...parts: readonly string[]): string {
  return parts.join(SEPARATOR)
}

/** `APIGroupDiscoveryList`, v2 and v2beta1, which differ in nothing that is read here. */
import type { DiscoveredResource, DiscoveryPart } from './discovered.ts'
import { fields, fieldsList, textOrEmpty, texts, type Fields } from '../fields.ts'

export function aggregatedPart(list: Fields, etag: string | undefined): DiscoveryPart {
  const resources: DiscoveredResource[] = []
  const failed = new Set<string>()
  for (const group of fieldsList(list, 'items')) {
    const name = textOrEmpty(fields(group.metadata), 'name')
    fieldsList(group, 'versions').forEach((version, index) => {
      // The server could not ask the API behind it: what it lists is from before, or missing.
      if (textOrEmpty(version, 'freshness') === 'Stale') failed.add(name)
      for (const resource of fieldsList(version, 'resources')) {
        resources.push(
          resourceOf(resource, { group: name, version: textOrEmpty(version, 'version'), preferred: index === 0 }),
        )
      }
    })
  }
  return { resources, failedGroups: [...failed], etag }
}

function resourceOf(
  resource: Fields,
  at: Pick<DiscoveredResource, 'group' | 'version' | 'preferred'>,
): DiscoveredResource {
  return {
    ...at,
    kind: textOrEmpty(fields(resource.responseKind), 'kind'),
    resource: textOrEmpty(resource, 'resource'),
    singular: textOrEmpty(resource, 'singularResource'),
    namespaced: textOrEmpty(resource, 'scope') === 'Namespaced',
    verbs: texts(resource, 'verbs'),
    shortNames: texts(resource, 'shortNames'),
    categories: texts(resource, 'categories'),
    subresources: fieldsList(resource, 'subresources').map((subresource) => textOrEmpty(subresource, 'subresource')),
  }
}

/** `APIGroupDiscoveryList`, v2 and v2beta1, which differ in nothing that is read here. */
import type { DiscoveredResource, DiscoveryPart } from '../discovery.ts'
import { documents, isDocument, text, texts, type JsonDocument } from './document.ts'

export function aggregatedPart(list: JsonDocument, etag: string | undefined): DiscoveryPart {
  const resources: DiscoveredResource[] = []
  const failed = new Set<string>()
  for (const group of documents(list, 'items')) {
    const { metadata } = group
    const name = isDocument(metadata) ? text(metadata, 'name') : ''
    documents(group, 'versions').forEach((version, index) => {
      // The server could not ask the API behind it: what it lists is from before, or missing.
      if (text(version, 'freshness') === 'Stale') failed.add(name)
      for (const resource of documents(version, 'resources')) {
        resources.push(resourceOf(resource, { group: name, version: text(version, 'version'), preferred: index === 0 }))
      }
    })
  }
  return { resources, failedGroups: [...failed], etag }
}

function resourceOf(
  resource: JsonDocument,
  at: Pick<DiscoveredResource, 'group' | 'version' | 'preferred'>,
): DiscoveredResource {
  const { responseKind } = resource
  return {
    ...at,
    kind: isDocument(responseKind) ? text(responseKind, 'kind') : '',
    resource: text(resource, 'resource'),
    singular: text(resource, 'singularResource'),
    namespaced: text(resource, 'scope') === 'Namespaced',
    verbs: texts(resource, 'verbs'),
    shortNames: texts(resource, 'shortNames'),
    categories: texts(resource, 'categories'),
    subresources: documents(resource, 'subresources').map((subresource) => text(subresource, 'subresource')),
  }
}

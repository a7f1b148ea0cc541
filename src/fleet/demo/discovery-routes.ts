/** Which discovery document a path and its `Accept` header ask for. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendJson, sendText } from './answer.ts'
import { aggregated, coreVersions, groupDocument, groupList, resourceList } from './discovery-documents.ts'
import type { ResourceType } from './resource-type.ts'

/** False where the path is none of discovery's, or nothing is there. */
export function sendDiscovery(
  types: readonly ResourceType[],
  pathname: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const [, root, group, version, ...rest] = pathname.replace(/\/$/, '').split('/')
  if ((root !== 'api' && root !== 'apis') || rest.length > 0) return false
  const wanted = group === undefined ? aggregatedVersion(request) : undefined
  if (wanted !== undefined) {
    sendAggregated(aggregated(types, root === 'api' ? 'core' : 'groups', wanted), wanted, request, response)
    return true
  }
  const document = plainDocument(types, root, group, version, request)
  if (document !== undefined) sendJson(response, 200, document)
  return document !== undefined
}

function plainDocument(
  types: readonly ResourceType[],
  root: 'api' | 'apis',
  group: string | undefined,
  version: string | undefined,
  request: IncomingMessage,
): unknown {
  if (root === 'api') {
    if (group === undefined) return coreVersions(request.headers.host ?? '')
    return version === undefined ? resourceList(types, { group: '', version: group }) : undefined
  }
  if (group === undefined) return groupList(types)
  return version === undefined ? groupDocument(types, group) : resourceList(types, { group, version })
}

/** The first acceptable version of `APIGroupDiscoveryList`; undefined where plain JSON comes first or alone. */
function aggregatedVersion(request: IncomingMessage): string | undefined {
  for (const part of (request.headers.accept ?? '').split(',')) {
    const [mediaType, ...parameters] = part.split(';').map((text) => text.trim())
    const given = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]))
    const json = mediaType === 'application/json' || mediaType === '*/*'
    if (mediaType === 'application/json' && given.get('as') === 'APIGroupDiscoveryList') {
      const version = given.get('v') ?? ''
      if (version === 'v2' || version === 'v2beta1') return version
    } else if (json) return undefined
  }
  return undefined
}

function sendAggregated(document: unknown, version: string, request: IncomingMessage, response: ServerResponse): void {
  const text = JSON.stringify(document)
  const etag = `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`
  response.setHeader('etag', etag)
  response.setHeader('vary', 'Accept')
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end()
    return
  }
  const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
  sendText(response, 200, type, text)
}

/**
 * `/openapi/v3`: the index and one document for each group and version, enough for `kubectl explain`. `/openapi/v2`: the
 * same in one document, as JSON.
 */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { groupVersionPath, parseApiVersion } from '../../kube/group-version.ts'
import { StatusError } from '../../kube/status-error.ts'
import { sendJson, sendText } from './answer.ts'
import type { ObjectStore } from './object-store.ts'
import type { ResourceType } from './resource-type.ts'

/** False where the path is none of OpenAPI's. Only a document itself loads the models it is made from. */
export async function sendOpenApi(
  store: ObjectStore,
  url: URL,
  accept: string | undefined,
  response: ServerResponse,
): Promise<boolean> {
  if (url.pathname === '/openapi/v2') {
    if (!/json|\*\/\*/.test(accept ?? '*/*')) throw new StatusError('notAcceptable', 'OpenAPI 2 is JSON here')
    const { openApiV2Document } = await import('./openapi-document.ts')
    sendText(response, 200, 'application/json', JSON.stringify(openApiV2Document(store)))
    return true
  }
  if (!url.pathname.startsWith('/openapi/v3')) return false
  const versions = Map.groupBy(store.types(), groupVersionPath)
  if (url.pathname === '/openapi/v3') {
    const entries = [...versions].map(([path, types]): [string, object] => [
      path.slice(1),
      { serverRelativeURL: `/openapi/v3${path}?hash=${hashOf(store, types)}` },
    ])
    sendJson(response, 200, { paths: Object.fromEntries(entries) })
    return true
  }
  const path = url.pathname.slice('/openapi/v3'.length)
  if (!versions.has(path)) return false
  const { openApiDocument } = await import('./openapi-document.ts')
  sendText(response, 200, 'application/json', JSON.stringify(openApiDocument(store, versionOf(path))))
  return true
}

/** Changes when kinds come or go, or a custom kind's definition changes. */
function hashOf(store: ObjectStore, types: readonly ResourceType[]): string {
  const definitions = store.typeOfKind('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
  const hash = createHash('sha256')
  for (const type of types) {
    const definition = definitions && store.get(definitions, '', `${type.resource}.${type.group}`)
    hash.update(`${type.kind}/${definition?.version ?? 0}\n`)
  }
  return hash.digest('hex').toUpperCase()
}

function versionOf(path: string): { group: string; version: string } {
  const gv = parseApiVersion(path.replace(/^\/apis?\//, ''))
  if (gv === undefined) throw new Error(`no group and version in ${path}`)
  return gv
}

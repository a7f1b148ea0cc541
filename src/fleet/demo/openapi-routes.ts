/** `/openapi/v3`: the index and one document for each group and version, enough for `kubectl explain`. */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { groupVersionPath, parseApiVersion } from '../../kube/group-version.ts'
import { sendJson, sendText } from './answer.ts'
import type { ObjectStore } from './object-store.ts'

/** False where the path is none of OpenAPI's. The documents are made on demand: they load every model of the client. */
export async function sendOpenApi(store: ObjectStore, url: URL, response: ServerResponse): Promise<boolean> {
  if (!url.pathname.startsWith('/openapi/v3')) return false
  const { openApiDocument } = await import('./openapi-document.ts')
  const versions = new Set(store.types().map((type) => groupVersionPath(type)))
  if (url.pathname === '/openapi/v3') {
    const entry = (path: string): [string, unknown] => {
      const hash = createHash('sha256')
        .update(JSON.stringify(openApiDocument(store, versionOf(path))))
        .digest('hex')
      return [path.slice(1), { serverRelativeURL: `/openapi/v3${path}?hash=${hash.toUpperCase()}` }]
    }
    sendJson(response, 200, { paths: Object.fromEntries([...versions].map(entry)) })
    return true
  }
  const path = url.pathname.slice('/openapi/v3'.length)
  if (!versions.has(path)) return false
  sendText(response, 200, 'application/json', JSON.stringify(openApiDocument(store, versionOf(path))))
  return true
}

function versionOf(path: string): { group: string; version: string } {
  const gv = parseApiVersion(path.replace(/^\/apis?\//, ''))
  if (gv === undefined) throw new Error(`no group and version in ${path}`)
  return gv
}

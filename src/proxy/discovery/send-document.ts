import { createHash } from 'node:crypto'
import type { Exchange } from '../../http/answer.ts'
import { sendBytes } from '../../http/answer.ts'
import { jsonToYaml } from '../../http/yaml.ts'
import type { DiscoveryForm } from './discovery-path.ts'
import { contentTypeOf } from './discovery-path.ts'
import type { Document } from './documents.ts'

/** Sends a discovery document, or 304 where the client has it already. */
export async function sendDocument(exchange: Exchange, document: Document, form: DiscoveryForm): Promise<void> {
  const json = Buffer.from(`${JSON.stringify(document)}\n`)
  const etag = `"${createHash('sha256').update(json).digest('hex').slice(0, 32).toUpperCase()}"`
  const { request, response } = exchange
  if (request.incoming.headers['if-none-match'] === etag) {
    response.writeHead(304, { etag }).end()
    return
  }
  const yaml = form.aggregated === undefined && form.format === 'yaml'
  const headers = { 'content-type': contentTypeOf(form), etag, vary: 'Accept' }
  await sendBytes(exchange, { headers }, yaml ? Buffer.from(jsonToYaml(json)) : json)
}

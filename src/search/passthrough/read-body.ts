/** The body of a request in an engine's language: one JSON document, or lines of them. */
import { readBytes } from '../../http/request-body.ts'
import type { ApiRequest } from '../../http/api-request.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'

const MAX_BYTES = 1024 * 1024
const MAX_SEARCHES = 50
/** As `application/vnd.elasticsearch+json; compatible-with=8`, which is what clients of Elasticsearch send. */
const TYPES = /^application\/(?:vnd\.(?:elasticsearch|opensearch)\+)?(?:x-)?(?:nd)?json$/

/** Undefined where there is none. Engines read the body of a GET too, or the parameter `source`, for clients that can send no body with it. */
export async function readJsonBody(request: ApiRequest): Promise<unknown> {
  const text = await readText(request)
  if (text !== '') return parse(text, 'the body')
  const source = request.query.get('source')
  return source === null ? undefined : parse(source, 'the parameter source')
}

export interface SearchLine {
  readonly header: unknown
  readonly body: unknown
}

/** Of `_msearch`: a header and a body for each search, a line each. */
export async function readSearchLines(request: ApiRequest): Promise<SearchLine[]> {
  const lines = (await readText(request)).split('\n').map((line) => line.trim())
  while (lines.at(-1) === '') lines.pop()
  if (lines.length % 2 !== 0) throw badRequest('expected two lines for each search: a header and a body')
  if (lines.length / 2 > MAX_SEARCHES) throw badRequest(`more than ${MAX_SEARCHES} searches`)
  const searches: SearchLine[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const header = lines[i] === '' ? {} : parse(lines[i] ?? '', `line ${i + 1}`)
    searches.push({ header, body: parse(lines[i + 1] ?? '', `line ${i + 2}`) })
  }
  return searches
}

async function readText({ incoming }: ApiRequest): Promise<string> {
  const bytes = await readBytes(incoming, MAX_BYTES)
  const type = (incoming.headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (bytes.length > 0 && !TYPES.test(type)) throw new StatusError('unsupportedMediaType', 'bodies are taken as JSON')
  return bytes.toString('utf8').trim()
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw badRequest(`${what} is no JSON`)
  }
}

/** Fetches one discovery document. */
import { MemberError } from '../member-error.ts'
import type { MemberClient, MemberResponse } from '../member.ts'

export type DiscoveryRoot = '/api' | '/apis'

/** Parsed, of unknown shape: members send what they like. */
export type JsonDocument = Readonly<Record<string, unknown>>

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList'
const ACCEPT_ROOT = `${AGGREGATED};v=v2,${AGGREGATED};v=v2beta1,application/json`
const DOCUMENT_LIMIT = 32 * 1024 * 1024 // bytes; a cluster with 500 CRDs has about 1 MB

/** The root's document; undefined where it is still that of `etag`. */
export async function fetchDocument(
  client: MemberClient,
  root: DiscoveryRoot,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly body: JsonDocument; readonly etag: string | undefined } | undefined> {
  const response = await client.request({
    method: 'GET',
    path: root,
    headers: { accept: ACCEPT_ROOT, ...(etag === undefined ? {} : { 'if-none-match': etag }) },
    signal,
  })
  if (response.status === 304) {
    await response.bytes()
    return undefined
  }
  const header = response.headers.etag
  return { body: await parsed(root, response), etag: typeof header === 'string' && header !== '' ? header : undefined }
}

/** `/api/v1`, `/apis/apps/v1`. */
export async function fetchGroupVersion(
  client: MemberClient,
  path: string,
  signal: AbortSignal,
): Promise<JsonDocument> {
  return parsed(path, await client.request({ method: 'GET', path, signal }))
}

async function parsed(path: string, response: MemberResponse): Promise<JsonDocument> {
  const body = await response.bytes(DOCUMENT_LIMIT)
  if (response.status !== 200) throw new MemberError('rejected', `discovery: ${path} answered ${response.status}`)
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (isDocument(value)) return value
  } catch {
    // Told below.
  }
  throw new MemberError('protocol', `discovery: ${path} did not answer with a JSON object`)
}

export function isDocument(value: unknown): value is JsonDocument {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list under `key`; whatever else stands there is left out. */
export function documents(parent: JsonDocument, key: string): readonly JsonDocument[] {
  const value = parent[key]
  return Array.isArray(value) ? value.filter(isDocument) : []
}

export function text(parent: JsonDocument, key: string): string {
  const value = parent[key]
  return typeof value === 'string' ? value : ''
}

export function texts(parent: JsonDocument, key: string): readonly string[] {
  const value = parent[key]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

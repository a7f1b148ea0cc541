/** Fetches one discovery document. */
import { isFields, type Fields } from '../fields.ts'
import { MemberError } from '../member-error.ts'
import type { MemberClient, MemberResponse } from '../member.ts'

export type DiscoveryRoot = '/api' | '/apis'

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList'
const ACCEPT_ROOT = `${AGGREGATED};v=v2,${AGGREGATED};v=v2beta1,application/json`
const DOCUMENT_LIMIT = 32 * 1024 * 1024 // bytes; a cluster with 500 CRDs has about 1 MB

/** The root's document; undefined where it is still that of `etag`. */
export async function fetchDocument(
  client: MemberClient,
  root: DiscoveryRoot,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly body: Fields; readonly etag: string | undefined } | undefined> {
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
export async function fetchGroupVersion(client: MemberClient, path: string, signal: AbortSignal): Promise<Fields> {
  return parsed(path, await client.request({ method: 'GET', path, signal }))
}

async function parsed(path: string, response: MemberResponse): Promise<Fields> {
  const body = await response.bytes(DOCUMENT_LIMIT)
  if (response.status !== 200) throw new MemberError('rejected', `discovery: ${path} answered ${response.status}`)
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (isFields(value)) return value
  } catch {
    // Told below.
  }
  throw new MemberError('protocol', `discovery: ${path} did not answer with a JSON object`)
}

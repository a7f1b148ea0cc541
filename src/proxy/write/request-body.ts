/** The body of a request that is translated: whole, unpacked, bounded as a kube-apiserver bounds it. */
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { readBytes } from '../../http/request-body.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import type { ProxyRequest } from '../plugin.ts'

/** Source: apiserver pkg/server/config.go, MaxRequestBodyBytes. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024

const unpackers: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: (bytes) => promisify(gunzip)(bytes, { maxOutputLength: MAX_BODY_BYTES }),
  deflate: (bytes) => promisify(inflate)(bytes, { maxOutputLength: MAX_BODY_BYTES }),
  identity: (bytes) => Promise.resolve(bytes),
}

export async function readWholeBody({ request: { incoming } }: ProxyRequest): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  const unpack = Object.hasOwn(unpackers, encoding) ? unpackers[encoding] : undefined
  if (unpack === undefined) {
    const message = `content-encoding ${JSON.stringify(encoding)} is not spoken here: gzip, deflate`
    throw new StatusError('unsupportedMediaType', message, { details: {} })
  }
  const bytes = await readBytes(incoming, MAX_BODY_BYTES)
  try {
    return await unpack(bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new StatusError('requestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`)
    }
    throw badRequest(`the body is no ${encoding}`)
  }
}

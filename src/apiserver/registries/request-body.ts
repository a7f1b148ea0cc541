/** Bodies of writes: JSON or YAML, bounded. */
import type { IncomingMessage } from 'node:http'
import { parse } from 'yaml'
import { badRequest, StatusError } from '../../kube/status-error.ts'

const MAX_BYTES = 3 * 1024 * 1024 // as a kube-apiserver takes

const TYPES = ['application/json', 'application/yaml']

/** The media type without its parameters, in lower case; empty where the client names none. */
export function mediaType(incoming: IncomingMessage): string {
  return (incoming.headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase()
}

/** Undefined for an empty body. Throws requestEntityTooLarge, unsupportedMediaType, badRequest. */
export async function readBody(incoming: IncomingMessage, types: readonly string[] = TYPES): Promise<unknown> {
  const bytes = await readBytes(incoming)
  if (bytes.length === 0) return undefined
  const type = mediaType(incoming)
  if (type !== '' && !types.includes(type)) throw unsupportedType(type, types)
  const text = bytes.toString('utf8')
  try {
    return type === 'application/yaml' ? (parse(text) as unknown) : (JSON.parse(text) as unknown)
  } catch (error) {
    throw badRequest(`the body of the request cannot be read: ${(error as Error).message.split('\n', 1).join('')}`)
  }
}

export function unsupportedType(type: string, types: readonly string[]): StatusError {
  const known = types.join(', ')
  return new StatusError(
    'unsupportedMediaType',
    `the body of the request is of a type that is not taken here (${type}); accepted media types include: ${known}`,
  )
}

async function readBytes(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): StatusError {
  return new StatusError('requestEntityTooLarge', `Request entity too large: limit is ${MAX_BYTES}`)
}

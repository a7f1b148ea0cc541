/** Bodies of writes: JSON or YAML, bounded. */
import type { IncomingMessage } from 'node:http'
import { LineCounter, parseDocument } from 'yaml'
import { readBytes } from '../../http/request-body.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import { duplicateKeys } from './duplicate-keys.ts'

const MAX_BYTES = 3 * 1024 * 1024 // as a kube-apiserver takes

const TYPES = ['application/json', 'application/yaml']

/** The media type without its parameters, in lower case; empty where the client names none. */
export function mediaType(incoming: IncomingMessage): string {
  return (incoming.headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase()
}

export interface Body {
  /** Undefined for an empty body. */
  readonly value: unknown
  /** What a strict reader refuses: `duplicate field "spec.x"`. */
  readonly faults: readonly string[]
}

/** Throws requestEntityTooLarge, unsupportedMediaType, badRequest. */
export async function readBody(incoming: IncomingMessage, types: readonly string[] = TYPES): Promise<Body> {
  const bytes = await readBytes(incoming, MAX_BYTES)
  if (bytes.length === 0) return { value: undefined, faults: [] }
  const type = mediaType(incoming)
  if (type !== '' && !types.includes(type)) throw unsupportedType(type, types)
  const text = bytes.toString('utf8')
  try {
    return type.endsWith('yaml') ? readYaml(text) : readJson(text)
  } catch (error) {
    throw badRequest(`the body of the request cannot be read: ${(error as Error).message.split('\n', 1).join('')}`)
  }
}

function readJson(text: string): Body {
  const value = JSON.parse(text) as unknown
  return { value, faults: duplicateKeys(text).map((path) => `duplicate field ${JSON.stringify(path)}`) }
}

/** YAML of which JSON is a part; the first document of several. */
function readYaml(text: string): Body {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, logLevel: 'silent' })
  const faults: string[] = []
  for (const error of document.errors) {
    if (error.code !== 'DUPLICATE_KEY') throw error
    faults.push(`line ${lines.linePos(error.pos[0]).line}: a key is already set in its map`)
  }
  return { value: document.toJS() as unknown, faults }
}

export function unsupportedType(type: string, types: readonly string[]): StatusError {
  const known = types.join(', ')
  return new StatusError(
    'unsupportedMediaType',
    `the body of the request is of a type that is not taken here (${type}); accepted media types include: ${known}`,
  )
}

/**
 * Which representation a client asks for by its Accept header.
 * Source: apiserver pkg/endpoints/handlers/negotiation (clauses by quality, then by how specific they are).
 */
import { StatusError } from '../kube/status-error.ts'

export interface AcceptClause {
  readonly type: string
  readonly subtype: string
  /** Parameters but `q`, names in lower case. */
  readonly params: ReadonlyMap<string, string>
  readonly quality: number
}

export type MetaVersion = 'v1' | 'v1beta1'
export type TextFormat = 'json' | 'yaml'

/** How an answer is shown. `partial` is PartialObjectMetadata, or a list of them. */
export type Representation =
  | { readonly as: 'object'; readonly format: TextFormat }
  | { readonly as: 'table'; readonly format: TextFormat; readonly version: MetaVersion }
  | { readonly as: 'partial'; readonly format: TextFormat; readonly version: MetaVersion }

/** What is going to be answered: a list and an object differ in the partial kinds they allow, a stream is never YAML. */
export type AnswerShape = 'list' | 'object' | 'stream'

/** The clauses of an Accept header, best first; clauses of quality 0 are left out. */
export function parseAccept(header: string): AcceptClause[] {
  return header
    .split(',')
    .map(parseClause)
    .filter((clause) => clause !== undefined)
    .filter((clause) => clause.quality > 0)
    .sort((a, b) => b.quality - a.quality || specificity(b) - specificity(a))
}

/**
 * The first clause that can be served. No header, or an empty one, means JSON. Throws `notAcceptable` where nothing that
 * is asked for is spoken here (protobuf alone, HTML, …).
 */
export function negotiate(header: string | undefined, shape: AnswerShape): Representation {
  if (header === undefined || header.trim() === '') return { as: 'object', format: 'json' }
  for (const clause of parseAccept(header)) {
    const format = formatOf(clause, shape)
    const representation = format === undefined ? undefined : representationOf(clause, format, shape)
    if (representation !== undefined) return representation
  }
  const spoken = shape === 'stream' ? 'application/json;stream=watch' : 'application/json, application/yaml'
  throw new StatusError('notAcceptable', `only the following media types are accepted: ${spoken}`)
}

function parseClause(text: string): AcceptClause | undefined {
  const [media = '', ...rest] = text.split(';').map((part) => part.trim())
  const [type, subtype, more] = media.toLowerCase().split('/')
  if (type === undefined || subtype === undefined || more !== undefined || type === '' || subtype === '')
    return undefined
  const params = new Map<string, string>()
  let quality = 1
  for (const part of rest) {
    const at = part.indexOf('=')
    if (at < 0) continue
    const name = part.slice(0, at).trim().toLowerCase()
    const value = part
      .slice(at + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1')
    if (name === 'q') quality = Number.isNaN(Number(value)) ? 1 : Number(value)
    else params.set(name, value)
  }
  return { type, subtype, params, quality }
}

function specificity(clause: AcceptClause): number {
  return (clause.type === '*' ? 0 : 2) + (clause.subtype === '*' ? 0 : 1)
}

function formatOf(clause: AcceptClause, shape: AnswerShape): TextFormat | undefined {
  if (clause.type === '*' && clause.subtype === '*') return 'json'
  if (clause.type !== 'application') return undefined
  if (clause.subtype === 'json' || clause.subtype === '*') return 'json'
  return clause.subtype === 'yaml' && shape !== 'stream' ? 'yaml' : undefined
}

function representationOf(clause: AcceptClause, format: TextFormat, shape: AnswerShape): Representation | undefined {
  const stream = clause.params.get('stream') ?? ''
  if (stream !== '' && (stream !== 'watch' || shape !== 'stream')) return undefined
  const as = clause.params.get('as')
  if (as === undefined) return { as: 'object', format }
  const version = clause.params.get('v')
  if (clause.params.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined
  if (as === 'Table') return { as: 'table', format, version }
  if (as === partialKind(shape)) return { as: 'partial', format, version }
  return undefined
}

/** The kind that a metadata-only answer has. */
export function partialKind(shape: AnswerShape): 'PartialObjectMetadata' | 'PartialObjectMetadataList' {
  return shape === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata'
}

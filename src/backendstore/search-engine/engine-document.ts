/**
 * An object as the document that an engine is given: the fields that karmada-search wrote (spec and status as JSON text),
 * and ours. Values of Secrets are in neither.
 */
import { goJson } from '../../kube/json-deep.ts'
import { parseExact } from '../../kube/json-exact.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import { columnsOf } from '../../kube/columns/index.ts'
import { KeyMatcher } from '../../kube/json-keys.ts'
import { asBuffer, memberSpans } from '../../kube/object-scanner.ts'
import type { Span } from '../../kube/object-spans.ts'
import { DocumentBuilder, type SearchDocument } from '../../query/document.ts'
import { emptySecrets, mayEmbedSecrets } from '../../query/embedded-secrets.ts'
import { isIndexedAnnotation } from '../../query/index-rules.ts'
import { identitySortKey } from '../../query/sort-keys.ts'
import { foldCase } from '../../query/tokens.ts'
import { BOUNDARY } from '../../query/word-text.ts'
import type { Upsert } from '../backend-store.ts'
import { entryHash } from '../digest.ts'
import { ENGINE_TERMS, type EngineTerms } from './engine-terms.ts'
import { shardKey, tieOf } from './keys.ts'
import { ROOT } from './schema.ts'
import { cutWord, MAX_WORD_CHARS } from './term-marks.ts'
import { rightsTerms } from './visible.ts'

/** Builds documents; keeps what it learns of paths, so use one for many objects. */
export class EngineDocuments {
  readonly #builder = new DocumentBuilder(ENGINE_TERMS)

  /** JSON in one line. Throws `SyntaxError` for bytes that are no JSON. */
  build(change: Upsert): string {
    const document = this.#builder.build(change, change.bytes, columnsOf(change))
    const legacy = JSON.stringify(legacyFields(change, document))
    return `${legacy.slice(0, -1)},"${ROOT}":${ownFields(change, document)}}`
  }
}

type EngineDocument = SearchDocument<EngineTerms>

/** Terms and words are JSON already: of words there is nothing to escape. */
function ownFields(change: Upsert, document: EngineDocument): string {
  const { terms, nameWords, strongWords, otherWords } = document
  const fields = JSON.stringify({
    order: orderKeys(change, document),
    folded: foldCase(change.name),
    tie: tieOf(change),
    shard: shardKey(change),
    rights: rightsTerms(change),
    resourceVersion: change.resourceVersion,
    hash: entryHash(change),
  })
  const lists = `"value":${terms.value},"labels":${terms.labels},"paths":${terms.paths},"terms":${terms.terms}`
  const text = `{"name":${valuesOf(nameWords)},"strong":${valuesOf(strongWords)},"other":${valuesOf(otherWords)}}`
  return `${fields.slice(0, -1)},${lists},"text":${text},"words":${distinctWords(document)}}`
}

/** Lines of words; a boundary makes another value, across which no phrase matches. */
function valuesOf(words: string): string {
  if (words === '') return '[]'
  return `["${cutLines(words).replaceAll(`\n${BOUNDARY}\n`, '","').replaceAll('\n', ' ')}"]`
}

function distinctWords({ nameWords, strongWords, otherWords }: EngineDocument): string {
  const found = new Set(cutLines(`${nameWords}\n${strongWords}\n${otherWords}`).split('\n'))
  found.delete('')
  found.delete(BOUNDARY)
  return found.size === 0 ? '[]' : `["${[...found].join('","')}"]`
}

function cutLines(words: string): string {
  return hasLongLine(words) ? words.split('\n').map(cutWord).join('\n') : words
}

function hasLongLine(text: string): boolean {
  for (let start = 0; start + MAX_WORD_CHARS < text.length;) {
    const end = text.lastIndexOf('\n', start + MAX_WORD_CHARS)
    if (end < start) return true
    start = end + 1
  }
  return false
}

/** Identity sorts by what it is. */
function orderKeys(change: Upsert, { sortKeys }: EngineDocument): object {
  const own = IDENTITY.flatMap((field) => {
    const key = identitySortKey(change, field)
    return key === undefined || key === null ? [] : [[field, key] as const]
  })
  return { ...Object.fromEntries(sortKeys), ...Object.fromEntries(own) }
}

const IDENTITY = ['cluster', 'kind', 'group', 'apiversion', 'resource', 'namespace', 'name', 'uid']

const SPEC_AND_STATUS = new KeyMatcher(['spec', 'status'])

function legacyFields(change: Upsert, { object }: EngineDocument): object {
  const metadata = record(object['metadata'])
  const { creationTimestamp, deletionTimestamp } = metadata
  const bytes = asBuffer(change.bytes)
  const { spec, status } = memberSpans(bytes, SPEC_AND_STATUS)
  return {
    apiVersion: apiVersionOf(change),
    kind: change.kind,
    metadata: {
      name: change.name,
      namespace: change.namespace,
      uid: change.uid,
      resourceVersion: change.resourceVersion,
      ...(typeof creationTimestamp === 'string' ? { creationTimestamp } : {}),
      ...(typeof deletionTimestamp === 'string' ? { deletionTimestamp } : {}),
      labels: strings(metadata['labels'], isFlat),
      annotations: strings(metadata['annotations'], isShownAnnotation),
    },
    ...(spec === undefined ? {} : { spec: textOf(bytes, spec) }),
    ...(status === undefined ? {} : { status: textOf(bytes, status) }),
  }
}

/** Where the object comes from is told by one of those that are not worth an index. */
function isShownAnnotation(key: string): boolean {
  return isIndexedAnnotation(key) || !key.startsWith('kubectl.kubernetes.io/')
}

function textOf(bytes: Buffer, { start, end }: Span): string {
  const text = bytes.toString('utf8', start, end)
  if (!mayEmbedSecrets(text)) return text
  const value = parseExact(bytes.subarray(start, end))
  emptySecrets(value)
  return goJson(value)
}

/** Half of what engines take of a key with its value in a flat field: 32,766 bytes of UTF-8. */
const MAX_FLAT_CHARS = 5_000

function isFlat(...keyAndText: readonly string[]): boolean {
  return keyAndText.every((text) => text.length <= MAX_FLAT_CHARS && !text.includes('\0') && text.isWellFormed())
}

/** Those that engines take: for any other they would refuse the whole object. */
function strings(value: unknown, isShown: (key: string, text: string) => boolean): object {
  return Object.fromEntries(
    Object.entries(record(value)).filter(
      ([key, text]) => typeof text === 'string' && isFieldName(key) && isShown(key, text),
    ),
  )
}

/** Keys that are empty, or begin or end with a dot, are none; no API server lets them through. */
function isFieldName(key: string): boolean {
  return key !== '' && !/^\.|\.$|\.\./.test(key) && key.isWellFormed()
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

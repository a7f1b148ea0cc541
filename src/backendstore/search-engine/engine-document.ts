/**
 * An object as the document that an engine is given: the fields that karmada-search wrote (spec and status as JSON text),
 * and ours. Values of Secrets are in neither.
 */
import { goJson, parseExact } from '../../kube/json-exact.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import { columnsOf } from '../../kube/columns/index.ts'
import { asBuffer, memberSpan } from '../../kube/object-scanner.ts'
import { DocumentBuilder, type SearchDocument } from '../../query/document.ts'
import { emptySecrets, mayEmbedSecrets } from '../../query/embedded-secrets.ts'
import { isIndexedAnnotation } from '../../query/index-rules.ts'
import { identitySortKey } from '../../query/sort-keys.ts'
import { BOUNDARY } from '../../query/term-text.ts'
import { foldCase } from '../../query/tokens.ts'
import type { Upsert } from '../backend-store.ts'
import { entryHash } from '../digest.ts'
import { cutWord, engineTerms } from './engine-terms.ts'
import { shardKey, tieOf } from './keys.ts'
import { ROOT } from './schema.ts'
import { rightsTerms } from './visible.ts'

/** Builds documents; keeps what it learns of paths, so use one for many objects. */
export class EngineDocuments {
  readonly #builder = new DocumentBuilder()

  /** JSON in one line. Throws `SyntaxError` for bytes that are no JSON. */
  build(change: Upsert): string {
    const document = this.#builder.build(change, change.bytes, columnsOf(change))
    return JSON.stringify({ ...legacyFields(change), [ROOT]: ownFields(change, document) })
  }
}

function ownFields(change: Upsert, document: SearchDocument): object {
  const { value, labels, paths, terms } = engineTerms(document)
  const text = {
    name: valuesOf(document.nameWords),
    strong: valuesOf(document.strongWords),
    other: valuesOf(document.otherWords),
  }
  return {
    value,
    order: orderKeys(change, document),
    labels,
    paths,
    terms,
    text,
    words: distinctWords(document),
    folded: foldCase(change.name),
    tie: tieOf(change),
    shard: shardKey(change),
    rights: rightsTerms(change),
    resourceVersion: change.resourceVersion,
    hash: entryHash(change),
  }
}

/** Lines of words; a boundary makes another value, across which no phrase matches. */
function valuesOf(words: string): string[] {
  if (words === '') return []
  return words.split(`\n${BOUNDARY}\n`).map((value) => value.split('\n').map(cutWord).join(' '))
}

function distinctWords({ nameWords, strongWords, otherWords }: SearchDocument): string[] {
  const found = new Set(`${nameWords}\n${strongWords}\n${otherWords}`.split('\n').map(cutWord))
  found.delete('')
  found.delete(BOUNDARY)
  return [...found]
}

/** Identity sorts by what it is. */
function orderKeys(change: Upsert, { sortKeys }: SearchDocument): object {
  const own = IDENTITY.flatMap((field) => {
    const key = identitySortKey(change, field)
    return key === undefined || key === null ? [] : [[field, key] as const]
  })
  return { ...Object.fromEntries(sortKeys), ...Object.fromEntries(own) }
}

const IDENTITY = ['cluster', 'kind', 'group', 'apiversion', 'resource', 'namespace', 'name', 'uid']

function legacyFields(change: Upsert): object {
  const bytes = asBuffer(change.bytes)
  const metadata = record(valueOf(bytes, 'metadata'))
  const { creationTimestamp, deletionTimestamp } = metadata
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
      labels: strings(metadata['labels'], () => true),
      annotations: strings(metadata['annotations'], isShownAnnotation),
    },
    ...textOf(bytes, 'spec'),
    ...textOf(bytes, 'status'),
  }
}

/** Where the object comes from is told by one of those that are not worth an index. */
function isShownAnnotation(key: string): boolean {
  return isIndexedAnnotation(key) || !key.startsWith('kubectl.kubernetes.io/')
}

function textOf(bytes: Buffer, member: string): object {
  const span = memberSpan(bytes, member)
  if (span === undefined) return {}
  const text = bytes.toString('utf8', span.start, span.end)
  if (!mayEmbedSecrets(text)) return { [member]: text }
  const value = parseExact(bytes.subarray(span.start, span.end))
  emptySecrets(value)
  return { [member]: goJson(value) }
}

function valueOf(bytes: Buffer, member: string): unknown {
  const span = memberSpan(bytes, member)
  return span === undefined ? undefined : JSON.parse(bytes.toString('utf8', span.start, span.end))
}

/** Keys that are empty, or begin or end with a dot, are no names of fields; no API server lets them through. */
function strings(value: unknown, isShown: (key: string) => boolean): object {
  return Object.fromEntries(
    Object.entries(record(value)).filter(
      ([key, text]) => typeof text === 'string' && key !== '' && !/^\.|\.$|\.\./.test(key) && isShown(key),
    ),
  )
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

/**
 * What an operator names as too secret to be kept: values at paths of a kind. They are taken out of an object's bytes when it
 * comes in, so that nothing behind that door (cache, search stores, facets, highlights, exports, history) can tell them.
 *
 *     ConfigMap: data.*
 *     Database.db.example.io: spec.password, spec.users.token, metadata.annotations["example.io/seed"]
 */
import { MalformedObjectError } from './malformed-error.ts'
import { goJson } from './json-deep.ts'
import { parseExact } from './json-exact.ts'

/** On a ResourceRegistry: which values to take out, a kind a line. */
export const REDACT_ANNOTATION = 'fleetsearch.dev/redact'
/** On an object that is shown without some of its values: the paths that they had. */
export const REDACTED_ANNOTATION = 'fleetsearch.dev/redacted'
/** Stands where a text stood; base64 too, so that typed clients can read `data` of a Secret. */
const MASK = 'redacted'

export type RedactedPath = readonly string[]

export interface ParsedRedaction {
  /** By `Kind.group`; `*` for every kind. */
  readonly paths: ReadonlyMap<string, readonly RedactedPath[]>
  readonly faults: readonly string[]
}

/** Everything but what names an object: for what cannot be read, so that nothing is told by mistake. */
const EVERYTHING: readonly RedactedPath[] = [['*'], ['metadata', 'annotations', '*']]
const KIND = /^[A-Za-z][A-Za-z0-9]*(\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/
const SEGMENT = /\.?(?:\["([^"]+)"\]|(\*|[A-Za-z0-9_$-]+))/y
const PLAIN_KEY = /^(\*|[A-Za-z0-9_$-]+)$/
const MAX_LENGTH = 16 * 1024

/** A line that cannot be read takes everything out of its kind, or of all kinds where that cannot be read either. */
export function parseRedaction(text: string): ParsedRedaction {
  const paths = new Map<string, RedactedPath[]>()
  const faults: string[] = []
  const add = (kind: string, more: readonly RedactedPath[]): void => {
    paths.set(kind, [...(paths.get(kind) ?? []), ...more])
  }
  if (text.length > MAX_LENGTH) {
    return { paths: new Map([['*', EVERYTHING]]), faults: [`must be at most ${MAX_LENGTH} characters`] }
  }
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.trim().startsWith('#')) continue
    const colon = line.indexOf(':')
    const kind = (colon < 0 ? line : line.slice(0, colon)).trim()
    const parsed = colon < 0 ? undefined : parsePaths(line.slice(colon + 1))
    if (!KIND.test(kind)) {
      faults.push(
        `line ${i + 1}: must begin with a kind, as in "ConfigMap: data.*" or "Database.db.example.io: spec.password"`,
      )
      add('*', EVERYTHING)
    } else if (parsed === undefined) {
      faults.push(
        `line ${i + 1}: after "${kind}:" come paths as spec.password, data.*, metadata.annotations["a.b/c"]; of metadata only annotations`,
      )
      add(kind, EVERYTHING)
    } else add(kind, parsed)
  }
  return { paths, faults }
}

/** Undefined where one is none. */
function parsePaths(text: string): RedactedPath[] | undefined {
  const found: RedactedPath[] = []
  for (let at = 0; ;) {
    while (/\s/.test(text.charAt(at))) at++
    const path: string[] = []
    SEGMENT.lastIndex = at
    for (let match = SEGMENT.exec(text); match !== null; match = SEGMENT.exec(text)) {
      if (match[0].startsWith('.') !== path.length > 0 && match[1] === undefined) return undefined
      path.push(match[1] ?? match[2] ?? '')
      at = SEGMENT.lastIndex
    }
    if (!isAllowed(path)) return undefined
    // All annotations but ours, as with the star.
    found.push(path.length === 2 && path[0] === 'metadata' ? [...path, '*'] : path)
    while (/\s/.test(text.charAt(at))) at++
    if (at >= text.length) return found
    if (text.charAt(at) !== ',') return undefined
    at++
  }
}

function isAllowed([first, second]: RedactedPath): boolean {
  if (first === undefined || first === 'apiVersion' || first === 'kind') return false
  return first !== 'metadata' || second === 'annotations'
}

interface NamedKind {
  readonly group: string
  readonly kind: string
}

/** What these annotations of registries take out of a kind, the same text for the same paths; empty: nothing. */
export function redactionOf(annotations: readonly string[], kind: NamedKind): string {
  return redactionsOf(annotations)(kind)
}

/** The same for many kinds: annotations are read once. */
export function redactionsOf(annotations: readonly string[]): (kind: NamedKind) => string {
  const parsed = annotations.map((text) => parseRedaction(text).paths)
  return ({ group, kind }) => {
    const name = group === '' ? kind : `${kind}.${group}`
    const paths = parsed.flatMap((each) => [...(each.get(name) ?? []), ...(each.get('*') ?? [])])
    const distinct = [...new Set(paths.map((path) => JSON.stringify(path)))].sort()
    return distinct.length === 0 ? '' : `[${distinct.join(',')}]`
  }
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Takes the values of one kind out of its objects. */
export class Redactor {
  readonly #paths: readonly RedactedPath[]

  /** As `redactionOf` says it. */
  constructor(redaction: string) {
    this.#paths = JSON.parse(redaction) as RedactedPath[]
  }

  /** The object without them, and with the marker; `bytes` themselves where it has none. Throws `MalformedObjectError`. */
  redact(bytes: Buffer): Buffer {
    const object = parsed(bytes)
    const taken = this.#paths.filter((path) => takeOut(object, path, 0))
    const metadata = object['metadata'] as Record<string, unknown>
    const annotations = metadata['annotations'] as Record<string, unknown>
    const isRepeated = typeof annotations[LAST_APPLIED] === 'string' // it may say what has been changed since
    if (taken.length === 0 && !isRepeated) return bytes
    if (isRepeated) annotations[LAST_APPLIED] = MASK
    delete metadata['managedFields'] // sets name their values there
    const shown = [...taken.map(spell), ...(isRepeated ? [spell(['metadata', 'annotations', LAST_APPLIED])] : [])]
    annotations[REDACTED_ANNOTATION] = shown.join(', ')
    return Buffer.from(goJson(object))
  }
}

/** What a parser says of faulty JSON may hold the very values. */
function parsed(bytes: Buffer): Record<string, unknown> {
  try {
    return parseExact(bytes) as Record<string, unknown>
  } catch {
    throw new MalformedObjectError('shape', 'the object is no JSON')
  }
}

const spell = (path: RedactedPath): string =>
  path.map((key, i) => (!PLAIN_KEY.test(key) ? `["${key}"]` : `${i === 0 ? '' : '.'}${key}`)).join('')

const KEPT: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** Whether anything was there. */
function takeOut(value: unknown, path: RedactedPath, at: number): boolean {
  if (Array.isArray(value)) {
    return itemsOf(value)
      .map((item) => takeOut(item, path, at))
      .some(Boolean)
  }
  if (typeof value !== 'object' || value === null) return false
  const object = value as Record<string, unknown>
  const key = path[at] as string
  const keys = key !== '*' ? [key] : Object.keys(object).filter((each) => at > 0 || !KEPT.has(each))
  let found = false
  for (const each of keys) {
    if (!Object.hasOwn(object, each) || isOurs(path, at, each)) continue
    if (at < path.length - 1) found = takeOut(object[each], path, at + 1) || found
    else {
      const masked = mask(object[each])
      found = true
      if (masked === undefined) delete object[each]
      else object[each] = masked
    }
  }
  return found
}

/** Also of lists in lists, however deep. */
function itemsOf(list: readonly unknown[]): unknown[] {
  const items: unknown[] = []
  const ahead: unknown[] = [list]
  while (ahead.length > 0) {
    const next = ahead.pop()
    if (!Array.isArray(next)) items.push(next)
    else for (const item of next) ahead.push(item)
  }
  return items
}

const OURS: ReadonlySet<string> = new Set(['resource.karmada.io/cached-from-cluster', 'cluster.karmada.io/name'])

/** What says where the object comes from stays. */
const isOurs = (path: RedactedPath, at: number, key: string): boolean =>
  at === 2 && path[0] === 'metadata' && OURS.has(key)

/** What is deeper has no mask: it would take more stack than there is. */
const MAX_MASKED_DEPTH = 200

/** Keys and the lengths of lists of texts stay, texts are masked, and what has no mask goes. */
function mask(value: unknown, depth = 0): unknown {
  if (value === null) return null
  if (typeof value === 'string') return MASK
  if (typeof value !== 'object' || depth > MAX_MASKED_DEPTH) return undefined
  if (Array.isArray(value)) return value.map((item) => mask(item, depth + 1)).filter((item) => item !== undefined)
  const entries = Object.entries(value).map(([key, item]) => [key, mask(item, depth + 1)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}

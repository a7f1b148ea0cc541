/**
 * Where in an object the free text of a query stands: read from the object's own bytes, so it is the same whatever store
 * found it. Costs a parse and a walk of each object shown, about 0.1 ms for a pod.
 */
import type { JsonObject } from '../kube/columns/column.ts'
import { parseObject } from '../http/selection.ts'
import { globMatcher } from '../query/glob.ts'
import { isIndexedAnnotation } from '../query/index-rules.ts'
import { JsonWalker, type Leaves } from '../query/json-walker.ts'
import type { TextPredicate } from '../query/resolve.ts'
import type { SearchHit } from '../query/search-request.ts'
import { placedWords, type PlacedWord } from '../query/tokens.ts'

/** Each of `marks` is a part of `text`: from, to in UTF-16 units. `text` may be cut out of a longer value. */
export interface Highlight {
  readonly path: string
  readonly text: string
  readonly marks: readonly (readonly [from: number, to: number])[]
}

const MAX_HIGHLIGHTS = 8
const MAX_TEXT = 200
/** Shown in front of the first mark where a text is cut. */
const LEAD = 40
/** What of a value is looked at, as in the index. */
const LOOKED_AT = 1_024

/** At most 8, in the order of rank: name, labels and images, the rest. */
export function highlightsOf(
  { ranked }: { readonly ranked: readonly TextPredicate[] },
  hit: SearchHit,
  bytes: Uint8Array,
): Highlight[] {
  if (ranked.length === 0) return []
  const found: Highlight[] = []
  for (const { path, text } of textsOf(hit, parseObject(bytes))) {
    const placed = placedWords(text.slice(0, LOOKED_AT))
    const marks = merged(ranked.flatMap((predicate) => marksOf(predicate, placed)))
    if (marks.length > 0) found.push(cut(path, text, marks))
    if (found.length === MAX_HIGHLIGHTS) break
  }
  return found
}

interface NamedText {
  readonly path: string
  readonly text: string
}

function textsOf(hit: SearchHit, object: JsonObject): NamedText[] {
  const metadata = (object['metadata'] ?? {}) as JsonObject
  const pairs = (field: string, map: unknown): NamedText[] =>
    Object.entries((map ?? {}) as JsonObject)
      .filter(([key, value]) => typeof value === 'string' && (field === 'label' || isIndexedAnnotation(key)))
      .map(([key, value]) => ({ path: `${field}.${key}`, text: `${key}=${String(value)}` }))
  const owners = Array.isArray(metadata['ownerReferences']) ? (metadata['ownerReferences'] as JsonObject[]) : []
  const leaves = leavesOf(hit, object)
  const isImage = ({ path }: NamedText): boolean => path === 'image'
  return [
    { path: 'name', text: hit.name },
    ...pairs('label', metadata['labels']),
    ...leaves.filter(isImage),
    { path: 'namespace', text: hit.namespace },
    { path: 'kind', text: hit.kind },
    { path: 'cluster', text: hit.cluster },
    ...owners.flatMap(({ name }) => (typeof name === 'string' ? [{ path: 'owner', text: name }] : [])),
    ...leaves.filter((leaf) => !isImage(leaf)),
    ...pairs('annotation', metadata['annotations']),
  ]
}

/** The leaves that stand in the free text. Keys do by themselves, and have the path of what holds them. */
function leavesOf(hit: SearchHit, object: JsonObject): NamedText[] {
  const found = new Map<string, NamedText>()
  const add = (path: string, text: string): void => void found.set(`${path}\n${text}`, { path, text })
  let last: NamedText = { path: '', text: '' }
  const leaves: Leaves = {
    text: ({ path }, text) => (last = { path, text }),
    words: (text) => add(last.text === text ? last.path : '.data', text),
    image: (text) => add('image', text),
    node: (text) => add('node', text),
    ip: (text) => add('ip', text),
    number: () => undefined,
    boolean: () => undefined,
    empty: () => undefined,
  }
  new JsonWalker().walk(object, hit, leaves)
  return [...found.values()]
}

type Mark = readonly [from: number, to: number]

function marksOf(predicate: TextPredicate, placed: readonly PlacedWord[]): Mark[] {
  if (predicate.type === 'wordGlob') {
    const matches = globMatcher(predicate.pattern)
    return placed.filter(({ word }) => matches(word)).map(({ from, to }) => [from, to])
  }
  const { words, prefix } = predicate
  const found: Mark[] = []
  for (let i = 0; i + words.length <= placed.length; i++) {
    const isHere = words.every((word, k) => {
      const here = placed[i + k]?.word ?? ''
      return prefix && k === words.length - 1 ? here.startsWith(word) : here === word
    })
    const [first, last] = [placed[i], placed[i + words.length - 1]]
    if (isHere && first !== undefined && last !== undefined) found.push([first.from, last.to])
  }
  return found
}

function merged(marks: readonly Mark[]): Mark[] {
  const result: [number, number][] = []
  for (const [from, to] of marks.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1)
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to)
    else result.push([from, to])
  }
  return result
}

function cut(path: string, text: string, marks: readonly Mark[]): Highlight {
  if (text.length <= MAX_TEXT) return { path, text, marks }
  let start = Math.max(0, (marks[0]?.[0] ?? 0) - LEAD)
  if (isLowSurrogate(text, start)) start--
  let end = Math.min(text.length, start + MAX_TEXT)
  if (isLowSurrogate(text, end)) end--
  const shown = marks.filter(([, to]) => to <= end).map(([from, to]): Mark => [from - start, to - start])
  return { path, text: text.slice(start, end), marks: shown }
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

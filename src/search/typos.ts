/**
 * What a caller may have meant where his query finds nothing: words that nothing he may see has are replaced by the nearest
 * words that something he may see has. Words in quotes, patterns and words of fewer than four characters are left alone.
 */
import type { Predicate, TextPredicate } from '../query/resolve.ts'
import type { SearchRequest, SearchStore, VisibleDocuments } from '../query/search-request.ts'

/** Of one query; each is a few look-ups. */
const MAX_TERMS = 50
const MIN_CHARS = 4
/** Two edits only in words that stay recognisable. */
const TWO_EDITS_CHARS = 8
/** Looking through the vocabulary takes some ms a word. */
const MAX_WORDS = 8

export interface Expansion {
  readonly word: string
  /** Nearest first. */
  readonly terms: readonly string[]
}

export interface Corrected {
  readonly request: SearchRequest
  readonly expansions: readonly Expansion[]
}

type Phrase = TextPredicate & { readonly type: 'phrase' }

/** Undefined where every word is known, or nothing is near. */
export async function withoutTypos(
  store: Pick<SearchStore, 'vocabulary'>,
  request: SearchRequest,
): Promise<Corrected | undefined> {
  const phrases = request.ranked.filter((text): text is Phrase => text.type === 'phrase' && text.quoted !== true)
  const words = [...new Set(phrases.flatMap(wordsToCheck))].slice(0, MAX_WORDS)
  const terms = new Map<string, readonly string[]>()
  const limit = Math.max(1, Math.floor(MAX_TERMS / Math.max(1, words.length)))
  for (const word of words) {
    const near = await nearestTo(store, word, request.visible, limit)
    if (near.length > 0 && near[0] !== word) terms.set(word, near)
  }
  if (terms.size === 0) return undefined
  const replaced = new Map(phrases.map((phrase) => [phrase as TextPredicate, corrected(phrase, terms)]))
  return {
    request: {
      ...request,
      predicate: replace(request.predicate, replaced),
      ranked: request.ranked.flatMap((text) => replaced.get(text)?.flat() ?? [text]),
    },
    expansions: [...terms].map(([word, found]) => ({ word, terms: found })),
  }
}

/** The last word of a beginning is not yet all there. */
function wordsToCheck({ words, prefix }: Phrase): string[] {
  return words.filter((word, i) => word.length >= MIN_CHARS && !(prefix && i === words.length - 1))
}

async function nearestTo(
  store: Pick<SearchStore, 'vocabulary'>,
  word: string,
  visible: VisibleDocuments | undefined,
  limit: number,
): Promise<string[]> {
  const edits = word.length >= TWO_EDITS_CHARS ? 2 : 1
  const { values } = await store.vocabulary({
    predicate: { type: 'all' },
    ...(visible === undefined ? {} : { visible }),
    like: { type: 'near', text: word, edits },
    limit,
  })
  return values.map(({ value }) => value)
}

/** For each word what it may be; a phrase of several is no longer one in a row. */
function corrected(phrase: Phrase, terms: ReadonlyMap<string, readonly string[]>): TextPredicate[][] {
  if (!phrase.words.some((word) => terms.has(word))) return [[phrase]]
  return phrase.words.map((word, i) => {
    const prefix = phrase.prefix && i === phrase.words.length - 1
    return (terms.get(word) ?? [word]).map((term) => ({ type: 'phrase', words: [term], prefix, whole: term }))
  })
}

function replace(predicate: Predicate, replaced: ReadonlyMap<Predicate, TextPredicate[][]>): Predicate {
  const found = replaced.get(predicate)
  if (found !== undefined)
    return all(
      'and',
      found.map((some) => all('or', some)),
    )
  switch (predicate.type) {
    case 'and':
    case 'or':
      return { type: predicate.type, children: predicate.children.map((child) => replace(child, replaced)) }
    case 'not':
      return { type: 'not', child: replace(predicate.child, replaced) }
    default:
      return predicate
  }
}

function all(type: 'and' | 'or', children: readonly Predicate[]): Predicate {
  const [first] = children
  return children.length === 1 && first !== undefined ? first : { type, children }
}

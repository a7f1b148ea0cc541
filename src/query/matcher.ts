/**
 * Whether a document satisfies a predicate, decided on its own terms and words: for one object at a time, where no store is
 * asked (watches). Costs as much as the document's making, about 0.1 ms for a pod.
 */
import type { SearchDocument } from './document.ts'
import { globMatcher } from './glob.ts'
import { regexMatcher } from './regex-matcher.ts'
import type { Predicate, TextPredicate } from './resolve.ts'
import { NUMBER } from './sortable.ts'
import { hasPieces, QUANTITY_TEXT, TERM_SEPARATOR, termOf, wordTerms } from './term.ts'
import { pieces } from './pieces.ts'
import type { Comparison } from './typed-bounds.ts'

export type DocumentMatcher = (
  document: Pick<SearchDocument, 'terms' | 'nameWords' | 'strongWords' | 'otherWords'>,
) => boolean

interface Content {
  readonly terms: ReadonlySet<string>
  /** All lines of words, each between line feeds. */
  readonly words: string
}

type Test = (content: Content) => boolean

/** Compiled once, for any number of documents. */
export function documentMatcher(predicate: Predicate): DocumentMatcher {
  const test = compile(predicate)
  return ({ terms, nameWords, strongWords, otherWords }) =>
    test({
      terms: new Set(terms.split('\n')),
      words: `\n${nameWords}\n\u0001\n${strongWords}\n\u0001\n${otherWords}\n`,
    })
}

function compile(predicate: Predicate): Test {
  switch (predicate.type) {
    case 'all':
      return () => true
    case 'and': {
      const tests = predicate.children.map(compile)
      return (content) => tests.every((test) => test(content))
    }
    case 'or': {
      const tests = predicate.children.map(compile)
      return (content) => tests.some((test) => test(content))
    }
    case 'not': {
      const test = compile(predicate.child)
      return (content) => !test(content)
    }
    case 'exact': {
      const term = termOf(predicate.path, '=', predicate.value)
      return ({ terms }) => terms.has(term)
    }
    case 'word':
      return word(predicate.path, predicate.word)
    case 'glob': {
      const matches = globMatcher(predicate.word)
      const isLike = hasPieces(predicate.path) ? matches : (value: string): boolean => pieces(value).some(matches)
      return either(values(predicate.path, '=', isLike), values(predicate.path, '~', matches))
    }
    case 'exists':
      return exists(predicate.path, predicate.nested)
    case 'compare': {
      const holds = comparison(predicate.comparison, predicate.key)
      const own = values(predicate.path, predicate.mark, holds)
      return predicate.mark === NUMBER ? either(own, values(predicate.path, QUANTITY_TEXT, holds)) : own
    }
    case 'keyPrefix':
      return values(predicate.path, predicate.mark, (key) => predicate.prefixes.some((each) => key.startsWith(each)))
    case 'regex':
      return values(predicate.path, '=', regexMatcher(predicate.regex))
    case 'phrase':
    case 'wordGlob':
      return text(predicate)
  }
}

function either(a: Test, b: Test): Test {
  return (content) => a(content) || b(content)
}

function word(path: string, folded: string): Test {
  if (!hasPieces(path)) return values(path, '=', (value) => pieces(value).includes(folded))
  const wanted = wordTerms(path, folded)
  return ({ terms }) => wanted.some((term) => terms.has(term))
}

/** A value under that mark is accepted. */
function values(path: string, mark: string, accept: (value: string) => boolean): Test {
  const prefix = path + TERM_SEPARATOR + mark
  return ({ terms }) => {
    for (const term of terms) if (term.startsWith(prefix) && accept(term.slice(prefix.length))) return true
    return false
  }
}

function exists(path: string, nested: boolean): Test {
  const own = path + TERM_SEPARATOR
  return ({ terms }) => {
    for (const term of terms) if (term.startsWith(own) || (nested && term.startsWith(`${path}.`))) return true
    return false
  }
}

/** Keys are ASCII: their order is that of their bytes. */
function comparison(operator: Comparison, bound: string): (key: string) => boolean {
  switch (operator) {
    case '=':
      return (key) => key === bound
    case '<':
      return (key) => key < bound
    case '<=':
      return (key) => key <= bound
    case '>':
      return (key) => key > bound
    case '>=':
      return (key) => key >= bound
  }
}

function text(predicate: TextPredicate): Test {
  if (predicate.type === 'wordGlob') {
    const matches = globMatcher(predicate.pattern)
    return ({ words }) => words.split('\n').some((each) => each !== '\u0001' && each !== '' && matches(each))
  }
  const lines = `\n${predicate.words.join('\n')}${predicate.prefix ? '' : '\n'}`
  return ({ words }) => words.includes(lines)
}

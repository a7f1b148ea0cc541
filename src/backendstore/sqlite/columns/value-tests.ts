/**
 * Whether a value satisfies a condition on its path, as `filter.ts` has it of the value's terms: the same answer without
 * the index. Only for paths whose values have their pieces as terms (`hasPieces`) and are no quantities.
 */
import { globMatcher } from '../../../query/glob.ts'
import { regexMatcher } from '../../../query/regex-matcher.ts'
import type { Predicate } from '../../../query/resolve.ts'
import { pieces } from '../../../query/pieces.ts'
import { exactValue } from '../../../query/tokens.ts'

/** Of a sort key or, behind `=`, a text (`termOf`): a mark and what stands behind it. */
export type ValueTest = (term: string) => boolean

export type PathPredicate = Extract<Predicate, { readonly path: string }>

export function isOfPath(predicate: Predicate): predicate is PathPredicate {
  return 'path' in predicate
}

export function valueTest(predicate: PathPredicate): ValueTest {
  switch (predicate.type) {
    case 'exact': {
      const wanted = `=${predicate.value}`
      return (term) => term === wanted
    }
    case 'word':
      return ofText((text) => text === predicate.word || pieces(text).includes(predicate.word))
    case 'glob':
      return globTest(predicate.word)
    case 'exists':
      return () => true
    case 'compare':
      return comparison(predicate)
    case 'keyPrefix': {
      const prefixes = predicate.prefixes.map((prefix) => predicate.mark + prefix)
      return (term) => prefixes.some((prefix) => term.startsWith(prefix))
    }
    case 'regex':
      return ofText(regexMatcher(predicate.regex))
  }
}

/** The term of a text. */
export function textTerm(text: string): string {
  return `=${exactValue(text)}`
}

/** The term of a sort key: of a text it is its folded form, U+0001, and the text (`sortableText`). */
export function termOfKey(key: string): string {
  const text = key.indexOf('\u0001')
  return text < 0 ? key : `=${key.slice(text + 1)}`
}

function ofText(test: (text: string) => boolean): ValueTest {
  return (term) => term.startsWith('=') && test(term.slice(1))
}

function globTest(pattern: string): ValueTest {
  const prefix = /^([^*?]+)\*$/.exec(pattern)?.[1]
  if (prefix !== undefined) {
    return ofText((text) => text.startsWith(prefix) || pieces(text).some((piece) => piece.startsWith(prefix)))
  }
  const matches = globMatcher(pattern)
  return ofText((text) => pieces(text).some(matches))
}

function comparison({ mark, comparison: sign, key }: Extract<PathPredicate, { type: 'compare' }>): ValueTest {
  const bound = mark + key
  const of =
    (test: (term: string) => boolean): ValueTest =>
    (term) =>
      term.startsWith(mark) && test(term)
  switch (sign) {
    case '=':
      return of((term) => term === bound)
    case '<':
      return of((term) => term < bound)
    case '<=':
      return of((term) => term <= bound)
    case '>':
      return of((term) => term > bound)
    case '>=':
      return of((term) => term >= bound)
  }
}

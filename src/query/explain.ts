/** How a query was read, for `explain=true`. */
import type { QueryNode } from './ast.ts'
import type { Predicate, ResolvedQuery, TextPredicate } from './resolve.ts'
import { IP, NUMBER, numberOfKey, TIME, timeOfKey, versionOfKey, type SortableMark } from './sortable.ts'

export interface Explained {
  readonly ast: QueryNode
  /** What documents have to be like. */
  readonly means: string
  /** The texts that results are ranked by. */
  readonly ranked: readonly string[]
}

export function explained({ ast, predicate, ranked }: ResolvedQuery & { readonly ast: QueryNode }): Explained {
  return { ast, means: meaning(predicate), ranked: ranked.map(meaning) }
}

export function meaning(predicate: Predicate): string {
  switch (predicate.type) {
    case 'all':
      return 'anything'
    case 'and':
      return joined(predicate.children, 'and', 'anything')
    case 'or':
      return joined(predicate.children, 'or', 'nothing')
    case 'not':
      return `not (${meaning(predicate.child)})`
    case 'exact':
      return `${predicate.path} is exactly ${JSON.stringify(predicate.value)}`
    case 'word':
      return `${predicate.path} is or has the piece ${JSON.stringify(predicate.word)}, whatever the case`
    case 'glob':
      return `${predicate.path} is or has a piece like ${JSON.stringify(predicate.word)}, whatever the case`
    case 'exists':
      return `${predicate.path} is set`
    case 'compare':
      return `${predicate.path} ${predicate.comparison} ${keyText(predicate.mark, predicate.key)}`
    case 'keyPrefix':
      return `${predicate.path} is an address whose hexadecimal form begins with ${predicate.prefixes.map((each) => each.slice(1)).join(' or ')}`
    case 'regex':
      return `${predicate.path} matches the regular expression`
    case 'phrase':
    case 'wordGlob':
      return textMeaning(predicate)
  }
}

function textMeaning(text: TextPredicate): string {
  if (text.type === 'wordGlob') return `the text has a word like ${JSON.stringify(text.pattern)}`
  const words = text.words.map((word) => JSON.stringify(word)).join(' then ')
  return `the text has ${words}${text.prefix ? ' (or what begins so)' : ''}`
}

function joined(children: readonly Predicate[], word: string, none: string): string {
  if (children.length === 0) return none
  return children
    .map((child) => (child.type === 'and' || child.type === 'or' ? `(${meaning(child)})` : meaning(child)))
    .join(` ${word} `)
}

function keyText(mark: SortableMark, key: string): string {
  if (mark === NUMBER) return numberOfKey(key)
  if (mark === TIME) return timeOfKey(key)
  return mark === IP ? key.slice(1) : versionOfKey(key)
}

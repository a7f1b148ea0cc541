/** A regular expression as Lucene's `regexp` query reads it: bound to both ends of a term, with no optional operators. */
import { LAST_CODE_POINT, type CharRange, type Regex, type RegexNode } from './regex.ts'

/**
 * Of terms that begin with `prefix` (literal) and go on as the expression says. Ask with `flags: NONE`; the automaton may
 * need more than the default of 10,000 determinized states.
 */
export function luceneRegex({ atStart, atEnd, node }: Regex, prefix: string): string {
  const body = node.type === 'branches' ? `(${printed(node)})` : printed(node)
  return `${[...prefix].map(escaped).join('')}${atStart ? '' : '.*'}${body}${atEnd ? '' : '.*'}`
}

function printed(node: RegexNode): string {
  switch (node.type) {
    case 'chars':
      return printedChars(node.ranges)
    case 'sequence':
      return node.children.length === 0 ? '()' : node.children.map((child) => grouped(child, 'branches')).join('')
    case 'branches':
      return node.children.map(printed).join('|')
    case 'repeat': {
      const { child, min, max } = node
      return `${child.type === 'chars' ? printed(child) : `(${printed(child)})`}${timesText(min, max)}`
    }
  }
}

function timesText(min: number, max: number | undefined): string {
  if (max === undefined) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  return min === 0 && max === 1 ? '?' : `{${min},${max}}`
}

function grouped(node: RegexNode, type: RegexNode['type']): string {
  return node.type === type ? `(${printed(node)})` : printed(node)
}

function printedChars(ranges: readonly CharRange[]): string {
  const [first] = ranges
  if (first === undefined) return '[^\u0000-\u{10ffff}]' // no character at all
  if (first[0] === 0 && first[1] === LAST_CODE_POINT) return '.'
  if (ranges.length === 1 && first[0] === first[1]) return escaped(String.fromCodePoint(first[0]))
  const point = (value: number): string => escaped(String.fromCodePoint(value))
  return `[${ranges.map(([from, to]) => (from === to ? point(from) : `${point(from)}-${point(to)}`)).join('')}]`
}

/** Every sign that is an operator somewhere; letters and digits have other meanings behind a backslash. */
function escaped(c: string): string {
  return /^[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]$/.test(c) ? `\\${c}` : c
}

/** Which rows have a value that a condition on one path accepts. */
import { TIME } from '../../../query/sortable.ts'
import type { CodedTexts } from './coded-texts.ts'
import { MISSING } from './coarse.ts'
import type { MemoryColumns } from './columns.ts'
import { emptyMask, type Mask } from './mask.ts'
import { termOfKey, textTerm, valueTest, type PathPredicate, type ValueTest } from './value-tests.ts'

/** So many distinct values are taken into their pieces; of more the index knows them quicker. */
const MAX_PIECED = 1_000
const PIECED: ReadonlySet<string> = new Set<PathPredicate['type']>(['word', 'glob', 'regex'])

/** How they are found; undefined where the columns do not tell. */
export function rowsWith(columns: MemoryColumns, predicate: PathPredicate): (() => Mask) | undefined {
  const { length } = columns.rows
  const isTooMany = (values: number): boolean => values > MAX_PIECED && PIECED.has(predicate.type)
  switch (predicate.path) {
    case 'cluster':
    case 'namespace': {
      const texts = predicate.path === 'cluster' ? columns.clusters : columns.namespaces
      return isTooMany(texts.texts.length) ? undefined : () => ofTexts(texts, length, valueTest(predicate))
    }
    case 'kind':
    case 'group':
    case 'resource': {
      const { path } = predicate
      return () => ofKinds(columns, path, valueTest(predicate))
    }
    default:
      return ofKeys(columns, predicate, isTooMany)
  }
}

function ofKeys(
  columns: MemoryColumns,
  predicate: PathPredicate,
  isTooMany: (values: number) => boolean,
): (() => Mask) | undefined {
  const { length } = columns.rows
  const keys = columns.wholeKeys(predicate.path)
  const coded = keys?.coded
  if (coded !== undefined) {
    if (isTooMany(coded.entries.length)) return undefined
    const terms = (): string[][] => coded.entries.map((entry) => entry.keys.map(termOfKey))
    return () => ofCodes(coded.codes, length, valueTest(predicate), terms())
  }
  const range = predicate.type === 'compare' ? wholeSeconds(predicate) : undefined
  const at = keys?.isOfTimes === true ? keys.order()?.at : undefined
  return at === undefined || range === undefined ? undefined : () => ofNumbers(at, length, range)
}

function ofTexts({ codes, texts }: CodedTexts, length: number, test: ValueTest): Mask {
  return ofCodes(
    codes,
    length,
    test,
    texts.map((text) => (text === '' ? [] : [textTerm(text)])),
  )
}

function ofKinds(columns: MemoryColumns, path: 'kind' | 'group' | 'resource', test: ValueTest): Mask {
  const terms = columns.kinds.map((kind) => (kind === undefined ? [] : [textTerm(kind[path])]))
  return ofCodes(columns.resources, columns.rows.length, test, terms)
}

/** `terms`: by code. */
function ofCodes(
  codes: Uint16Array | Uint32Array,
  length: number,
  test: ValueTest,
  terms: readonly (readonly string[])[],
): Mask {
  const accepted = Uint8Array.from(terms, (each) => (each.some(test) ? 1 : 0))
  const mask = emptyMask(length)
  for (let row = 0; row < length; row++) mask[row] = accepted[codes[row] as number] as number
  return mask
}

interface Range {
  readonly from: number
  readonly to: number
}

/** Times of a column are whole seconds, so a bound's fraction only says on which side of one it is. */
function wholeSeconds({ mark, comparison, key }: Extract<PathPredicate, { type: 'compare' }>): Range | undefined {
  if (mark !== TIME) return undefined
  const second = Number(key.slice(0, 14))
  const isWhole = key.length === 14
  switch (comparison) {
    case '=':
      return isWhole ? { from: second, to: second } : { from: 1, to: 0 }
    case '<':
      return { from: 0, to: isWhole ? second - 1 : second }
    case '<=':
      return { from: 0, to: second }
    case '>':
      return { from: second + 1, to: Number.MAX_VALUE }
    case '>=':
      return { from: isWhole ? second : second + 1, to: Number.MAX_VALUE }
  }
}

function ofNumbers(at: (row: number) => number, length: number, { from, to }: Range): Mask {
  const mask = emptyMask(length)
  for (let row = 0; row < length; row++) {
    const value = at(row)
    mask[row] = value >= from && value <= to && value !== MISSING ? 1 : 0
  }
  return mask
}

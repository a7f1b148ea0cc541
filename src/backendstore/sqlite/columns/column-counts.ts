/** `countRows` of `counts.ts` over columns. */
import type { CountRequest, CountResult, CountRow } from '../../../query/search-request.ts'
import { countCodes, groupingOf, type Grouping } from './column-groups.ts'
import type { MemoryColumns } from './columns.ts'

/** Undefined where the columns do not tell one of the dimensions. */
export function countInColumns(
  columns: MemoryColumns,
  rows: Uint32Array,
  { dimensions, maxRows }: Pick<CountRequest, 'dimensions' | 'maxRows'>,
): CountResult | undefined {
  const groupings: Grouping[] = []
  for (const dimension of dimensions) {
    const grouping = groupingOf(columns, dimension)
    if (grouping === undefined) return undefined
    groupings.push(grouping)
  }
  if (groupings.reduce((product, { keys }) => product * keys.length, 1) > Number.MAX_SAFE_INTEGER) return undefined
  const found = new Map<string, { keys: readonly (string | null)[]; documents: number }>()
  for (const [codes, documents] of combinations(groupings, rows)) {
    for (const keys of expand(groupings, codes)) {
      const text = JSON.stringify(keys)
      const known = found.get(text)
      if (known === undefined) found.set(text, { keys, documents })
      else known.documents += documents
    }
    if (found.size > maxRows) return { rows: [], complete: false }
  }
  return { rows: [...found.values()] satisfies CountRow[], complete: true }
}

/** The combinations of codes that there are, with the rows of each. */
function* combinations(groupings: readonly Grouping[], rows: Uint32Array): Generator<[number[], number]> {
  const [first, ...more] = groupings
  if (first === undefined) {
    if (rows.length > 0) yield [[], rows.length]
    return
  }
  if (more.length === 0) {
    for (const [code, count] of countCodes(first, rows).entries()) if (count > 0) yield [[code], count]
    return
  }
  const counts = new Map<number, number>()
  for (const row of rows) {
    let place = 0
    for (const { codes, keys } of groupings) place = place * keys.length + (codes[row] as number)
    counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  for (const [place, count] of counts) yield [codesOf(groupings, place), count]
}

function codesOf(groupings: readonly Grouping[], place: number): number[] {
  const codes: number[] = []
  let rest = place
  for (const { keys } of groupings.toReversed()) {
    codes.unshift(rest % keys.length)
    rest = Math.floor(rest / keys.length)
  }
  return codes
}

function expand(groupings: readonly Grouping[], codes: readonly number[]): (string | null)[][] {
  let combinations: (string | null)[][] = [[]]
  for (const [i, { keys }] of groupings.entries()) {
    const own = keys[codes[i] as number] ?? []
    const each = own.length === 0 ? [null] : own
    combinations = combinations.flatMap((before) => each.map((key) => [...before, key]))
  }
  return combinations
}

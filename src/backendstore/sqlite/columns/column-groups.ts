/** By what rows are counted: a number for each row, and the keys (`Dimension`) that it stands for. */
import type { Dimension } from '../../../query/search-request.ts'
import { TIME_UNIT_CHARS } from '../../../query/search-request.ts'
import { NUMBER, TIME } from '../../../query/sortable.ts'
import type { MemoryColumns } from './columns.ts'
import { termOfKey } from './value-tests.ts'

export interface Grouping {
  readonly codes: Uint16Array | Uint32Array
  /** By code: none, one, or several. */
  readonly keys: readonly (readonly string[])[]
}

/** Undefined where the columns do not tell. */
export function groupingOf(columns: MemoryColumns, dimension: Dimension): Grouping | undefined {
  const { path } = dimension
  if (dimension.type === 'value') {
    const own = identityGrouping(columns, path)
    if (own !== undefined) return own
  }
  const coded = columns.wholeKeys(path)?.coded
  if (coded === undefined) return undefined
  const keyOf = keyReader(dimension)
  return {
    codes: coded.codes,
    keys: coded.entries.map(({ keys }) => [...new Set(keys.map(keyOf).filter((key) => key !== undefined))]),
  }
}

function identityGrouping(columns: MemoryColumns, path: string): Grouping | undefined {
  switch (path) {
    case 'cluster':
    case 'namespace': {
      const { codes, texts } = path === 'cluster' ? columns.clusters : columns.namespaces
      return { codes, keys: texts.map((text) => (text === '' ? [] : [`=${text}`])) }
    }
    case 'kind':
    case 'group':
    case 'resource': {
      const keys = columns.kinds.map((kind) => (kind === undefined ? [] : [`=${kind[path]}`]))
      return { codes: columns.resources, keys }
    }
    default:
      return undefined
  }
}

function keyReader(dimension: Dimension): (key: string) => string | undefined {
  switch (dimension.type) {
    case 'value':
      return termOfKey
    case 'number':
      return (key) => (termOfKey(key).startsWith(NUMBER) ? key : undefined)
    case 'time': {
      const length = dimension.unit === undefined ? Infinity : 1 + TIME_UNIT_CHARS[dimension.unit]
      return (key) => (termOfKey(key).startsWith(TIME) ? key.slice(0, length) : undefined)
    }
  }
}

/** How many of the rows have each code. */
export function countCodes({ codes, keys }: Grouping, rows: Uint32Array): Uint32Array {
  const counts = new Uint32Array(keys.length)
  for (let i = 0; i < rows.length; i++) {
    const code = codes[rows[i] as number] as number
    counts[code] = (counts[code] as number) + 1
  }
  return counts
}

/** Answers as an engine gives them, without what is not the caller's: names of indices, shards and nodes. */
import type { NativeAnswer, NativeHit } from '../../query/native-search.ts'
import { FIELDS, shownMapping } from './fields.ts'
import type { NativeBody } from './read-search.ts'
import type { AsyncAnswer } from './async-searches.ts'
import type { Indices } from './target.ts'
import { withTypedKeys } from './typed-keys.ts'

/** How many there are is nobody's to know who may not see what is in them. */
const SHARDS = { total: 1, successful: 1, skipped: 0, failed: 0 }

export interface AnswerForm {
  /** As older clients have totals. */
  readonly totalAsNumber?: boolean
  readonly typedKeys?: boolean
}

export function searchAnswer(
  { took, timed_out, total, hits, aggregations }: NativeAnswer,
  { sort, searchAfter, aggregations: asked = {} }: Pick<NativeBody, 'sort' | 'searchAfter' | 'aggregations'>,
  { totalAsNumber = false, typedKeys = false }: AnswerForm = {},
): object {
  const showsSort = sort.length > 0 || searchAfter !== undefined
  return {
    took,
    timed_out,
    _shards: SHARDS,
    hits: {
      ...(total === undefined ? {} : { total: totalAsNumber ? total.value : total }),
      max_score: null,
      hits: hits.map((hit) => shownHit(hit, showsSort)),
    },
    ...(aggregations === undefined
      ? {}
      : { aggregations: typedKeys ? withTypedKeys(asked, aggregations) : aggregations }),
  }
}

function shownHit({ _index, _id, _source, fields, highlight, sort }: NativeHit, showsSort: boolean): object {
  return {
    _index,
    _id,
    _score: null,
    ...(_source === undefined ? {} : { _source }),
    ...(fields === undefined ? {} : { fields }),
    ...(highlight === undefined ? {} : { highlight }),
    ...(showsSort ? { sort } : {}),
  }
}

/** What a search that still runs has found. */
const NOTHING_YET = {
  took: 0,
  timed_out: false,
  _shards: { total: 1, successful: 0, skipped: 0, failed: 0 },
  hits: { total: { value: 0, relation: 'gte' }, max_score: null, hits: [] },
}

export function asyncAnswer(
  { id, running, startedMs, expiresMs, completedMs, response }: AsyncAnswer,
  statusOnly = false,
): object {
  return {
    ...(id === undefined ? {} : { id }),
    is_partial: running,
    is_running: running,
    start_time_in_millis: startedMs,
    expiration_time_in_millis: expiresMs,
    ...(completedMs === undefined ? {} : { completion_time_in_millis: completedMs }),
    ...(statusOnly
      ? { _shards: running ? NOTHING_YET._shards : SHARDS, ...(running ? {} : { completion_status: 200 }) }
      : { response: response ?? NOTHING_YET }),
  }
}

/** `names`: of indices of which the caller sees a document. */
export function resolveAnswer(names: readonly string[]): object {
  return { indices: names.map((name) => ({ name, attributes: ['open'] })), aliases: [], data_streams: [] }
}

export function countAnswer({ total }: NativeAnswer): object {
  return { count: total?.value ?? 0, _shards: SHARDS }
}

export function documentAnswer(id: string, { names }: Indices, hit: NativeHit | undefined): object {
  if (hit === undefined) return { _index: names[0], _id: id, found: false }
  return { _index: hit._index, _id: hit._id, found: true, _source: hit._source }
}

/** What of an index is everybody's to know who sees documents of it. */
export interface ShownIndex {
  readonly index: string
  readonly documents: number
}

const CAT_COLUMNS = ['health', 'status', 'index', 'docs.count'] as const
export type CatColumn = (typeof CAT_COLUMNS)[number]

export function isCatColumn(name: string): name is CatColumn {
  return (CAT_COLUMNS as readonly string[]).includes(name)
}

export function catRows(
  indices: readonly ShownIndex[],
  columns: readonly CatColumn[] = CAT_COLUMNS,
): Record<string, string>[] {
  return indices.map(({ index, documents }) => {
    const cells = { health: 'green', status: 'open', index, 'docs.count': String(documents) }
    return Object.fromEntries(columns.map((column) => [column, cells[column]]))
  })
}

/** Columns as wide as what is in them; `head`: with their names. */
export function catText(
  rows: readonly Readonly<Record<string, string>>[],
  columns: readonly CatColumn[] = CAT_COLUMNS,
  head: boolean,
): string {
  const lines = rows.map((row) => columns.map((column) => row[column] ?? ''))
  if (head) lines.unshift([...columns])
  const widths = columns.map((_, i) => Math.max(0, ...lines.map((cells) => cells[i]?.length ?? 0)))
  return lines
    .map(
      (cells) =>
        `${cells
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join(' ')
          .trimEnd()}\n`,
    )
    .join('')
}

export function mappingAnswer({ names }: Indices, flatType: string): object {
  return Object.fromEntries(names.map((name) => [name, { mappings: shownMapping(flatType) }]))
}

export function fieldCapsAnswer({ names }: Indices, flatType: string): object {
  const fields = [...FIELDS].map(([name, type]) => {
    const shown = type === 'labels' ? flatType : type
    return [name, { [shown]: { type: shown, searchable: true, aggregatable: type !== 'text', metadata_field: false } }]
  })
  return { indices: names, fields: Object.fromEntries(fields) as object }
}
